"""Made-up measurements and traces of a study of traffic, with known differences."""

import itertools

import pandas as pd

KEYS = ["domain", "dataset", "backbone", "operator", "seed"]
DATA = ("metr-la-week1", "metr-la-10")
SEEDS = (1, 2, 3, 4)
STEPS = 4
# What an operator adds to every error, percent, and to the diagonal, in 1/T.
EFFECTS = {
    ("released", "p1.00"): (0.0, 0.2),
    ("released", "diagonal-mask"): (0.0, -1.0),
    ("released", "diagonal-dropout0.20"): (-2.0, 0.1),
    ("released", "p1.10"): (1.0, 0.2),
    ("released-no-residual", "p1.00"): (30.0, 0.8),
}
BASE = {"mae": 3.0, "rmse": 6.0, "mape": 8.0}
# Noise of a run's seed, which all variants share, and of the run itself.
SHARED = {1: 0.0, 2: 0.3, 3: -0.2, 4: 0.1}
OWN = {1: 0.001, 2: -0.001, 3: 0.002, 4: -0.002}


def runs():
    return itertools.product(DATA, EFFECTS, SEEDS)


def measurements(steps=(3, 6, 12)):
    rows = []
    for dataset, (backbone, operator), seed in runs():
        key = ("traffic", dataset, backbone, operator, seed)
        effect, _ = EFFECTS[backbone, operator]
        own = 0.0 if effect == 0 else OWN[seed]
        for (kind, base), step in itertools.product(BASE.items(), steps):
            error = (base + 0.1 * step + SHARED[seed]) * (1 + effect / 100 + own)
            rows.append((*key, f"{kind}_{step}", "", error))
            rows.append((*key, f"{kind}_{step}_best", "", error))
            for name, times in (("last_value", 2.0), ("linear", 0.5)):
                simple = times * (base + 0.1 * step + SHARED[seed])
                rows.append((*key, f"{kind}_{step}_{name}", "", simple))
        gain = 0.05 if operator == "p1.10" else 0.0
        read = 0.4 + gain + 0.1 * SHARED[seed] + (OWN[seed] if gain else 0)
        rows.append((*key, "r2_linear_z", "window_onsets", read))
    return pd.DataFrame(rows, columns=[*KEYS, "measure", "target", "value"])


def traces():
    rows = []
    for dataset, (backbone, operator), seed in runs():
        key = ("traffic", dataset, backbone, operator, seed)
        excess = EFFECTS[backbone, operator][1] + OWN[seed]
        own = (1 + excess * (STEPS - 1) / STEPS) / STEPS
        rest = (1 - own) / (STEPS - 1)
        for i, j in itertools.product(range(STEPS), repeat=2):
            weight = own if i == j else rest
            for point in ("attention_last", "attention_mean"):
                rows.append((*key, point, 11, "weight", f"{i},{j}", weight))
        query = 2.0 * (1 + SHARED[seed]) * (0.9 if "mask" in operator else 1.0)
        for block, value in (("block01", 0.5 * query), ("block02", 1.5 * query)):
            rows.append((*key, block, 0, "jacobian_own", "query", value))
            rows.append((*key, block, 0, "jacobian_others", "all", 0.1))
    names = [*KEYS, "point", "order", "measure", "target", "value"]
    return pd.DataFrame(rows, columns=names)


def traffic_tables(steps=(3, 6, 12)):
    """Return the tables that exhibits of traffic are made of."""
    from maa.domains.traffic.variants import NONE, named
    from maa.inference.gaps import gaps

    found = named(measurements(steps))
    errors = [f"{kind}_{step}" for kind in BASE for step in steps]
    return {"traffic_gaps": gaps(found, NONE, errors)}

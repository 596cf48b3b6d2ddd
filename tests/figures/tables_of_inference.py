"""Made-up tables of inference, all of one small study, in the workflow's own format.

Every number comes from `Study.value`, the made-up measurement of a run; so the tables
agree with each other, and a test can compute what a figure must show.
"""

import itertools
from functools import cache

import numpy as np
import pandas as pd

from maa.domains.ctdg.statistics import STATISTICS

DATASETS = ("wikipedia", "uci", "enron")
BACKBONES = ("craft", "tgat", "dygformer", "graphmixer")
OFFICIAL = tuple(f"{name}-official" for name in BACKBONES)
SEEDS = (7, 17, 29)
TARGETS = STATISTICS
POWERS = ("p1.00", "p1.02", "p1.05", "p1.10", "p1.20", "p1.30")
EXTRA = (
    "p2.00",
    "p2.00to1.10",
    "p1.10to2.00",
    "p1.00-l2",
    "p1.10-l2",
    "p1.10-uniform",
    "p1.10-length",
    "cpa-additive",
    "cpa-scaled",
    "nap",
    "affine",
    "sigmoid",
)
CONTROL_CELLS = (
    ("craft", "enron"),
    ("tgat", "uci"),
    ("dygformer", "wikipedia"),
    ("graphmixer", "enron"),
)
LABELS = {
    "auc": "AUC",
    "shared_linear": "Shared linear R²",
    "beyond_linear": "Beyond linear R²",
    "shared_extratrees": "Shared ExtraTrees R²",
    "beyond_extratrees": "Beyond ExtraTrees R²",
    "context_margin": "Context margin",
    "auc_random": "AUC, any negatives",
    "shared_linear_all": "Shared linear R², all targets",
}
PRIMARY = tuple(LABELS)[:6]
PROBES = ("r2_linear_z", "r2_linear_zc", "r2_extratrees_z", "r2_extratrees_zc")
_LEVELS = {"auc": 0.86, "auc_random": 0.88, "context_margin": 3.5}
_SIZES = {"auc": 0.004, "auc_random": 0.003, "context_margin": 0.06}
_STRENGTH = {
    "p1.00": 0.0,
    "p1.02": 0.5,
    "p1.05": 0.8,
    "p1.10": 1.0,
    "p1.20": 1.1,
    "p1.30": 0.9,
    "p2.00": 0.2,
    "p2.00to1.10": 0.95,
    "p1.10to2.00": 0.7,
    "p1.00-l2": 0.1,
    "p1.10-l2": 0.6,
    "p1.10-uniform": 0.3,
    "p1.10-length": 0.7,
    "cpa-additive": -2.0,
    "cpa-scaled": -0.5,
    "nap": 0.4,
    "affine": 0.2,
    "sigmoid": -0.8,
}


def quantities(operator: str) -> list[tuple[str, str]]:
    """Return (endpoint, target) of all that is measured with an operator."""
    named = [*((name, "") for name in LABELS), *itertools.product(PROBES, TARGETS)]
    forest = operator in ("p1.00", "p1.10")
    return [q for q in named if forest or "extratrees" not in q[0]]


@cache
def value(
    dataset: str, backbone: str, operator: str, endpoint: str, target: str
) -> float:
    """Return the made-up cell mean of a quantity; equal text gives equal numbers."""
    if is_constant(dataset, target):
        return 1.0
    base = _stream(backbone, dataset, endpoint, target)
    level = _LEVELS.get(endpoint, 0.45) + 0.06 * base.standard_normal()
    size = _SIZES.get(endpoint, 0.02)
    if target == "preferential_attachment":
        size = 0.09
    if "extratrees" in endpoint:
        size = 0.001 if target != "density" else -0.02
    size *= 1 + 0.4 * base.standard_normal()
    if operator == "p1.10-l2" and not backbone.startswith("craft"):
        operator = "p1.00-l2"
    own = _stream(backbone, dataset, endpoint, target, operator)
    noise = 0.0 if operator == "p1.00" else 0.15 * size * own.standard_normal()
    return float(level + size * _STRENGTH[operator] + noise)


def is_constant(dataset: str, target: str) -> bool:
    """Homophily is constant on bipartite data."""
    return target == "homophily" and dataset in ("wikipedia", "mooc", "lastfm")


def _stream(*names: str) -> np.random.Generator:
    return np.random.default_rng(list("|".join(names).encode()))


def groups() -> dict[str, tuple[list[tuple[str, str]], tuple[str, ...]]]:
    """Return for each group its cells (backbone, data set) and its operators."""
    return {
        "core": (list(itertools.product(BACKBONES, DATASETS)), POWERS),
        "controls": (list(CONTROL_CELLS), (*POWERS, *EXTRA)),
        "official": (
            list(itertools.product(OFFICIAL, ("wikipedia",))),
            ("p1.00", "p1.10"),
        ),
    }


def _pairs(operators: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs = [("p1.00", operator) for operator in operators[1:]]
    if "p1.00-l2" in operators:
        pairs.append(("p1.00-l2", "p1.10-l2"))
    return pairs


@cache
def contrast_cells() -> pd.DataFrame:
    """Return the effects of cells of every group and pair of operators."""
    rows = []
    for group, (cells, operators) in groups().items():
        for (before, after), (backbone, dataset) in itertools.product(
            _pairs(operators), cells
        ):
            for endpoint, target in quantities(after):
                if endpoint.startswith("r2_extra") and after != "p1.10":
                    continue
                low = value(dataset, backbone, before, endpoint, target)
                high = value(dataset, backbone, after, endpoint, target)
                flat = is_constant(dataset, target)
                key = (group, before, after, "ctdg", dataset, backbone)
                found = (low, high, high - low, len(SEEDS), flat)
                rows.append((*key, endpoint, target, *found))
    names = "group baseline treatment domain dataset backbone endpoint target "
    names += "baseline_mean treatment_mean effect seeds constant"
    return pd.DataFrame(rows, columns=names.split())


@cache
def contrasts() -> pd.DataFrame:
    """Return the summary of every contrast, over all cells and by backbone."""
    single = contrast_cells()
    both = pd.concat([single.assign(backbone=""), single], ignore_index=True)
    # Constant cells count for nothing; where all are, there are no values.
    values = ["baseline_mean", "treatment_mean", "effect"]
    both.loc[both["constant"], values] = np.nan
    keys = [
        "group",
        "baseline",
        "treatment",
        "domain",
        "endpoint",
        "target",
        "backbone",
    ]
    table = both.groupby(keys, sort=False, as_index=False).agg(
        constant=("constant", "all"),
        baseline_mean=("baseline_mean", "mean"),
        treatment_mean=("treatment_mean", "mean"),
        change=("effect", "mean"),
        sd=("effect", "std"),
        cells=("effect", "count"),
        improved=("effect", lambda effects: int((effects > 0).sum())),
        worsened=("effect", lambda effects: int((effects < 0).sum())),
    )
    wide = 1.5 * table["sd"].fillna(0.0) / table["cells"].clip(1) ** 0.5 + 1e-4
    flat = table["constant"]
    found = table.assign(
        percent=100 * table["change"] / table["baseline_mean"].abs(),
        low=table["change"] - wide,
        high=table["change"] + wide,
        backbones=1,
        datasets=1,
        seeds=len(SEEDS),
        p=(2.0 ** (1 - table["cells"])).where(~flat, 1.0),
        p_runs=0.001,
        label=table["endpoint"].map(LABELS).fillna(table["endpoint"]),
    )
    return found.drop(columns="sd")


def cells() -> pd.DataFrame:
    """Return the cells of the core comparison."""
    rows = contrast_cells().query(
        "group == 'core' and baseline == 'p1.00' and treatment == 'p1.10'"
    )
    names = {"baseline_mean": "baseline", "treatment_mean": "treatment"}
    bare = rows.drop(columns=["group", "baseline", "treatment"])
    return bare.rename(columns=names).reset_index(drop=True)


def _tested() -> pd.DataFrame:
    rows = contrasts().query(
        "group == 'core' and treatment == 'p1.10' and backbone == ''"
    )
    names = {"baseline_mean": "baseline", "treatment_mean": "treatment"}
    rows = rows.drop(columns=["group", "baseline", "treatment", "backbone"])
    return rows.rename(columns=names)


def aggregate() -> pd.DataFrame:
    """Return the aggregate endpoints."""
    rows = _tested().query("target == ''").drop(columns=["target", "constant"])
    primary = rows["endpoint"].isin(PRIMARY)
    holm = (6 * rows["p"]).clip(upper=1.0).where(primary)
    rows = rows.assign(primary=primary, p_holm=holm, family=6 * primary)
    return rows.reset_index(drop=True)


def statistics() -> pd.DataFrame:
    """Return the single statistics."""
    rows = _tested().query("target != ''").drop(columns="label")
    return rows.assign(p_holm=(8 * rows["p"]).clip(upper=1.0), family=8).reset_index(
        drop=True
    )


def _mean(cells: list[tuple[str, str]], operator: str, endpoint: str) -> float:
    return float(np.mean([value(d, b, operator, endpoint, "") for b, d in cells]))


def folds() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return (variant, fold, cells that select) of the power selection."""
    every = groups()["core"][0]
    found = [
        (variant, held, [cell for cell in every if cell[0] != held])
        for variant in ("leave-one-model-out", "leaky")
        for held in BACKBONES
    ]
    return found + [("per-cell", f"{b}/{d}", [(b, d)]) for b, d in every]


@cache
def selection() -> pd.DataFrame:
    """Return utility and recovery of each power in each fold."""
    rows = []
    for variant, fold, chosen_by in folds():
        base = _mean(chosen_by, "p1.00", "auc")
        part = [
            {
                "domain": "ctdg",
                "variant": variant,
                "fold": fold,
                "operator": operator,
                "p": float(operator[1:]),
                "utility": _mean(chosen_by, operator, "auc"),
                "utility_base": base,
                "recovery": _mean(chosen_by, operator, "shared_linear"),
                "cells": len(chosen_by),
            }
            for operator in POWERS
        ]
        table = pd.DataFrame(part)
        table["feasible"] = table["utility"] >= base
        table["chosen"] = False
        best = table[table["feasible"]]["recovery"].idxmax()
        table.loc[best, "chosen"] = True
        rows.append(table)
    return pd.concat(rows, ignore_index=True)


def selection_effects() -> pd.DataFrame:
    """Return the effects on test of what each fold chose."""
    quantity = {
        "d_auc": ("auc", ""),
        "d_shared_linear": ("shared_linear", ""),
        "d_pa": ("r2_linear_z", "preferential_attachment"),
        "d_margin": ("context_margin", ""),
    }
    rows = []
    for row in selection().query("chosen").to_dict("records"):
        held = row["fold"].split("/")
        for backbone, dataset in groups()["core"][0]:
            if [backbone, dataset][: len(held)] != held:
                continue
            effects = {
                name: value(dataset, backbone, row["operator"], *q)
                - value(dataset, backbone, "p1.00", *q)
                for name, q in quantity.items()
            }
            names = {"domain": "ctdg"}
            names |= {key: row[key] for key in ("variant", "fold", "operator", "p")}
            rows.append(names | {"dataset": dataset, "backbone": backbone} | effects)
    return pd.DataFrame(rows)


def mixed() -> pd.DataFrame:
    """Return the mixed model of each tested quantity, one of them singular."""
    rows = _tested()
    table = rows[["domain", "endpoint", "target"]].assign(
        estimate=rows["change"],
        se=(rows["high"] - rows["low"]) / 4,
        low=rows["low"],
        high=rows["high"],
        z=4 * rows["change"] / (rows["high"] - rows["low"]),
        p=0.01,
        p_wilcoxon=rows["p"],
        converged=True,
        singular=rows["endpoint"] == "context_margin",
        note="",
    )
    return table.reset_index(drop=True)


def precision() -> pd.DataFrame:
    """Return what so many cells can detect, and the bounds of equivalence."""
    rows = _tested()
    spread = (rows["high"] - rows["low"]) / 2
    return (
        rows[["domain", "endpoint", "target", "cells"]]
        .assign(
            sd=spread,
            mde=spread * 1.1,
            mde_holm=np.where(rows["endpoint"] == "auc", np.inf, spread * 1.5),
            mde_paper=spread * 0.9,
            mde_paper_holm=spread * 1.3,
            low90=rows["change"] - spread / 2,
            high90=rows["change"] + spread / 2,
            equivalence_bound=rows["change"].abs() + spread / 2,
            note="",
        )
        .reset_index(drop=True)
    )


@cache
def shares() -> pd.DataFrame:
    """Return what uniform scale, length and log n explain of the gain."""
    core, controls = groups()["core"][0], list(CONTROL_CELLS)
    scopes = [("all", "", "", core, controls)]
    scopes += [
        (
            "backbone",
            name,
            "",
            [cell for cell in core if cell[0] == name],
            [cell for cell in controls if cell[0] == name],
        )
        for name in BACKBONES
    ]
    rows = []
    for scope, backbone, dataset, everywhere, some in scopes:
        for target, control in itertools.product(
            (*TARGETS, "mean"), ("uniform", "length", "log_n")
        ):
            used = everywhere if control == "log_n" else some
            mean = target == "mean"
            key = ("shared_linear", "") if mean else ("r2_linear_z", target)
            used = [cell for cell in used if not is_constant(cell[1], target)]
            gain = _gain(used, "p1.10", key)
            stand_in = "p1.10-length" if control == "log_n" else f"p1.10-{control}"
            explained = _gain(used, stand_in, key)
            clear = abs(gain) > 0.012
            rows.append(
                {"domain": "ctdg", "scope": scope}
                | {"backbone": backbone, "dataset": dataset}
                | {"target": target, "control": control}
                | _around("gain", gain, 0.012)
                | _around("explained", explained, 0.010)
                | _around("share", explained / gain if clear else np.nan, 0.2)
                | _around("left", gain - explained, 0.008)
                | {"seeds": len(SEEDS), "cells": len(used)}
            )
    return pd.DataFrame(rows)


def _gain(
    cells: list[tuple[str, str]], operator: str, quantity: tuple[str, str]
) -> float:
    if not cells:
        return float("nan")
    differences = [
        value(d, b, operator, *quantity) - value(d, b, "p1.00", *quantity)
        for b, d in cells
    ]
    return float(np.mean(differences))


def _around(name: str, middle: float, wide: float) -> dict[str, float]:
    return {name: middle, f"{name}_low": middle - wide, f"{name}_high": middle + wide}


_LAYER = ("attention", "linear", "norm", "residual", "layer")
_STATE = ("attention", "residual", "norm", "z")
POINTS = {
    "craft": (*_LAYER, *(f"{name} 2" for name in _LAYER), "z"),
    "tgat": _STATE,
    "dygformer": _STATE,
    "graphmixer": _STATE,
}


@cache
def traces() -> pd.DataFrame:
    """Return what is left of the scale at each point from attention to Z."""
    rows = []
    runs = itertools.product(
        BACKBONES, DATASETS, ("p1.00", "p1.10"), SEEDS, ("norm_gain_correlation",)
    )
    for backbone, dataset, operator, seed, _ in runs:
        rng = _stream(backbone, dataset, operator, str(seed))
        key = ("ctdg", dataset, backbone, operator, seed)
        massive = operator == "p1.10"
        rows.append((*key, "gain", -1, "mean", "", 1.2))
        for order, point in enumerate(POINTS[backbone]):
            left = (0.9 if massive else 0.3) * 0.6**order
            noise = 0.03 * rng.standard_normal()
            for measure in ("norm_gain_correlation", "norm_length_correlation"):
                rows.append((*key, point, order, measure, "", left + noise))
            rows.append((*key, point, order, "norm", "", 2.0 + noise))
            for target in TARGETS:
                r2 = 0.3 + (0.1 if massive else 0.0) + 0.05 * order + noise
                rows.append((*key, point, order, "r2_linear", target, r2))
    names = "domain dataset backbone operator seed point order measure target value"
    return pd.DataFrame(rows, columns=names.split())


@cache
def curves() -> pd.DataFrame:
    """Return the training curves; the official forms were run on fewer data sets."""
    rows = []
    for backbone in (*BACKBONES, *OFFICIAL):
        datasets = DATASETS[:2] if backbone in OFFICIAL else DATASETS
        runs = itertools.product(datasets, ("p1.00", "p1.10", "nap"), SEEDS)
        for dataset, operator, seed in runs:
            for epoch in range(1, 4):
                auc = 0.9 - 0.1 / epoch + 0.001 * seed
                key = ("ctdg", dataset, backbone, operator, seed)
                rows.append((*key, epoch, 0.7 / epoch, auc))
    names = "domain dataset backbone operator seed epoch loss validation_auc"
    return pd.DataFrame(rows, columns=names.split())


def all_tables() -> dict[str, pd.DataFrame]:
    """Return every table by its name."""
    makers = (cells, aggregate, statistics, contrasts, contrast_cells, selection)
    makers += (selection_effects, mixed, precision, shares, traces, curves)
    return {make.__name__: make().copy() for make in makers}

"""Made-up tables of an audit of two models on two texts, and of a training."""

import itertools

import numpy as np
import pandas as pd

from maa.audit.dynamics import CHANNELS, MEASURES, RULES
from maa.figures.labels import DISSIMILARITIES
from maa.figures.rows_flips import SERIES

CELLS = list(itertools.product(("hotpotqa", "2wiki"), ("smollm2", "minilm")))
LAYERS, HEADS, TEXTS = 3, 4, 2


def frame(*axes, **columns):
    """Return a row for every combination of the axes (name, values)."""
    names = [name for name, _ in axes]
    index = pd.MultiIndex.from_product([values for _, values in axes], names=names)
    table = index.to_frame(index=False)
    for name, value in columns.items():
        table[name] = value(table) if callable(value) else value
    return table


def by_cell(table):
    parts = [table.assign(dataset=d, backbone=b) for d, b in CELLS]
    return pd.concat(parts, ignore_index=True)


HEAD = [("text", range(TEXTS)), ("layer", range(LAYERS)), ("head", range(HEADS))]


def measured():
    """Heads hold .1 more by layer; a third of the entropy is outside of the content."""
    share = frame(*HEAD, sink_share=lambda t: 0.1 + 0.1 * t["layer"] + 0.01 * t["head"])
    parts = {"entropy": 3.0, "entropy_content": 2.0, "entropy_sinks": 0.0}
    return by_cell(share.assign(entropy_binary=1.0, content_entropy=2.5, **parts))


def facts():
    rows = frame(("series", SERIES), ("measure", DISSIMILARITIES), value=30.0)
    fact = rows["series"] + "." + rows["measure"]
    told = rows.assign(fact=fact, low=28.0, high=33.0, cells=20, domain="rows")
    return by_cell(told)


def clusters_heads():
    axes = [("measure", ["js-smoothed", "js"]), ("convention", ["keep", "drop"])]
    heads = frame(*axes, ("layer", range(LAYERS)), ("head", range(HEADS)))
    at = heads["layer"] + heads["head"] / 10
    return by_cell(heads.assign(x=at, y=-at, cluster=heads["layer"] % 2, share=at / 4))


def pruning():
    sides = frame(
        ("criterion", ["sink_share", "entropy", "content_entropy"]),
        ("side", ["highest", "lowest"]),
        perplexity=40.0,
    )
    draws = frame(("criterion", ["random"]), ("side", ["0", "1"]), perplexity=200.0)
    whole = pd.DataFrame({"criterion": ["none"], "side": "", "perplexity": 20.0})
    table = pd.concat([whole, sides, draws], ignore_index=True)
    return table.assign(dataset="hotpotqa", backbone="smollm2")


def switching():
    rows = frame(("p", [1.0, 1.1, 1.2]), ("steps", [0, 60]))
    perplexity = 20 * rows["p"] ** np.where(rows["steps"] == 0, 8, 1)
    return rows.assign(perplexity=perplexity, dataset="hotpotqa", backbone="smollm2")


def course():
    steps = [0, 1, 4, 16, 64]
    named = {"dataset": "shakespeare", "backbone": "gpt-small"}
    heads = frame(("step", steps), *HEAD, ("measure", MEASURES), value=1.0)
    losses = frame(("step", steps), ("text", range(TEXTS)), loss=5.0)
    spans = [(0, step) for step in steps[1:]] + [(step, 64) for step in steps[1:-1]]
    parts = []
    for start, end in spans:
        axes = [*HEAD, ("rule", RULES), ("channel", CHANNELS)]
        part = frame(*axes, start=start, end=end)
        sign = np.where(part["channel"] == "within", 0.0, -0.25)
        parts.append(part.assign(value=sign))
    changes = pd.concat(parts, ignore_index=True)
    return tuple(table.assign(**named) for table in (heads, losses, changes))


def regimes():
    table = frame(
        ("predictor", ["no model", "other models"]),
        ("group", ["layer 0", "layer 1", "layer 2"]),
        ("measure", DISSIMILARITIES),
    )
    outcome = {"layer 0": "confirmed", "layer 1": "failed", "layer 2": "abstained"}
    seen = {"layer 0": "safe", "layer 1": "unsafe", "layer 2": "safe"}
    told = {"outcome": table["group"].map(outcome), "middle": 0.1, "observed": 0.12}
    return by_cell(table.assign(observed_regime=table["group"].map(seen), **told))


def audit_tables():
    """Return every table that an exhibit of an audit is made of."""
    heads, losses, changes = course()
    found = {
        "measured": measured(),
        "facts": facts(),
        "clusters_heads": clusters_heads(),
        "pruning": pruning(),
        "switching": switching(),
        "course_heads": heads,
        "course_losses": losses,
        "course_changes": changes,
        "course_control": changes.assign(value=changes["value"] / 2),
        "regimes": regimes(),
    }
    return {f"audit_{name}": table for name, table in found.items()}

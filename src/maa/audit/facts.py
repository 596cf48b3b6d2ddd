"""The numbers that claims on attention rows are made of.

Intervals are 95 % percentiles over passages, which are drawn again with replacement.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from maa.audit.dynamics import fall_shares
from maa.audit.predictor import COVARIATES, Frozen

COLUMNS = ["domain", "fact", "dataset", "backbone", "value", "low", "high", "cells"]
KEYS = ["dataset", "backbone"]
DRAWS = 2000
# What a head's entropy may be a reading of.
READINGS = ("sink_share", "content_entropy")
Fact = tuple[str, float, float, float, int]
Floats = NDArray[np.float64]


def facts(tables: Mapping[str, pd.DataFrame], free: Frozen) -> pd.DataFrame:
    """Return one row a number, text and model, with `COLUMNS`.

    Args:
        tables: some of `FACTS`, each with the columns ``dataset`` and ``backbone``.
        free: the predictor to which no model has contributed.
    """
    rows: list[dict[str, Any]] = []
    for name, table in tables.items():
        for (dataset, backbone), part in table.groupby(KEYS, sort=False):
            for fact, value, low, high, cells in FACTS[name](part, free):
                told = dict(domain="rows", dataset=dataset, backbone=backbone)
                given = dict(fact=fact, value=value, low=low, high=high, cells=cells)
                rows.append(told | given)
    return pd.DataFrame(rows, columns=COLUMNS)


def _interval(values: Floats) -> tuple[float, float, float, int]:
    """Return the mean over passages, its interval, and the number of passages."""
    generator = np.random.default_rng(0)
    drawn = generator.integers(len(values), size=(DRAWS, len(values)))
    low, high = np.quantile(values[drawn].mean(1), [0.025, 0.975])
    return float(values.mean()), float(low), float(high), len(values)


def _alone(value: float, cells: int) -> tuple[float, float, float, int]:
    """Return a number that has no interval."""
    return float(value), float("nan"), float("nan"), cells


def _measured(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """What the sinks hold; over heads, what a reading of entropy goes with."""
    by_text = table.groupby("text")
    yield "sink.share", *_interval(100 * by_text["sink_share"].mean().to_numpy())
    heads = table.groupby(["layer", "head"])[["entropy", *READINGS]].mean()
    for column in READINGS:
        value = heads["entropy"].corr(heads[column])
        yield f"entropy.correlation.{column}", *_alone(value, len(heads))
    means = by_text[["entropy", "entropy_content"]].mean()
    outside = 1 - means["entropy_content"] / means["entropy"]
    yield "entropy.sink_part", *_interval(100 * outside.to_numpy())


def _flips(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """How often verdicts flip, and how far that is from what no model made."""
    cells = table[(table["part"] == "read") & (table["group"] == "all")]
    for measure, part in cells.groupby("measure", sort=False):
        rate = 100 * part["rate"].to_numpy(np.float64)
        where = part[COVARIATES].to_numpy(np.float64)
        told = 100 * free.curve.at(free.curve.middle, str(measure), where)
        yield f"flips.{measure}", *_interval(rate)
        yield f"flips.expected.{measure}", *_interval(told)
        yield f"flips.excess.{measure}", *_interval(rate - told)
    layers = table[(table["part"] == "read") & (table["group"] != "all")]
    for measure, part in layers.groupby("measure", sort=False):
        rate = 100 * part.groupby("text")["rate"].mean().to_numpy(np.float64)
        yield f"flips.layer.{measure}", *_interval(rate)
    sinks = cells[cells["measure"] == cells["measure"].iloc[0]]
    yield "sink.logit_share", *_interval(100 * expit(sinks["logit"].to_numpy()))


def _compared(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """How far the heads' groups agree with the sink and without."""
    for row in table.to_dict("records"):
        yield f"clusters.agreement.{row['measure']}", *_alone(row["ari"], 1)


def _layouts(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """How far they agree between two halves of the passages."""
    for row in table.to_dict("records"):
        name = f"clusters.halves.{row['measure']}.{row['convention']}"
        yield name, *_alone(row["halves_ari"], 1)


def _explained(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """What the sinks' share explains of the heads' map."""
    for row in table[table["target"] == "axis"].to_dict("records"):
        name = ".".join(row[key] for key in ("measure", "convention", "covariate"))
        yield f"clusters.axis.{name}", *_alone(100 * row["r2"], 1)


def _pruning(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """How many times the perplexity is that of the whole model."""
    whole = table.loc[table["criterion"] == "none", "perplexity"].item()
    rest = table[table["criterion"] != "none"]
    for row in rest.to_dict("records"):
        name = f"pruning.{row['criterion']}.{row['side']}"
        yield name, *_alone(row["perplexity"] / whole, 1)
    chosen = rest.loc[rest["criterion"] != "random", "perplexity"]
    yield "pruning.worst", *_alone(chosen.max() / whole, len(chosen))
    yield "pruning.best", *_alone(chosen.min() / whole, len(chosen))


def _regimes(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """How the foretold regimes fared."""
    known = table[table["outcome"] != "unresolved"]
    for outcome in ("confirmed", "abstained", "failed"):
        share = 100 * (known["outcome"] == outcome).mean()
        yield f"predictor.{outcome}", *_alone(share, len(known))
        for name, part in known.groupby("predictor", sort=False):
            share = 100 * (part["outcome"] == outcome).mean()
            yield f"predictor.{outcome}.{name}", *_alone(share, len(part))


def _switching(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """How many times the perplexity is that of softmax, trained for as long."""
    softmax = table[table["p"] == 1].set_index("steps")["perplexity"]
    for row in table[table["p"] != 1].to_dict("records"):
        if row["steps"] in softmax:
            ratio = row["perplexity"] / softmax[row["steps"]]
            name = f"switching.p{row['p']:.2f}.{row['steps']} steps"
            yield name, *_alone(ratio, 1)


def _control(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """How much of it would be that of a token that is no sink."""
    for name, *rest in _changes(table, free):
        if name == "collapse.sink":
            yield "collapse.control", *rest  # type: ignore[misc]


def _changes(table: pd.DataFrame, free: Frozen) -> Iterator[Fact]:
    """How much of the fall of entropy is the sink's, from its peak to the end."""
    shares = fall_shares(table.drop(columns=KEYS))
    final = shares["end"].max()
    to_end = shares[(shares["end"] == final) & (shares["rule"] == "midpoint")]
    peak = to_end.loc[to_end["change"].idxmin()]
    texts = int(table["text"].nunique())
    share, low, high = (
        100 * float(peak[name]) for name in ("share", "share_lower", "share_upper")
    )
    yield "collapse.sink", share, low, high, texts
    yield "collapse.start", *_alone(peak["start"], texts)


FACTS: dict[str, Callable[[pd.DataFrame, Frozen], Iterator[Fact]]] = {
    "measured": _measured,
    "flips": _flips,
    "clusters_compared": _compared,
    "clusters_layouts": _layouts,
    "clusters_explained": _explained,
    "pruning": _pruning,
    "regimes": _regimes,
    "switching": _switching,
    "course_changes": _changes,
    "course_control": _control,
}

"""Stage: the numbers that claims on traffic are made of.

Variants are those of the paper's Table 1: without residual, without a regulariser
(``none``), and one for each operator. Intervals are 95 % t intervals over seeds. Its
forecasts are of 12 steps; facts of another number have it in front (``ahead36.gap``).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.stats.weightstats import DescrStatsW

from maa.domains.traffic.baselines import BASELINES
from maa.domains.traffic.theory import Row, theory
from maa.domains.traffic.variants import NONE, named
from maa.inference.gaps import KEYS, gaps

COLUMNS = ["domain", "fact", "dataset", "backbone", "value", "low", "high", "cells"]
TREATMENT = "p1.10"
ERRORS = ("mae", "rmse", "mape")
AHEAD = 12


def facts(
    measurements: pd.DataFrame, traces: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the facts of the domain's study, and the gaps that they rest on.

    Args:
        measurements: every measurement of every run.
        traces: the traces of single runs.

    Returns:
        One row a fact, data set and model, with `COLUMNS`; and what
        `maa.inference.gaps.gaps` returns of the errors and the recovery.
    """
    runs = named(measurements[measurements["domain"] == "traffic"])
    looked = named(traces[traces["domain"] == "traffic"])
    errors = sorted(name for name in set(runs["measure"]) if _is_error(name))
    table = gaps(runs, NONE, errors)
    recovered = runs[runs["measure"] == "r2_linear_z"]
    recovered = recovered.assign(measure="recovery." + recovered["target"])
    read = gaps(recovered, NONE, sorted(set(recovered["measure"])))
    nowhere = {"domain": "traffic", "dataset": "", "backbone": ""}
    rows = [_fact(nowhere, row) for row in theory()]
    for key, cell in runs.groupby(KEYS, sort=False):
        told = dict(zip(KEYS, key, strict=True))
        found = [*_gaps(_of(table, told)), *_recovery(_of(read, told))]
        seen = _of(looked, told)
        found += [*_baselines(cell), *_diagonals(seen), *_paths(seen)]
        length = _ahead(cell)
        front = "" if length == AHEAD else f"ahead{length}."
        rows += [_fact(told, row, front) for row in found]
    whole = pd.concat([table, read], ignore_index=True)
    return pd.DataFrame(rows, columns=COLUMNS), whole


def _fact(told: Mapping[str, Any], row: Row, front: str = "") -> dict[str, Any]:
    name, *numbers = row
    columns = ("value", "low", "high", "cells")
    return {**told, "fact": front + name, **dict(zip(columns, numbers, strict=True))}


def _is_error(name: str) -> bool:
    kind, _, step = name.removesuffix("_best").partition("_")
    return kind in ERRORS and step.isdigit()


def _ahead(cell: pd.DataFrame) -> int:
    """Return the last step at which a cell's forecasts were judged."""
    names = filter(_is_error, set(cell["measure"]))
    return max(int(name.removesuffix("_best").partition("_")[2]) for name in names)


def _of(table: pd.DataFrame, key: Mapping[str, Any]) -> pd.DataFrame:
    picked = np.ones(len(table), dtype=bool)
    for name, value in key.items():
        picked &= (table[name] == value).to_numpy(dtype=bool)
    return table[picked]


def _gaps(table: pd.DataFrame) -> Iterator[Row]:
    """Levels, gaps in percent, and the largest of a regulariser's."""
    nan = float("nan")
    for row in table.to_dict("records"):
        name, seeds = f"{row['variant']}.{row['measure']}", int(row["seeds"])
        yield f"level.{name}", row["mean"], nan, nan, seeds
        if row["variant"] != NONE:
            scale = 100 / row["baseline"]
            ends = scale * row["low"], scale * row["high"]
            yield f"gap.{name}", row["percent"], *ends, seeds
    last = table[~table["measure"].str.endswith("_best")]
    regular = last[last["variant"].str.startswith("diagonal")]
    if len(regular):
        yield "gap.largest_reduction", float(-regular["percent"].min()), nan, nan, 1
        clear = int((regular["p_holm"] < 0.05).sum())
        yield "gap.clear", 100 * clear / len(regular), nan, nan, len(regular)


def _recovery(table: pd.DataFrame) -> Iterator[Row]:
    """What mass-aware attention changes of what a probe reads."""
    for row in table[table["variant"] == TREATMENT].to_dict("records"):
        yield row["measure"], row["change"], row["low"], row["high"], int(row["seeds"])


def _baselines(cell: pd.DataFrame) -> Iterator[Row]:
    """By how much the model beats forecasts that need none, percent of their error."""
    wide = cell[cell["variant"] == NONE].pivot_table(
        index="seed", columns="measure", values="value"
    )
    for name in BASELINES:
        for measure in [column for column in wide if _is_error(str(column))]:
            if f"{measure}_{name}" in wide:
                simple = wide[f"{measure}_{name}"]
                better = 100 * (1 - wide[measure] / simple)
                yield f"better.{name}.{measure}", *_interval(better.to_numpy())


def _diagonals(looked: pd.DataFrame) -> Iterator[Row]:
    """By how much a step's own weight exceeds another's, in even weights (1/T)."""
    for point, name in (("attention_last", "last"), ("attention_mean", "all")):
        rows = looked[(looked["point"] == point) & (looked["measure"] == "weight")]
        for variant, part in rows.groupby("variant", sort=False):
            excess = [
                _excess(one["target"], one["value"].to_numpy())
                for _, one in part.groupby("seed")
            ]
            yield f"diagonal.{name}.{variant}", *_interval(np.array(excess))


def _paths(looked: pd.DataFrame) -> Iterator[Row]:
    """Norms of the Jacobian by path, mean over blocks, and the query path left over."""
    rows = looked[looked["measure"].isin(["jacobian_own", "jacobian_others"])]
    keys = ["measure", "target", "variant", "seed"]
    means = rows.groupby(keys, sort=False)["value"].mean().reset_index()
    for (measure, path), part in means.groupby(["measure", "target"], sort=False):
        wide = part.pivot_table(
            index="seed", columns="variant", values="value", sort=False
        )
        for variant in wide:
            found = wide[variant].dropna().to_numpy()
            yield f"{measure}.{path}.{variant}", *_interval(found)
        if (measure, path) == ("jacobian_own", "query") and NONE in wide:
            kept = wide.div(wide[NONE], axis=0).drop(columns=NONE)
            kept = kept.dropna(axis=1, how="all")
            for variant in kept:
                found = kept[variant].dropna().to_numpy()
                yield f"query_kept.{variant}", *_interval(found)


def _excess(places: pd.Series, weights: NDArray[np.float64]) -> float:
    row, key = np.array([place.split(",") for place in places]).T
    own, total = row == key, weights.sum() / len(set(row))
    return float(len(set(row)) * (weights[own].mean() - weights[~own].mean()) / total)


def _interval(values: NDArray[np.float64]) -> tuple[float, float, float, int]:
    """Return the mean, its 95 % t interval, and how many values there are."""
    if len(values) < 2:
        return float(values.mean()), float("nan"), float("nan"), len(values)
    low, high = DescrStatsW(values).tconfint_mean(0.05)
    return float(values.mean()), float(low), float(high), len(values)

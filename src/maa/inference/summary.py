"""The two tables of inference: aggregate endpoints (Table 3), statistics (Table 4)."""

from typing import Any

import numpy as np
import pandas as pd

from maa.inference.bootstrap import interval
from maa.inference.cells import QUANTITY, cell_effects
from maa.inference.endpoints import endpoints_of
from maa.inference.significance import holm, wilcoxon_p


def aggregate_table(runs: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Summarise the aggregate endpoints; Holm runs over the primary ones of a domain.

    Args:
        runs: what `maa.inference.cells.run_effects` returns.
        draws: number of bootstrap draws.
        seed: of the bootstrap.

    Returns:
        One row an endpoint, in the order of `endpoints_of`: ``label``, ``primary``, the
        columns of `summarise`, and ``p_holm`` with the family's size in ``family`` (NaN
        and 0 for endpoints outside the family, which are reported and not tested).
    """
    tables = []
    for domain, rows in runs[runs["target"] == ""].groupby("domain"):
        table = _summaries(rows, draws, seed)
        stated = {e.name: e for e in endpoints_of(str(domain))}
        table["label"] = [stated[name].label for name in table["endpoint"]]
        table["primary"] = [stated[name].primary for name in table["endpoint"]]
        table["rank"] = [list(stated).index(name) for name in table["endpoint"]]
        tables.append(_correct(table, table["primary"]))
    table = pd.concat(tables).sort_values(["domain", "rank"], ignore_index=True)
    return table.drop(columns=["rank", "target", "constant"])


def statistics_table(runs: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Summarise each statistic under each probe; Holm runs over a probe's statistics.

    A statistic is taken over the cells where it is not constant. One that is constant
    in every cell says nothing about recovery: it has no values, and p = 1. It stays in
    the family, as in the paper, whose smallest p is multiplied by eight though
    homophily is constant on all of its data.

    Args:
        runs: what `maa.inference.cells.run_effects` returns.
        draws: number of bootstrap draws.
        seed: of the bootstrap.

    Returns:
        One row a (domain, endpoint, target), where the endpoint is the probe's measure
        such as ``r2_linear_z``: the columns of `summarise`, ``p_holm`` and ``family``.
    """
    rows = runs[runs["target"] != ""]
    if rows.empty:
        return pd.DataFrame(columns=[*QUANTITY, *_EMPTY, "p_holm", "family"])
    table = _summaries(rows, draws, seed)
    families = [
        _correct(part, pd.Series(True, index=part.index))
        for _, part in table.groupby(["domain", "endpoint"])
    ]
    return pd.concat(families, ignore_index=True)


def summarise(runs: pd.DataFrame, draws: int, seed: int) -> dict[str, Any]:
    """Summarise one quantity over a whole grid of runs.

    Returns:
        ``constant``; the means ``baseline`` and ``treatment``; ``change``, their
        difference, and ``percent``, 100 times its ratio to the size of the baseline
        (ratio of means); ``low`` and ``high``, the 95 % interval of the change; numbers
        of ``cells``, of those with a positive effect (``improved``) and a negative one
        (``worsened``), of ``backbones``, ``datasets`` and ``seeds``; the exact ``p``
        over cells; and ``p_runs``, the same test over single runs (sensitivity only:
        the seeds of a cell are not independent).
    """
    runs = runs[~runs["constant"]]
    if runs.empty:
        return dict(_EMPTY)
    cells = cell_effects(runs)
    baseline, treatment = cells["baseline"].mean(), cells["treatment"].mean()
    change = treatment - baseline
    low, high = interval(_grid(runs), draws, seed)
    return {
        "constant": False,
        "baseline": baseline,
        "treatment": treatment,
        "change": change,
        "percent": 100 * change / abs(baseline) if baseline else np.nan,
        "low": low,
        "high": high,
        "cells": len(cells),
        "improved": int((cells["effect"] > 0).sum()),
        "worsened": int((cells["effect"] < 0).sum()),
        "backbones": runs["backbone"].nunique(),
        "datasets": runs["dataset"].nunique(),
        "seeds": runs["seed"].nunique(),
        "p": wilcoxon_p(cells["effect"].to_numpy()),
        "p_runs": wilcoxon_p(runs["effect"].to_numpy()),
    }


_EMPTY: dict[str, Any] = {
    "constant": True,
    **dict.fromkeys(
        ("baseline", "treatment", "change", "percent", "low", "high"), np.nan
    ),
    **dict.fromkeys(
        ("cells", "improved", "worsened", "backbones", "datasets", "seeds"), 0
    ),
    "p": 1.0,
    "p_runs": 1.0,
}


def _summaries(runs: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame(
        [
            dict(zip(QUANTITY, key, strict=True)) | summarise(rows, draws, seed)
            for key, rows in runs.groupby(QUANTITY)
        ]
    )


def _correct(table: pd.DataFrame, family: pd.Series) -> pd.DataFrame:
    table = table.assign(p_holm=np.nan, family=0)
    table.loc[family, "p_holm"] = holm(table.loc[family, "p"].to_numpy())
    table.loc[family, "family"] = int(family.sum())
    return table


def _grid(runs: pd.DataFrame) -> np.ndarray:
    """Return the effects as float64[backbones, datasets, seeds]."""
    runs = runs.sort_values(["backbone", "dataset", "seed"])
    shape = [runs[key].nunique() for key in ("backbone", "dataset", "seed")]
    return runs["effect"].to_numpy().reshape(shape)

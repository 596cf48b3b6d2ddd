"""The two tables of inference: aggregate endpoints (Table 3), statistics (Table 4)."""

from typing import Any

import numpy as np
import pandas as pd

from maa.inference.bootstrap import percentiles, resample, shape_of
from maa.inference.cells import QUANTITY
from maa.inference.endpoints import endpoints_of
from maa.inference.significance import holm, wilcoxon_columns
from maa.inference.wide import RUN, by_runs, spread


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
        table = summarise(rows, draws, seed)
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
    table = summarise(rows, draws, seed)
    families = [
        _correct(part, pd.Series(True, index=part.index))
        for _, part in table.groupby(["domain", "endpoint"])
    ]
    return pd.concat(families, ignore_index=True)


def summarise(runs: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Summarise every quantity over the runs where it is not constant.

    Args:
        runs: effects of runs, as `maa.inference.cells.run_effects` returns them; every
            cell of a quantity has the same seeds.
        draws: number of bootstrap draws.
        seed: of the bootstrap.

    Returns:
        One row a (domain, endpoint, target): ``constant``; the means ``baseline`` and
        ``treatment``; ``change``, their difference, and ``percent``, 100 times its
        ratio to the size of the baseline (ratio of means); ``low`` and ``high``, the
        95 % interval of the change; numbers of ``cells``, of those with a positive
        effect (``improved``) and a negative one (``worsened``), of ``backbones``,
        ``datasets`` and ``seeds``; the exact ``p`` over cells; and ``p_runs``, the
        same test over single runs (sensitivity only: the seeds of a cell are not
        independent). A quantity that is constant everywhere has no values and p = 1.
    """
    kept = runs[~runs["constant"]]
    baselines, treatments = (
        spread(kept, QUANTITY, arm) for arm in ("baseline", "treatment")
    )
    tables = [_summary(part, treatments, draws, seed) for part in by_runs(baselines)]
    quantities = pd.MultiIndex.from_frame(runs[QUANTITY].drop_duplicates())
    bare = quantities.drop([key for table in tables for key in table.index])
    if len(bare):
        tables.append(pd.DataFrame(_EMPTY, index=bare))
    return pd.concat(tables).sort_index().reset_index()


def _summary(
    baseline: pd.DataFrame, treatments: pd.DataFrame, draws: int, seed: int
) -> pd.DataFrame:
    """Summarise quantities of the same runs; index: the quantities."""
    treatment = treatments.loc[baseline.index, baseline.columns]
    keys = baseline.index.to_frame(index=False)
    effects = (treatment - baseline).to_numpy()
    cells = [arm.groupby(level=RUN[:2]).mean() for arm in (baseline, treatment)]
    cell_effect = (cells[1] - cells[0]).to_numpy()
    means = [cell.mean().to_numpy() for cell in cells]
    change = means[1] - means[0]
    size = np.abs(means[0])
    low, high = percentiles(resample(effects, shape_of(keys), draws, seed))
    return pd.DataFrame(
        {
            "constant": False,
            "baseline": means[0],
            "treatment": means[1],
            "change": change,
            "percent": 100 * change / np.where(size > 0, size, np.nan),
            "low": low,
            "high": high,
            "cells": len(cell_effect),
            "improved": (cell_effect > 0).sum(axis=0),
            "worsened": (cell_effect < 0).sum(axis=0),
            **{f"{key}s": keys[key].nunique() for key in RUN},
            "p": wilcoxon_columns(cell_effect),
            "p_runs": wilcoxon_columns(effects),
        },
        index=baseline.columns,
    )


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


def _correct(table: pd.DataFrame, family: pd.Series) -> pd.DataFrame:
    table = table.assign(p_holm=np.nan, family=0)
    table.loc[family, "p_holm"] = holm(table.loc[family, "p"].to_numpy())
    table.loc[family, "family"] = int(family.sum())
    return table

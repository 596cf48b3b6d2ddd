"""What the design can show: detectable effects, and bounds on effects not found.

The smallest effect that the exact signed-rank test finds with power .8 is given in the
endpoint's units, for normal effects of independent cells with the spread that was
seen. Cells that share backbones and data sets know less than that. The bound of
equivalence is the smallest one for which two one-sided tests at .05 would call the
change equivalent to none: the 90 % interval of the crossed bootstrap lies within it.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import bisect

from maa.inference.bootstrap import percentiles, resample, shape_of
from maa.inference.cells import QUANTITY
from maa.inference.endpoints import endpoints_of
from maa.inference.significance import smallest_p
from maa.inference.wide import RUN, by_runs, spread

ALPHA, POWER = 0.05, 0.8
PAPER_CELLS = 12  # the paper's design: four backbones on three data sets
_SAMPLES = 20_000
_LARGEST = 20.0  # standard deviations


def precision_table(runs: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Say for every quantity which effect could be found, and which is ruled out.

    Args:
        runs: what `maa.inference.cells.run_effects` returns, of the core.
        draws: number of bootstrap draws.
        seed: of the bootstrap.

    Returns:
        One row a (domain, endpoint, target): ``cells``; ``sd`` of the cells' effects;
        ``mde``, the minimum detectable effect, which is found with power .8 at .05,
        and ``mde_holm``, the same at the first step of Holm's correction over the
        ``family`` (NaN outside families, infinite where no effect can be found);
        ``mde_paper`` and ``mde_paper_holm`` for the paper's number of
        cells; ``low90`` and ``high90``, the 90 % interval of the change;
        ``equivalence_bound``; and a ``note``. A quantity that is constant in all cells
        has no values.
    """
    kept = runs[~runs["constant"]]
    tables = [_precision(part, draws, seed) for part in by_runs(_effects(kept))]
    quantities = pd.MultiIndex.from_frame(runs[QUANTITY].drop_duplicates())
    table = pd.concat(tables).reindex(quantities).sort_index().reset_index()
    table["cells"] = table["cells"].fillna(0).astype(int)
    table["family"] = _families(table)
    sizes = zip(table["cells"], table["family"], table["sd"], strict=True)
    effects = [_detectable(*size) for size in sizes]
    table = pd.concat([table, pd.DataFrame(effects)], axis=1)
    first = [*QUANTITY, "cells", "family", "sd"]
    last = ["low90", "high90", "equivalence_bound", "note"]
    middle = [name for name in table.columns if name not in {*first, *last}]
    return table[[*first, *middle, *last]]


@lru_cache(maxsize=64)
def detectable_shift(cells: int, alpha: float, power: float = POWER) -> float:
    """Return the smallest mean that the exact two-sided signed-rank test finds.

    Args:
        cells: number of independent normal effects of unit standard deviation.
        alpha: level of the test.
        power: chance to find it.

    Returns:
        The mean in standard deviations, from 20,000 seeded samples; infinity if no
        outcome of so few cells reaches ``alpha``.
    """
    critical = critical_rank_sum(cells, alpha)
    if critical < 0:
        return float("inf")
    noise = np.random.default_rng(0).standard_normal((_SAMPLES, cells))

    def shortfall(shift: float) -> float:
        return power - float((_smaller_rank_sums(noise + shift) <= critical).mean())

    return float(bisect(shortfall, 0.0, _LARGEST, xtol=1e-4))


def critical_rank_sum(cells: int, alpha: float) -> int:
    """Return the largest sum of the rarer sign's ranks that is significant.

    Args:
        cells: number of effects, none zero and none tied.
        alpha: level of the exact two-sided test.

    Returns:
        The critical value, or -1 if no outcome reaches ``alpha``.
    """
    chances = np.ones(1)
    for rank in range(1, cells + 1):
        step = np.zeros(rank + 1)
        step[[0, rank]] = 0.5
        chances = np.convolve(chances, step)
    return int(np.searchsorted(2 * np.cumsum(chances), alpha, side="right")) - 1


def _smaller_rank_sums(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each row's signed-rank statistic: the smaller of both rank sums."""
    order = np.abs(values).argsort(axis=1)
    positive = np.take_along_axis(values > 0, order, axis=1)
    ranks = np.arange(1, values.shape[1] + 1)
    sums = np.where(positive, ranks, 0).sum(axis=1)
    smaller: NDArray[np.int64] = np.minimum(sums, ranks.sum() - sums)
    return smaller


def _effects(runs: pd.DataFrame) -> pd.DataFrame:
    return spread(runs, QUANTITY, "effect")


def _precision(effects: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Return spread and 90 % interval of quantities of the same runs."""
    cells = effects.groupby(level=RUN[:2]).mean()
    shape = shape_of(effects.index.to_frame(index=False))
    means = resample(effects.to_numpy(), shape, draws, seed)
    low, high = percentiles(means, 1 - 2 * ALPHA)
    return pd.DataFrame(
        {
            "cells": len(cells),
            "sd": cells.std(),
            "low90": low,
            "high90": high,
            "equivalence_bound": np.maximum(np.abs(low), np.abs(high)),
        },
        index=effects.columns,
    )


def _families(table: pd.DataFrame) -> pd.Series:
    """Return the size of each quantity's family under Holm; 0 outside families."""
    primary = {
        (domain, stated.name)
        for domain in table["domain"].unique()
        for stated in endpoints_of(domain)
        if stated.primary
    }
    single = table["target"] != ""
    keys = pd.MultiIndex.from_frame(table[["domain", "endpoint"]])
    tested = single | keys.isin(primary)
    # The statistics of one probe are a family; so are a domain's primary endpoints.
    family = [table["domain"], table["endpoint"].where(single, "")]
    return tested.groupby(family).transform("sum") * tested


def _detectable(cells: int, family: int, sd: float) -> dict[str, Any]:
    """Return the detectable effects of one quantity."""
    levels = {"": ALPHA, "_holm": ALPHA / family if family else None}
    found: dict[str, Any] = {}
    for design, count in (("", cells), ("_paper", PAPER_CELLS)):
        for step, level in levels.items():
            shift = detectable_shift(count, level) if level else np.nan
            found[f"mde{design}{step}"] = shift * sd
    return found | {"note": _note(cells, family)}


def _note(cells: int, family: int) -> str:
    if not cells:
        return "constant on all data"
    if smallest_p(cells) > ALPHA:
        return f"{cells} cells cannot reach p = {ALPHA}"
    if family and smallest_p(cells, family) > ALPHA:
        return f"{cells} cells cannot reach p = {ALPHA} after Holm"
    return ""

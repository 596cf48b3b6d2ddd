"""Percentile intervals by a hierarchical bootstrap (paper 4.3).

Where the cells are a whole grid, each draw resamples backbones and data sets
independently with replacement, then the seeds inside each selected cell (again for each
time that a cell is selected), and takes the mean. Where they are not (representative
cells, one data set a backbone), there is nothing to cross: a draw resamples the cells
themselves, then their seeds. With two backbones a draw picks the same one twice half of
the time, and a single cell varies by its seeds alone: such intervals are rough, and the
tables say how many backbones, data sets, cells and seeds stand behind each.
"""

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Shape = tuple[int, int, int]


def draw_indices(shape: Shape, draws: int, seed: int) -> NDArray[np.int64]:
    """Draw resampled grids.

    Args:
        shape: numbers of backbones, data sets and seeds.
        draws: number of resampled grids.
        seed: of the random generator.

    Returns:
        int64[draws, backbones * datasets * seeds]: flat indices into an array of that
        shape.
    """
    backbones, datasets, seeds = shape
    rng = np.random.default_rng(seed)
    backbone = rng.integers(backbones, size=(draws, backbones, 1, 1))
    dataset = rng.integers(datasets, size=(draws, 1, datasets, 1))
    replicate = rng.integers(seeds, size=(draws, *shape))
    flat = (backbone * datasets + dataset) * seeds + replicate
    return flat.reshape(draws, -1)


@lru_cache(maxsize=16)
def draw_counts(shape: Shape, draws: int, seed: int) -> NDArray[np.float64]:
    """Count how often each run is in each resampled grid.

    Args:
        shape: numbers of backbones, data sets and seeds.
        draws: number of resampled grids.
        seed: of the random generator.

    Returns:
        float64[draws, backbones * datasets * seeds]; each row sums to the number of
        runs. Do not write to it: calls with equal arguments share it, so that all
        quantities of a grid see the same draws.
    """
    runs = int(np.prod(shape))
    flat = draw_indices(shape, draws, seed) + np.arange(draws)[:, None] * runs
    counts = np.bincount(flat.ravel(), minlength=draws * runs)
    return counts.reshape(draws, runs).astype(np.float64)


def shape_of(runs: pd.DataFrame) -> Shape:
    """Return how runs are resampled: their grid, or cells where they are not a grid.

    Args:
        runs: one row a run, with ``dataset``, ``backbone``, ``seed``; every cell has
            the same seeds.

    Returns:
        Numbers of backbones, data sets and seeds. Cells that are not a grid count as
        backbones on one data set, so that a draw resamples cells and then seeds. Runs
        are numbered in this shape when sorted by backbone, data set and seed.
    """
    cells = runs[["backbone", "dataset"]].drop_duplicates()
    backbones, datasets = cells["backbone"].nunique(), cells["dataset"].nunique()
    seeds = len(runs) // len(cells)
    if len(cells) == backbones * datasets:
        return backbones, datasets, seeds
    return len(cells), 1, seeds


def resample(
    effects: NDArray[np.float64], shape: Shape, draws: int, seed: int
) -> NDArray[np.float64]:
    """Return the means of each resampled grid, of many quantities at once.

    Args:
        effects: float64[runs, quantities], the runs numbered as in ``shape``.
        shape: numbers of backbones, data sets and seeds; see `shape_of`.
        draws: number of resampled grids.
        seed: of the random generator.

    Returns:
        float64[draws, quantities]; all quantities see the same draws.
    """
    means = draw_counts(shape, draws, seed) @ effects
    means /= len(effects)
    return means


def bootstrap_means(
    effects: NDArray[np.float64], draws: int, seed: int
) -> NDArray[np.float64]:
    """Return the mean effect of each resampled grid.

    Args:
        effects: float64[backbones, datasets, seeds].
        draws: number of resampled grids.
        seed: of the random generator.

    Returns:
        float64[draws].
    """
    backbones, datasets, seeds = effects.shape
    flat = effects.reshape(-1, 1)
    return resample(flat, (backbones, datasets, seeds), draws, seed)[:, 0]


def percentiles(
    values: NDArray[np.float64], level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the central interval of each column, at the given level."""
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=0)
    return low, high


def interval(
    effects: NDArray[np.float64], draws: int, seed: int, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile interval of the mean effect, at the given level.

    Args:
        effects: float64[backbones, datasets, seeds].
        draws: number of resampled grids.
        seed: of the random generator.
        level: of the interval.
    """
    low, high = percentiles(bootstrap_means(effects, draws, seed), level)
    return float(low), float(high)


def interval_cells(
    effects: NDArray[np.float64], draws: int, seed: int, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of the mean effect of cells that are not a grid.

    A draw resamples cells with replacement, then the seeds inside each.

    Args:
        effects: float64[cells, seeds].
        draws: number of resampled sets of cells.
        seed: of the random generator.
        level: of the interval.
    """
    return interval(effects[:, None, :], draws, seed, level)

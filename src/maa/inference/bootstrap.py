"""Percentile intervals by a crossed hierarchical bootstrap (paper 4.3).

Each draw resamples backbones and data sets independently with replacement, then the
seeds inside each selected cell (again for each time that a cell is selected), and takes
the mean. With two backbones a draw picks the same one twice half of the time: such
intervals are rough, and the tables say how many backbones, data sets and seeds stand
behind each.
"""

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=8)
def draw_indices(shape: tuple[int, int, int], draws: int, seed: int) -> np.ndarray:
    """Draw resampled grids.

    Args:
        shape: numbers of backbones, data sets and seeds.
        draws: number of resampled grids.
        seed: of the random generator.

    Returns:
        int64[draws, backbones * datasets * seeds]: flat indices into an array of that
        shape. Do not write to it: calls with equal arguments share it, so that all
        quantities of a grid see the same draws.
    """
    backbones, datasets, seeds = shape
    rng = np.random.default_rng(seed)
    backbone = rng.integers(backbones, size=(draws, backbones, 1, 1))
    dataset = rng.integers(datasets, size=(draws, 1, datasets, 1))
    replicate = rng.integers(seeds, size=(draws, *shape))
    flat = (backbone * datasets + dataset) * seeds + replicate
    return flat.reshape(draws, -1)


def bootstrap_means(effects: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """Return the mean effect of each resampled grid.

    Args:
        effects: float64[backbones, datasets, seeds].
        draws: number of resampled grids.
        seed: of the random generator.

    Returns:
        float64[draws].
    """
    backbones, datasets, seeds = effects.shape
    indices = draw_indices((backbones, datasets, seeds), draws, seed)
    return np.asarray(effects.ravel()[indices].mean(axis=1))


def interval(
    effects: np.ndarray, draws: int, seed: int, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile interval of the mean effect, at the given level."""
    tail = (1 - level) / 2
    means = bootstrap_means(effects, draws, seed)
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)

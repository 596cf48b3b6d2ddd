"""Exact two-sided Wilcoxon signed-rank tests, and Holm's correction (paper 4.3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

_FLIPS = 2**13  # all sign patterns of up to 13 effects; the paper has 12 cells


def wilcoxon_p(effects: Sequence[float] | np.ndarray) -> float:
    """Return the two-sided p of the signed-rank test that effects centre on zero.

    Zero effects are dropped (Wilcoxon's own rule); if all are zero, p is 1. Without
    ties scipy's exact distribution is used. With ties in size that distribution does
    not hold, so all sign patterns are enumerated: exact for up to 13 effects that are
    not zero; beyond, 8,192 seeded random patterns stand in for all of them.
    """
    values = np.asarray(effects, dtype=float)
    values = values[values != 0]
    if values.size == 0:
        return 1.0
    ties = np.unique(np.abs(values)).size < values.size
    method: Any = "exact"
    if ties:
        rng = np.random.default_rng(0)
        method = stats.PermutationMethod(n_resamples=_FLIPS, rng=rng)
    return float(stats.wilcoxon(values, method=method).pvalue)


def wilcoxon_columns(effects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `wilcoxon_p` of each column; those without zeros and ties all at once.

    Args:
        effects: float64[cells, quantities].

    Returns:
        float64[quantities].
    """
    sizes = np.sort(np.abs(effects), axis=0)
    plain = (sizes[0] > 0) & (np.diff(sizes, axis=0) > 0).all(axis=0)
    p_values = np.ones(effects.shape[1])
    if plain.any():
        test = stats.wilcoxon(effects[:, plain], method="exact", axis=0)
        p_values[plain] = test.pvalue
    for column in np.flatnonzero(~plain):
        p_values[column] = wilcoxon_p(effects[:, column])
    return p_values


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return Holm's step-down adjusted p-values, in the order given."""
    return np.asarray(multipletests(np.asarray(p_values), method="holm")[1])


def smallest_p(cells: int, family: int = 1) -> float:
    """Return the smallest (Holm-adjusted) two-sided p that so many cells can reach.

    With n cells the signed-rank test has 2**n sign patterns, of which two are extreme;
    the smallest p of a family is multiplied by the family's size. Six cells and six
    endpoints give 6 * 2/64 = .1875: nothing can be significant there.
    """
    return float(min(1.0, family * 2 / 2**cells))

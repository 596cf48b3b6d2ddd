"""Exact two-sided Wilcoxon signed-rank tests, and Holm's correction (paper 4.3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
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

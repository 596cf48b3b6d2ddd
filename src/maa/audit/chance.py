"""How much of a structure a covariate of the heads explains, and what chance gives.

Chance is the covariate given to other heads: permuted among all of them, or, with
groups, among those of a group, where group means are taken out on both sides first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Explained:
    """A coefficient of determination beside its distribution under permutation.

    Attributes:
        r2: share of the variance, 0 to 1; NaN where one side does not vary.
        chance: the permutations' mean.
        chance_95: their 95 % quantile.
        p: share of permutations, the heads' own order among them, that reach r2.
    """

    r2: float
    chance: float
    chance_95: float
    p: float


def orders(
    size: int,
    count: int,
    generator: np.random.Generator,
    groups: Integers | None = None,
) -> Integers:
    """Draw permutations, (count, size), within groups where these are given."""
    keys = generator.random((count, size))
    if groups is None:
        return keys.argsort(1)
    drawn = np.lexsort((keys, np.broadcast_to(groups, keys.shape)), axis=1)
    found = np.empty_like(drawn)
    found[:, np.argsort(groups, kind="stable")] = drawn
    return found


def by_columns(
    covariate: Floats, design: Floats, permuted: Integers, groups: Integers | None
) -> Explained:
    """Explain a covariate by a linear regression on columns, with an intercept.

    With one column that is the squared correlation, whichever of the two explains.

    Args:
        covariate: of each head, (H,).
        design: columns, (H, K): coordinates, or a 0/1 column a cluster.
        permuted: orders of the heads, (P, H).
        groups: of each head, whose means are taken out; None: the mean of all.
    """
    basis = _basis(design, groups)
    target = _centred(covariate[:, None], groups)[:, 0]
    total = float((target**2).sum())
    if basis.shape[1] == 0 or total <= _noise(covariate):
        return _nothing()
    fitted = (target[permuted] @ basis) ** 2
    return _explained(
        float(((target @ basis) ** 2).sum() / total), fitted.sum(1) / total
    )


def by_differences(
    covariate: Floats, matrix: Floats, permuted: Integers, groups: Integers | None
) -> Explained:
    """Explain distances between heads by the differences of a covariate.

    Args:
        covariate: of each head, (H,).
        matrix: distances, (H, H), symmetric.
        permuted: orders of the heads, (P, H).
        groups: of each head: pairs within a group alone, whose means are taken out;
            None: all pairs.
    """
    first, second = np.triu_indices(len(matrix), 1)
    pair_groups = None
    if groups is not None:
        same = groups[first] == groups[second]
        first, second = first[same], second[same]
        pair_groups = groups[first]
    if not len(first):
        return _nothing()
    distances = _centred(matrix[first, second][:, None], pair_groups)[:, 0]
    size = float((distances**2).sum())

    def squared(values: Floats) -> float:
        apart = np.abs(values[first] - values[second])
        apart = _centred(apart[:, None], pair_groups)[:, 0]
        spread = float((apart**2).sum())
        return float((apart @ distances) ** 2 / (spread * size)) if spread else 0.0

    varies = _centred(covariate[:, None], groups)
    if size <= _noise(matrix) or (varies**2).sum() <= _noise(covariate):
        return _nothing()
    found = np.array([squared(covariate[order]) for order in permuted])
    return _explained(squared(covariate), found)


def _nothing() -> Explained:
    return Explained(np.nan, np.nan, np.nan, np.nan)


def _noise(values: Floats) -> float:
    """Return the squared size below which a variation is one of rounding."""
    return float(values.size * (1e-12 * np.abs(values).max(initial=0.0)) ** 2)


def _explained(r2: float, found: Floats) -> Explained:
    reached = int((found >= r2 - 1e-12).sum())
    return Explained(
        r2,
        float(found.mean()),
        float(np.quantile(found, 0.95)),
        (1 + reached) / (1 + len(found)),
    )


def _centred(columns: Floats, groups: Integers | None) -> Floats:
    """Return columns without their mean, or without those of groups."""
    if groups is None:
        groups = np.zeros(len(columns), dtype=np.int64)
    _, index = np.unique(groups, return_inverse=True)
    sums = np.zeros((index.max() + 1, columns.shape[1]))
    np.add.at(sums, index, columns)
    means: Floats = sums / np.bincount(index)[:, None]
    centred: Floats = columns - means[index]
    return centred


def _basis(design: Floats, groups: Integers | None) -> Floats:
    """Return an orthonormal basis of what the centred columns span, (H, K at most)."""
    left, sizes, _ = np.linalg.svd(_centred(design, groups), full_matrices=False)
    basis: Floats = left[:, sizes > 1e-9 * np.linalg.norm(design)]
    return basis

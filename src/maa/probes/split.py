"""The chronological split of the queries into those that fit and those that score."""

import numpy as np
from numpy.typing import NDArray

from maa.errors import UserError


def split_at(queries: int, fraction: float) -> int:
    """Return the number of queries, first in time, that fit the probes.

    The cut never parts a pair: queries 2k and 2k + 1 are an event and its negative.

    Args:
        queries: number of queries, in time order.
        fraction: share that fits, in (0, 1); rounded down to whole pairs.

    Raises:
        UserError: if either side would have no pair, or the number is odd.
    """
    if queries % 2:
        raise UserError(
            f"the probes got {queries} queries; expected pairs of an event and its "
            "negative, so an even number: make the representation and the targets again"
        )
    pairs = queries // 2
    # 0.7 * 30 may come out as 20.999...; rounding first keeps it at 21.
    cut = int(round(pairs * fraction, 6))
    if not 0 < cut < pairs:
        raise UserError(
            f"{pairs} pairs of queries cannot be split with train_fraction {fraction}: "
            "each side needs one; use a longer stream or another fraction"
        )
    return 2 * cut


def constant_targets(targets: NDArray[np.float64], cut: int) -> NDArray[np.bool_]:
    """Tell which targets do not vary before ``cut``, or do not vary from it on.

    Nothing can be learned about the former and nothing be scored on the latter; a
    target that is constant throughout is both.

    Args:
        targets: [queries, targets].
        cut: first row of the scoring side.
    """
    return _constant(targets[:cut]) | _constant(targets[cut:])


def _constant(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = (values == values[0]).all(axis=0)
    return flags

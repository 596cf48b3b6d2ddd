"""Positions grouped by an integer key: the index behind every lookup "before a row".

One sort of integers that hold the key in their upper bits and the position in their
lower ones: a group is then a slice in ascending order, and "how many of the group come
before a cutoff" is a binary search.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]


def strictly_before(
    time: NDArray[np.float64], rows: NDArray[np.integer[Any]]
) -> Integers:
    """Return for each row the first row of its time.

    With times in order, the events strictly before a row's time, ties excluded, are
    exactly the rows below this cutoff.
    """
    cutoff: Integers = np.searchsorted(time, time[rows], side="left")
    return cutoff


class Grouping:
    """Positions 0..n-1 by key.

    Attributes:
        order: int64 [n], the positions sorted by (key, position).
        starts: int64 [groups + 1], where each key's slice of `order` begins.
    """

    def __init__(self, key: ArrayLike, groups: int) -> None:
        """Sort the positions.

        Args:
            key: integers [n] in 0..groups-1.
            groups: number of keys, whether they occur or not.
        """
        keys = np.asarray(key, dtype=np.int64)
        self._bits = len(keys).bit_length()
        self._sorted = (keys << self._bits) | np.arange(len(keys))
        self._sorted.sort()
        self.order: Integers = self._sorted & ((1 << self._bits) - 1)
        edges = np.arange(groups + 1, dtype=np.int64) << self._bits
        self.starts: Integers = np.searchsorted(self._sorted, edges)

    def stop(self, key: ArrayLike, cutoff: ArrayLike) -> Integers:
        """Return where in `order` the positions of ``key`` below ``cutoff`` end.

        ``order[starts[key] : stop(key, cutoff)]`` are those positions; a cutoff lies in
        0..n.
        """
        keys = np.asarray(key, dtype=np.int64) << self._bits
        return np.searchsorted(self._sorted, keys + np.asarray(cutoff, dtype=np.int64))

    def ranks(self) -> Integers:
        """Return int64 [n]: the place of each entry of `order` within its group."""
        first = np.repeat(self.starts[:-1], np.diff(self.starts))
        ranks: Integers = np.arange(len(self.order)) - first
        return ranks

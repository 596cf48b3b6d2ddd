"""Who met whom, and in which row first."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maa.domains.ctdg.grouping import Grouping, Integers


class Meetings:
    """The distinct pairs (node, other) of a list of contacts in time order.

    A node's pairs stand side by side in the order of their first contact, so that whom
    it had met before a row is a prefix of its slice.

    Attributes:
        other: int64 [pairs], by (node, first contact).
        first: int64 [pairs + 1], the contact in which the pair met; after the last
            pair the number of contacts, which stands for "never".
        starts: int64 [nodes + 1], where each node's slice begins.
    """

    def __init__(
        self, node: NDArray[np.integer], other: NDArray[np.integer], nodes: int
    ) -> None:
        """Index the contacts.

        Args:
            node: integers [n] in 0..nodes-1.
            other: integers [n] in 0..2**31-1.
            nodes: number of nodes.
        """
        self._width = int(other.max(initial=0)) + 1
        keys = node.astype(np.int64) * self._width + other
        self._keys, first = np.unique(keys, return_index=True)
        by_row = np.sort(first)
        self._grouping = Grouping(node[by_row], nodes)
        rows = by_row[self._grouping.order]
        # Pairs met before a contact, to turn a cutoff in contacts into one in pairs.
        self._met = np.zeros(len(keys) + 1, dtype=np.int64)
        self._met[first + 1] = 1
        np.cumsum(self._met, out=self._met)
        self.starts = self._grouping.starts
        self.other = other[rows].astype(np.int64)
        self.first = np.append(rows, len(keys))
        self._place = np.empty(len(rows), dtype=np.int64)
        self._place[np.searchsorted(self._keys, keys[rows])] = np.arange(len(rows))

    def stop(self, node: ArrayLike, cutoff: Integers) -> Integers:
        """Return the end of the prefix of a node's slice met before contact ``cutoff``.

        ``other[starts[node] : stop(node, cutoff)]`` are those it had met.
        """
        return self._grouping.stop(node, self._met[cutoff])

    def place(self, node: ArrayLike, other: ArrayLike) -> Integers:
        """Return the index of each pair, or the number of pairs where it never met."""
        wanted = np.asarray(other, dtype=np.int64)
        keys = np.asarray(node, dtype=np.int64) * self._width + wanted
        found = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        known = (self._keys[found] == keys) & (wanted < self._width)
        return np.where(known, self._place[found], len(self.other))

"""The last events of any node before any row, in either role, for all at once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maa.domains.ctdg.grouping import Grouping
from maa.domains.ctdg.stream import EventStream


class RecentEvents:
    """Looks up nodes' last events; built once a stream.

    Args:
        stream: the events.
    """

    def __init__(self, stream: EventStream) -> None:
        both = np.stack([stream.source, stream.destination], axis=1).reshape(-1)
        self.stream = stream
        self._grouping = Grouping(both, stream.nodes)

    def events(self, node: ArrayLike, row: ArrayLike, depth: int) -> NDArray[np.int64]:
        """Return the rows of each node's last events before each row.

        A self-loop stands twice, once for each end, as in published samplers.

        Args:
            node: node ids, any shape.
            row: event rows in 0..n; a shape that broadcasts with ``node``.
            depth: how many events to look back.

        Returns:
            int64 [*shape, depth], the most recent last, -1 for padding.
        """
        keys, rows = np.broadcast_arrays(
            np.asarray(node, dtype=np.int64), np.asarray(row, dtype=np.int64)
        )
        stop = self._grouping.stop(keys, 2 * rows)[..., None]
        place = stop - np.arange(depth, 0, -1)
        found = place >= self._grouping.starts[keys][..., None]
        order = self._grouping.order
        return np.where(found, order[np.maximum(place, 0)] // 2, -1)

    def other(self, node: ArrayLike, event: ArrayLike) -> NDArray[np.int64]:
        """Return the node at the other end of each event, 0 for padding.

        Args:
            node: node ids [*shape].
            event: their events [*shape, depth], as `events` returns them.
        """
        rows = np.asarray(event, dtype=np.int64)
        source, destination = self.stream.source[rows], self.stream.destination[rows]
        own = np.asarray(node, dtype=np.int64)[..., None]
        other = np.where(source == own, destination, source).astype(np.int64)
        return np.where(rows >= 0, other, 0)

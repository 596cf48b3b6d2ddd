"""History windows: the last events of each event's source, as row indices.

The backbones read nothing but these rows, so a batch's histories are one gather.
"""

import numpy as np
from numpy.typing import NDArray

from maa.domains.ctdg.buckets import buckets
from maa.domains.ctdg.grouping import Grouping

PIECE = 1 << 16
"""Windows made at a time; their indices then stay in the cache."""


def windows(source: NDArray[np.int32], depth: int, nodes: int) -> NDArray[np.int32]:
    """Return the rows of the last ``depth`` earlier rows with the same source.

    "Earlier" is by row: of two events at one time, the later row sees the earlier.

    Args:
        source: int32 [n], source ids in 0..nodes-1, in time order.
        depth: length H of a window, at least 1.
        nodes: number of ids.

    Returns:
        int32 [n, H], right-aligned: the most recent row last, -1 for padding.
    """
    history = np.empty((len(source), depth), dtype=np.int32)
    for bucket in buckets(nodes, source):
        rows = bucket.members[0]
        grouping = Grouping(source[rows] - bucket.first, bucket.groups)
        _fill(history, rows[grouping.order], grouping.ranks())
    return history


def _fill(
    history: NDArray[np.int32], rows: NDArray[np.int64], ranks: NDArray[np.int64]
) -> None:
    """Write the windows of rows that are sorted by (source, row)."""
    depth = history.shape[1]
    padded = np.full(len(rows) + depth, -1, dtype=np.int32)
    padded[depth:] = rows
    before = np.lib.stride_tricks.sliding_window_view(padded, depth)
    # Columns ahead of a source's first event hold rows of the source sorted ahead. -1
    # has all bits set: "or" with it makes padding of whatever is there.
    padding = -np.tri(depth + 1, depth, -1, dtype=np.int32)[::-1]
    # Seen as one item, a window is written in one piece.
    whole = np.dtype((np.void, history.itemsize * depth))
    target = history.view(whole)[:, 0]
    for start in range(0, len(rows), PIECE):
        piece = slice(start, min(start + PIECE, len(rows)))
        found = padding.take(np.minimum(ranks[piece], depth), axis=0)
        found |= before[piece]
        target[rows[piece]] = found.view(whole)[:, 0]

"""Negative destinations drawn uniformly from the pool, without rejection."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Events(Protocol):
    """What drawing needs to know of a stream; `EventStream` is one."""

    @property
    def source(self) -> NDArray[np.int32]:
        """int32 [n], sources."""

    @property
    def destination(self) -> NDArray[np.int32]:
        """int32 [n], destinations."""

    @property
    def pool(self) -> NDArray[np.int32]:
        """int32 [D], distinct destinations, ascending."""

    @property
    def bipartite(self) -> bool:
        """Whether no source can be a destination."""


def training_negatives(
    rng: np.random.Generator, stream: Events, rows: NDArray[np.integer]
) -> NDArray[np.int32]:
    """Draw for each row a destination other than its own.

    Uniform over the pool without the row's destination and, in a unipartite stream,
    without its source. Whatever the source has met before may be drawn.

    Args:
        rng: source of randomness.
        stream: the events.
        rows: integers [m], event rows.

    Returns:
        int32 [m], node ids.
    """
    room = available(stream, rows)
    draw: NDArray[np.int64] = rng.integers(0, room)
    # The draw counts the destinations that are left: step over those that are not, the
    # lower place first.
    for place in _excluded(stream, rows):
        draw += draw >= place
    return stream.pool[draw]


def available(stream: Events, rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return int64 [m], among how many destinations each row's negative is drawn."""
    size = len(stream.pool)
    room: NDArray[np.int64] = size - (_excluded(stream, rows) < size).sum(axis=0)
    return room


def _excluded(stream: Events, rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Places in the pool not to be drawn, [e, m] ascending; len(pool) for none."""
    size = len(stream.pool)
    places = [np.searchsorted(stream.pool, stream.destination[rows])]
    if not stream.bipartite:
        source = np.searchsorted(stream.pool, stream.source[rows])
        known = stream.pool[np.minimum(source, size - 1)] == stream.source[rows]
        places.append(np.where(known & (source != places[0]), source, size))
    excluded: NDArray[np.int64] = np.sort(np.stack(places), axis=0)
    return excluded

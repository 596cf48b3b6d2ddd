"""The negative candidates of the validation and test queries, three kinds.

All are seeded by the data set's query seed alone, so that every model and every arm is
asked the same questions.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maa.domains.ctdg.grouping import Integers, strictly_before
from maa.domains.ctdg.meetings import Meetings
from maa.domains.ctdg.negatives import Events, training_negatives

ROUNDS = 16
"""Rounds of rejection before the destinations that are left get listed."""

CELLS = 1 << 22
"""Size of the (row, destination) table that is listed at a time."""

Ids = NDArray[np.int32]


class Candidates:
    """Draws the negatives of rows of one stream.

    "Met" is directed, as the pair statistics are: a source has met the destinations of
    its own earlier events, with ties in time excluded.
    """

    def __init__(self, stream: Events, time: NDArray[np.float64], nodes: int) -> None:
        """Index who met whom.

        Args:
            stream: the events.
            time: float64 [n], ascending.
            nodes: number of nodes.
        """
        self._stream = stream
        self._time = time
        self._meetings = Meetings(stream.source, stream.destination, nodes)

    def draw(self, kind: str, rng: np.random.Generator, rows: Ids) -> Ids:
        """Draw one negative for each row.

        Args:
            kind: ``unseen``, ``random`` or ``historical``.
            rng: source of randomness.
            rows: int32 [m], event rows.

        Returns:
            int32 [m], node ids; -1 where the source has no historical one.
        """
        draws: dict[str, Callable[[np.random.Generator, Ids], Ids]] = {
            "unseen": self.unseen,
            "random": self.random,
            "historical": self.historical,
        }
        return draws[kind](rng, rows)

    def random(self, rng: np.random.Generator, rows: Ids) -> Ids:
        """Draw from all destinations but the row's own (unipartite: nor its source)."""
        return training_negatives(rng, self._stream, rows)

    def historical(self, rng: np.random.Generator, rows: Ids) -> Ids:
        """Draw from the distinct destinations the source has met, but the row's own."""
        source = self._stream.source[rows]
        start = self._meetings.starts[source]
        stop = self._meetings.stop(source, strictly_before(self._time, rows))
        own = self._meetings.place(source, self._stream.destination[rows])
        met = own < stop
        room = stop - start - met
        place = start + rng.integers(0, np.maximum(room, 1))
        place += met & (place >= own)
        place[room == 0] = 0
        return np.where(room > 0, self._meetings.other[place], -1).astype(np.int32)

    def unseen(self, rng: np.random.Generator, rows: Ids) -> Ids:
        """Draw from the destinations the source has not met, as `random` otherwise.

        Where it has met them all, any other destination is drawn.
        """
        chosen = np.full(len(rows), -1, dtype=np.int32)
        pending = np.arange(len(rows))
        for _ in range(ROUNDS):
            trial = self.random(rng, rows[pending])
            fresh = ~self.seen(rows[pending], trial)
            chosen[pending[fresh]] = trial[fresh]
            pending = pending[~fresh]
        step = max(1, CELLS // len(self._stream.pool))
        for start in range(0, len(pending), step):
            piece = pending[start : start + step]
            chosen[piece] = self._listed(rng, rows[piece])
        return chosen

    def _listed(self, rng: np.random.Generator, rows: Ids) -> Ids:
        """Draw unseen destinations from a full list of what is allowed."""
        allowed = self._allowed(rows)
        room = allowed.sum(axis=1)
        draw = rng.integers(0, np.maximum(room, 1))
        place = np.argmax(np.cumsum(allowed, axis=1) > draw[:, None], axis=1)
        return np.where(room > 0, self._stream.pool[place], self.random(rng, rows))

    def _allowed(self, rows: Ids) -> NDArray[np.bool_]:
        """Return bool [m, D]: which of the pool may be drawn as unseen."""
        stream = self._stream
        allowed = ~self.seen(rows[:, None], stream.pool)
        allowed &= stream.pool != stream.destination[rows, None]
        if not stream.bipartite:
            allowed &= stream.pool != stream.source[rows, None]
        return allowed

    def seen(self, rows: Ids, destination: Ids) -> NDArray[np.bool_]:
        """Return whether each row's source has met a destination before.

        Args:
            rows: int32, event rows.
            destination: int32 node ids, of a shape that broadcasts with ``rows``.
        """
        place = self._meetings.place(self._stream.source[rows], destination)
        cutoff: Integers = strictly_before(self._time, rows)
        seen: NDArray[np.bool_] = self._meetings.first[place] < cutoff
        return seen

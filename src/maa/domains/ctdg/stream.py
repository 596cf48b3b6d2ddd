"""A prepared event stream: the window's events, histories, splits and negatives.

Everything later reads from this one file; nothing in it depends on a model. Ids are
dense inside the window: 0..nodes-1, and in a bipartite stream the sources come first.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maa.domains.ctdg.grouping import Grouping
from maa.errors import UserError
from maa.files import read_tensors, write_tensors

PARTS = ("validation", "test")
NEGATIVES = ("unseen", "random", "historical")

_METADATA = ("nodes", "sources", "bipartite", "train_end", "validation_end")


@dataclass(frozen=True, eq=False)
class Queries:
    """Questions "does `destination` follow the source of this row?", in time order.

    Entry 2k is an observed event (label 1) and entry 2k+1 the same row with a negative
    destination (label 0), so the rows ascend and come in pairs.

    Attributes:
        row: int32 [2m], event rows; source and time of the question are the row's.
        destination: int32 [2m], the candidate.
        label: int8 [2m].
    """

    row: NDArray[np.int32]
    destination: NDArray[np.int32]
    label: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class EventStream:
    """The events of one data set's window in time order, and what is asked about them.

    Attributes:
        source: int32 [n].
        destination: int32 [n].
        time: float64 [n], seconds since the window's first event, ascending.
        history: int32 [n, H], the rows of the last H strictly earlier rows with the
            same source; right-aligned, the most recent last, -1 for padding.
        pool: int32 [D], the distinct destinations, ascending.
        validation_rows: int32 [m], the event rows of the validation part.
        validation_unseen: int32 [m], destinations the row's source has not met.
        validation_random: int32 [m], any other destinations.
        validation_historical: int32 [m], destinations met before; -1 where none is.
        test_rows: int32 [m], as above, for the test part.
        test_unseen: int32 [m].
        test_random: int32 [m].
        test_historical: int32 [m].
        nodes: number of nodes N in the window.
        sources: number of sources S of a bipartite stream, 0 of a unipartite one.
        bipartite: whether sources 0..S-1 and destinations S..N-1 are disjoint.
        train_end: rows [0, train_end) are for fitting.
        validation_end: rows [train_end, validation_end) are for validation, the rest
            for testing.
    """

    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    time: NDArray[np.float64]
    history: NDArray[np.int32]
    pool: NDArray[np.int32]
    validation_rows: NDArray[np.int32]
    validation_unseen: NDArray[np.int32]
    validation_random: NDArray[np.int32]
    validation_historical: NDArray[np.int32]
    test_rows: NDArray[np.int32]
    test_unseen: NDArray[np.int32]
    test_random: NDArray[np.int32]
    test_historical: NDArray[np.int32]
    nodes: int
    sources: int
    bipartite: bool
    train_end: int
    validation_end: int

    def __len__(self) -> int:
        """Return the number of events n."""
        return len(self.source)

    @property
    def depth(self) -> int:
        """The length H of a history window."""
        return int(self.history.shape[1])

    def rows(self, part: str) -> NDArray[np.int32]:
        """Return int32 [m], the event rows of ``validation`` or ``test``."""
        rows: NDArray[np.int32] = getattr(self, f"{_known(part, PARTS)}_rows")
        return rows

    def negatives(self, part: str, kind: str) -> NDArray[np.int32]:
        """Return int32 [m], one negative destination a row of ``part``; -1 for none.

        Args:
            part: one of `PARTS`.
            kind: one of `NEGATIVES`.
        """
        name = f"{_known(part, PARTS)}_{_known(kind, NEGATIVES)}"
        negatives: NDArray[np.int32] = getattr(self, name)
        return negatives

    def queries(self, part: str, kind: str = "unseen") -> Queries:
        """Return each event of a part followed by its negative.

        Events without a negative of that kind (a source's first ones have no historical
        negative) are left out.

        Args:
            part: one of `PARTS`.
            kind: one of `NEGATIVES`.
        """
        negatives = self.negatives(part, kind)
        kept = negatives >= 0
        rows = self.rows(part)[kept]
        pairs = np.stack([self.destination[rows], negatives[kept]], axis=1)
        labels = np.tile(np.array([1, 0], dtype=np.int8), len(rows))
        return Queries(np.repeat(rows, 2), pairs.reshape(-1), labels)

    def last_event(self, destination: ArrayLike, row: ArrayLike) -> NDArray[np.float64]:
        """Return when each destination was last met before a row, NaN for never.

        "Before" is by row: of two events at one time, the later row sees the earlier.
        In a unipartite stream a node is met in either role.

        Args:
            destination: node ids, any shape.
            row: event rows in 0..n, of a shape that broadcasts with ``destination``.
        """
        grouping, roles = self._appearances
        keys = np.asarray(destination, dtype=np.int64)
        stop = grouping.stop(keys, np.asarray(row, dtype=np.int64) * roles)
        found = stop > grouping.starts[keys]
        rows = grouping.order[np.maximum(stop - 1, 0)] // roles
        return np.where(found, self.time[rows], np.nan)

    @cached_property
    def _appearances(self) -> tuple[Grouping, int]:
        """The rows by destination, or by both endpoints with positions 2 a row."""
        if self.bipartite:
            return Grouping(self.destination, self.nodes), 1
        both = np.stack([self.source, self.destination], axis=1).reshape(-1)
        return Grouping(both, self.nodes), 2

    def save(self, path: str | Path) -> None:
        """Write the stream as safetensors; the same stream gives the same bytes."""
        arrays = {name: getattr(self, name) for name in _arrays()}
        metadata = {name: getattr(self, name) for name in _METADATA}
        write_tensors(path, arrays, metadata | {"history": self.depth})

    @classmethod
    def load(cls, path: str | Path) -> "EventStream":
        """Read what `save` wrote.

        Raises:
            UserError: if the file is missing, broken, or holds something else.
        """
        tensors, metadata = read_tensors(path)
        values: dict[str, Any] = tensors | {
            name: metadata[name] for name in _METADATA if name in metadata
        }
        missing = sorted(set(_arrays() + _METADATA) - set(values))
        if missing:
            raise UserError(
                f"{path} is not a prepared event stream: it lacks "
                f"{', '.join(missing)}; delete it and run the prepare step again"
            )
        return cls(**{name: values[name] for name in _arrays() + _METADATA})


def _arrays() -> tuple[str, ...]:
    names = (field.name for field in fields(EventStream))
    return tuple(name for name in names if name not in _METADATA)


def _known(name: str, names: tuple[str, ...]) -> str:
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}, got {name!r}")
    return name

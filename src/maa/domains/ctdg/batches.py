"""Event rows and their candidate destinations as tensors, gathered in one pass."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from maa.domains.ctdg.stream import EventStream

NEVER_MET = -100_000.0
"""CRAFT's elapsed time, in seconds, of a destination that has had no event."""


@dataclass(frozen=True, eq=False)
class Batch:
    """B event rows with C candidate destinations each.

    Attributes:
        source: int64 [B].
        time: float32 [B], seconds since the window's first event.
        destination: int64 [B, C].
        elapsed: float32 [B, C], seconds since the candidate's last event before the
            row, `NEVER_MET` where there is none.
        neighbour: int64 [B, H], the destinations of the source's last events, the most
            recent last; 0 where `valid` is false.
        age: float32 [B, H], seconds since those events; 0 where `valid` is false.
        valid: bool [B, H], false for padding.
    """

    source: Tensor
    time: Tensor
    destination: Tensor
    elapsed: Tensor
    neighbour: Tensor
    age: Tensor
    valid: Tensor

    def __len__(self) -> int:
        """Return the number of rows B."""
        return len(self.source)

    def __getitem__(self, rows: slice) -> Self:
        """Return some of the rows, as views."""
        return type(self)(**{name: part[rows] for name, part in self._parts()})

    def to(self, device: torch.device) -> Self:
        """Return the batch on another device."""
        return type(self)(**{name: part.to(device) for name, part in self._parts()})

    def _parts(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]

    @cached_property
    def slots(self) -> Tensor:
        """int64 [T], where the T valid entries lie in a flattened [B * H] history."""
        return self.valid.reshape(-1).nonzero().squeeze(1)

    @property
    def mask(self) -> Tensor:
        """Bool [B, 1, H], `valid` in the shape of attention logits [B, queries, H]."""
        return self.valid.unsqueeze(1)


def collect(
    stream: EventStream,
    rows: ArrayLike,
    destination: ArrayLike,
    history_rows: ArrayLike | None = None,
) -> Batch:
    """Gather everything that a backbone reads about some event rows.

    Args:
        stream: the events.
        rows: int [B], event rows; they give source and time.
        destination: int [B, C], the candidates.
        history_rows: int [B], the rows whose histories are read, each with its ages at
            that row's own time; ``rows`` themselves by default.
    """
    row = np.asarray(rows, dtype=np.int64)
    candidates = np.asarray(destination, dtype=np.int64)
    readers = row if history_rows is None else np.asarray(history_rows, dtype=np.int64)
    history = stream.history[readers]
    valid = history >= 0
    age = np.where(valid, stream.time[readers, None] - stream.time[history], 0.0)
    last = stream.last_event(candidates, row[:, None])
    elapsed = np.where(np.isnan(last), NEVER_MET, stream.time[row, None] - last)
    return Batch(
        source=_integers(stream.source[row]),
        time=_floats(stream.time[row]),
        destination=_integers(candidates),
        elapsed=_floats(elapsed),
        neighbour=_integers(np.where(valid, stream.destination[history], 0)),
        age=_floats(age),
        valid=torch.from_numpy(valid),
    )


def _integers(values: NDArray[np.integer]) -> Tensor:
    return torch.from_numpy(values.astype(np.int64))


def _floats(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))

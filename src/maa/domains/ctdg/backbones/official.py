"""What the official forms share: both endpoints' histories, and the link predictor.

The reference forms of the paper read the source's history alone. The published models
read the histories of source and candidate, events in either role, and score a link from
both ends' embeddings. They start from raw features of nodes and edges. The protocol has
none (edge features are zeros, and zeros for nodes would make all nodes alike), so a
learned embedding stands where a node's features stood, and edge features are left out:
what a linear map makes of zeros is nothing.
"""

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.batches import Batch, collect
from maa.domains.ctdg.recent import RecentEvents
from maa.domains.ctdg.stream import EventStream

DECADES = 9
"""The slowest frequency of `CosineTime` is 10^-9 of the fastest."""

TABLE = 1 << 24
"""The most ids that `distinct` makes a table of."""


@dataclass(frozen=True, eq=False)
class EndsBatch(Batch):
    """A batch with the last events of both ends of every candidate link.

    End 0 of a row is its source, ends 1..C are its candidates; E = 1 + C.

    Attributes:
        end: int64 [B, E], node ids.
        past_event: int64 [B, E, D], rows of the ends' last events in either role before
            the row, the most recent last; -1 for padding.
        past_other: int64 [B, E, D], the node at the other end of each; 0 for padding.
        past_age: float32 [B, E, D], seconds since each; 0 for padding.
    """

    SHARED: ClassVar[tuple[str, ...]] = ()
    """The parts that belong to all rows together, in models that read more."""

    end: Tensor
    past_event: Tensor
    past_other: Tensor
    past_age: Tensor

    def __getitem__(self, rows: slice) -> Self:
        """Return some of the rows, as views."""
        parts = self._parts()
        own = {name: part[rows] for name, part in parts if name not in self.SHARED}
        return type(self)(**own, **{name: getattr(self, name) for name in self.SHARED})

    @property
    def past_valid(self) -> Tensor:
        """Bool [B, E, D], false for padding."""
        return self.past_event >= 0


class EndsBackbone(Backbone):
    """A link predictor that reads the last events of both ends.

    Args:
        depth: how many events D of each end are read.
    """

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth
        self._recent: RecentEvents | None = None

    def recent(self, stream: EventStream) -> RecentEvents:
        """Return the look-up of a stream's last events; the last one is kept."""
        if self._recent is None or self._recent.stream is not stream:
            self._recent = RecentEvents(stream)
        return self._recent

    def gather(
        self,
        stream: EventStream,
        rows: ArrayLike,
        destination: ArrayLike,
        history_rows: ArrayLike | None = None,
    ) -> EndsBatch:
        """Gather both ends' histories; arguments as in `collect`.

        Rows of ``history_rows`` replace the source's history alone.
        """
        batch = collect(stream, rows, destination, history_rows)
        node, before = readers(stream, rows, destination, history_rows)
        recent = self.recent(stream)
        event = recent.events(node, before, self.depth)
        age = np.where(event >= 0, stream.time[before][..., None], 0.0)
        age -= np.where(event >= 0, stream.time[event], 0.0)
        return EndsBatch(
            **{field.name: getattr(batch, field.name) for field in fields(batch)},
            end=torch.cat([batch.source.unsqueeze(1), batch.destination], dim=1),
            past_event=torch.from_numpy(event),
            past_other=torch.from_numpy(recent.other(node, event)),
            past_age=torch.from_numpy(age.astype(np.float32)),
        )


def readers(
    stream: EventStream,
    rows: ArrayLike,
    destination: ArrayLike,
    history_rows: ArrayLike | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return whose history each end reads, int64 [B, E], and before which row.

    Arguments are those of `collect`. The source of a row of ``history_rows``, at that
    row, takes the place of the source; candidates keep their own history.
    """
    row = np.asarray(rows, dtype=np.int64)
    candidates = np.asarray(destination, dtype=np.int64)
    read = row if history_rows is None else np.asarray(history_rows, dtype=np.int64)
    node = np.column_stack([stream.source[read], candidates]).astype(np.int64)
    before = np.repeat(row[:, None], node.shape[1], axis=1)
    before[:, 0] = read
    return node, before


class CosineTime(nn.Module):
    """Cosines of linear maps of seconds, cos(w t + b).

    The frequencies w fall from 1 to 10^-9 in equal ratios and the phases b are zero at
    the start (TGAT: Xu et al., ICLR 2020, in the initialisation of later libraries).

    Args:
        width: number of features.
        trainable: whether w and b are learned.
    """

    def __init__(self, width: int, trainable: bool) -> None:
        super().__init__()
        frequency = torch.logspace(0, -DECADES, width)
        self.frequency = nn.Parameter(frequency, requires_grad=trainable)
        self.phase = nn.Parameter(torch.zeros(width), requires_grad=trainable)

    def forward(self, seconds: Tensor) -> Tensor:
        """Return features [..., width] of times [...]."""
        features: Tensor
        features = _Cosines.apply(  # type: ignore[no-untyped-call]
            seconds, self.frequency, self.phase
        )
        return features


class _Cosines(torch.autograd.Function):
    """cos(w t + b) for times t, without a gradient for them.

    Whole turns are taken off first: the cosine of an angle of many turns, as seconds
    over days make, takes three times as long. Rounding is as coarse either way.
    """

    @staticmethod
    def forward(ctx: Any, seconds: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
        turn = 2 * math.pi
        angle = torch.addcmul(phase / turn, seconds.unsqueeze(-1), frequency / turn)
        angle -= angle.round()
        angle *= turn
        ctx.save_for_backward(seconds, angle)
        return angle.cos()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor]:
        seconds, angle = ctx.saved_tensors
        slope = angle.sin().mul_(gradient).view(-1, angle.shape[-1])
        times = torch.stack([seconds.flatten(), torch.ones_like(seconds).flatten()])
        frequency, phase = -(times @ slope)
        return None, frequency, phase


class LinkPredictor(nn.Module):
    """Two layers on [source embedding; candidate embedding].

    Args:
        width: width of an embedding and of the hidden layer.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, 1)

    def forward(self, z: Tensor) -> Tensor:
        """Return scores [B, C] from Z [B, C, 2 * width]."""
        score: Tensor = self.output(F.relu(self.hidden(z))).squeeze(-1)
        return score


def pair_ends(ends: Tensor, dim: int = -1) -> Tensor:
    """Put each candidate's part of [B, E, ...] behind its source's: [B, C, ...].

    Args:
        ends: float or bool [B, E, ...], the source first.
        dim: the dimension in which the two parts are joined.
    """
    source, candidates = ends[:, :1], ends[:, 1:]
    return torch.cat([source.expand_as(candidates), candidates], dim)


def distinct(ids: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the distinct ids [k], ascending, and the place among them of each.

    As `torch.unique` does, but without sorting while a table of ids is small.

    Args:
        ids: int64, any shape, in 0..size-1.
        size: number of possible ids.
    """
    if size > TABLE:
        values, places = torch.unique(ids, return_inverse=True)
        return values, places
    present = torch.zeros(size, dtype=torch.bool, device=ids.device)
    present[ids] = True
    values = present.nonzero().squeeze(1)
    place = torch.empty(size, dtype=torch.int64, device=ids.device)
    place[values] = torch.arange(len(values), device=ids.device)
    return values, place[ids]

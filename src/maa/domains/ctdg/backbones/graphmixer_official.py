"""GraphMixer, official form: token mixers over the ages of both ends' last events.

Cong et al., ICLR 2023, with the sizes of DyGLib: each of an end's last events is a
token that tells its age, two mixer blocks mix the tokens, and their mean is joined with
the end's own embedding and the mean one of the nodes it has met. `official` says what
stands for features.

The operator acts in the mean over tokens: a mean is attention with equal logits, its
weights 1/n, and p makes them n^(-1/p). The published code always averages over all
slots of the window, empty ones too. That is `padding: true`; n is then the same for
every row, and p no more than a constant factor. With `padding: false` n counts events,
and softmax is the mean over them, zero where there is none.

In two places the published code is read by its paper. It divides the mean embedding of
the nodes met by the window's size once more (without effect there, where features are
zeros); here it is the mean. And ends without any event share one draw of dropout.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from maa.attention import Operator
from maa.domains.ctdg.backbones.layers import Reading
from maa.domains.ctdg.backbones.linear import Linear, rounded
from maa.domains.ctdg.backbones.official import (
    CosineTime,
    EndsBackbone,
    EndsBatch,
    LinkPredictor,
    pair_ends,
    readers,
)
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.grouping import Grouping
from maa.domains.ctdg.stream import EventStream
from maa.dropout import Dropout

ENDS_AT_ONCE = 64
"""Ends whose tokens are mixed at a time."""


@dataclass(frozen=True, eq=False)
class MetBatch(EndsBatch):
    """A batch with the many nodes that each end has met.

    Attributes:
        met_first: int64 [B, E], where in `met` those an end has met begin.
        met_stop: int64 [B, E], where they end.
        met: int64 [2n], the other ends of all events, node by node in order of time;
            shared by all rows.
    """

    SHARED = ("met",)

    met_first: Tensor
    met_stop: Tensor
    met: Tensor


class Acquaintances:
    """Whom each node has met before any row.

    Args:
        stream: the events.
        gap: how many events to look back at most.
    """

    def __init__(self, stream: EventStream, gap: int) -> None:
        ends = np.stack([stream.source, stream.destination], axis=1)
        self.stream = stream
        self._gap = gap
        self._grouping = Grouping(ends.reshape(-1), stream.nodes)
        others = ends[:, ::-1].reshape(-1)[self._grouping.order]
        self.met = torch.from_numpy(others.astype(np.int64))

    def slices(self, node: ArrayLike, row: ArrayLike) -> tuple[Tensor, Tensor]:
        """Return where those met before each row begin and end in `met`."""
        keys = np.asarray(node, dtype=np.int64)
        stop = self._grouping.stop(keys, 2 * np.asarray(row, dtype=np.int64))
        first = np.maximum(self._grouping.starts[keys], stop - self._gap)
        return torch.from_numpy(first), torch.from_numpy(stop)


class FeedForward(nn.Sequential):
    """Linear, GELU, dropout, linear, dropout, on rows [T, width].

    Args:
        width: width of input and output.
        hidden: width between.
        dropout: probability of dropping a unit.
    """

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__(
            Linear(width, hidden),
            nn.GELU(),
            Dropout(dropout),
            Linear(hidden, width),
            Dropout(dropout),
        )


class MixerBlock(nn.Module):
    """Mixes the tokens of each channel, then the channels of each token.

    Both parts end in x + network(LayerNorm(x)).

    Args:
        tokens: number of tokens K.
        width: number of channels h.
        dropout: probability of dropping a unit of a network.
    """

    def __init__(self, tokens: int, width: int, dropout: float) -> None:
        super().__init__()
        self.token_norm = nn.LayerNorm(tokens)
        self.token_network = FeedForward(tokens, tokens // 2, dropout)
        self.channel_norm = nn.LayerNorm(width)
        self.channel_network = FeedForward(width, 4 * width, dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return the mixed tokens [R, K, h] of tokens [R, K, h]."""
        channels = x.transpose(1, 2).contiguous()
        change = self.token_network(self.token_norm(channels).flatten(0, 1))
        x = x + change.view_as(channels).transpose(1, 2)
        change = self.channel_network(self.channel_norm(x).flatten(0, 1))
        mixed: Tensor = x + change.view_as(x)
        return mixed


class OfficialGraphMixer(EndsBackbone):
    """Scores a link from what the last events of source and candidate look like.

    Z = [source embedding; candidate embedding], so d = 2 * width. Coordinates are those
    of the mean's equal logits; keys count the events of source and candidate.

    Args:
        nodes: number of nodes N.
        operator: the normalisation of the mean's weights.
        width: number of channels, and width of embeddings.
        time_dim: width of the time encoding, which is not learned.
        layers: number of mixer blocks.
        neighbours: how many events of each end are tokens.
        time_gap: how many events of each end tell whom it has met.
        padding: whether empty slots count in the mean, as in the published code.
        dropout: probability of dropping a unit of a mixer's networks.
    """

    def __init__(
        self,
        nodes: int,
        operator: Operator,
        width: int,
        time_dim: int,
        layers: int,
        neighbours: int,
        time_gap: int,
        padding: bool,
        dropout: float,
    ) -> None:
        super().__init__(neighbours)
        self.time_gap = time_gap
        self.padding = padding
        self.embedding = nn.Embedding(nodes, width)
        self.time = CosineTime(time_dim, trainable=False)
        self.token = Linear(time_dim, width)
        self.blocks = nn.Sequential(
            *(MixerBlock(neighbours, width, dropout) for _ in range(layers))
        )
        self.operator = operator.aggregator(1, width, width)
        self.output = nn.Linear(2 * width, width)
        self.predictor = LinkPredictor(width)
        self._acquaintances: Acquaintances | None = None

    def gather(
        self,
        stream: EventStream,
        rows: ArrayLike,
        destination: ArrayLike,
        history_rows: ArrayLike | None = None,
    ) -> MetBatch:
        """Gather both ends' events; arguments as in `collect`.

        Rows of ``history_rows`` replace the source's events and whom it has met.
        """
        batch = super().gather(stream, rows, destination, history_rows)
        known = self._acquaintances
        if known is None or known.stream is not stream:
            known = self._acquaintances = Acquaintances(stream, self.time_gap)
        first, stop = known.slices(*readers(stream, rows, destination, history_rows))
        return MetBatch(
            **{field.name: getattr(batch, field.name) for field in fields(batch)},
            met_first=first,
            met_stop=stop,
            met=known.met,
        )

    def read(self, batch: Batch) -> Reading:
        """Return Z [B, C, 2 * width] and the equal logits [B, C, 2, K] of both ends.

        Raises:
            TypeError: for a batch that `gather` has not made.
        """
        if not isinstance(batch, MetBatch):
            raise TypeError(f"expected a MetBatch, got {type(batch).__name__}")
        shape = batch.end.shape
        valid = batch.past_valid.flatten(0, 1)
        own = self.embedding(batch.end.flatten())
        tokens, place = self._tokens(batch.past_age.flatten(0, 1), valid)
        mask = torch.ones_like(valid) if self.padding else valid
        mask = mask.unsqueeze(1)
        logits = tokens.new_zeros(mask.shape)
        link: Tensor = self.operator(
            logits,
            mask,
            own,
            pool=lambda weights: torch.bmm(weights, tokens[place]).squeeze(1),
            drop=lambda weights: weights,
        )
        node = own + self._mean_met(batch)
        state = self.output(torch.cat([link, node], dim=-1))
        z = pair_ends(state.view(*shape, -1))
        keys = valid.sum(-1).view(*shape, 1).to(z.dtype)
        equal, counted = (
            pair_ends(x.view(*shape, 1, -1), dim=2) for x in (logits, mask)
        )
        points = {"attention": pair_ends(link.view(*shape, -1)), "z": z}
        return Reading(z, [(equal, counted)], pair_ends(keys), points)

    def predict(self, z: Tensor) -> Tensor:
        """Return what the link predictor makes of Z."""
        score: Tensor = self.predictor(z)
        return score

    def _tokens(self, age: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mixed tokens [T, K, h] and the place of each row [R] among them.

        Rows without any event are one and the same: it stands behind the others.
        """
        chosen = valid.any(1).nonzero().squeeze(1)
        place = torch.full_like(valid[:, 0], len(chosen), dtype=torch.int64)
        place[chosen] = torch.arange(len(chosen), device=place.device)
        spare = (0, 0, 0, rounded(len(chosen) + 1) - len(chosen))
        features = self.time(F.pad(age[chosen], spare))
        features = features * F.pad(valid[chosen], spare).unsqueeze(-1)
        tokens = self.token(features.flatten(0, 1))
        ends = tokens.view(len(features), self.depth, -1)
        # A few ends at a time: what lies between then stays in the processor's cache.
        mixed = [self.blocks(part) for part in torch.split(ends, ENDS_AT_ONCE)]
        return torch.cat(mixed), place

    def _mean_met(self, batch: MetBatch) -> Tensor:
        """Return [R, h], the mean embedding of whom each end has met; zero if none."""
        first, stop = batch.met_first.flatten(), batch.met_stop.flatten()
        length = stop - first
        offset = length.cumsum(0) - length
        entry = torch.arange(int(length.sum()), device=length.device)
        entry += torch.repeat_interleave(first - offset, length)
        mean: Tensor = F.embedding_bag(
            batch.met[entry], self.embedding.weight, offset, mode="mean"
        )
        return mean


def build(
    stream: EventStream, operator: Operator, settings: Mapping[str, Any]
) -> OfficialGraphMixer:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the events (the model learns one embedding for each of its nodes).
        operator: the normalisation of the mean's weights.
        settings: ``width``, ``time_dim``, ``layers``, ``neighbours``, ``time_gap``,
            ``padding`` and ``dropout``.
    """
    return OfficialGraphMixer(stream.nodes, operator, **settings)

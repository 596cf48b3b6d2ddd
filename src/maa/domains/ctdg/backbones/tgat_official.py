"""TGAT, official form: two layers of attention over both ends' neighbourhoods.

Xu et al., ICLR 2020, with the sizes and the merging of DyGLib: a node's state before an
event is made by attention from the node to its last events, whose other ends have been
given states of their own before those events in the same way. The operator acts in the
attention of both layers and nowhere else. `official` says what stands for features.

The state of a neighbour before its event depends on this event alone, so each distinct
one in a batch is computed once, with one draw of dropout. Where a node has no earlier
event its context is zero; the published code averages over padding there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from maa.attention import Operator
from maa.domains.ctdg.backbones.layers import Reading
from maa.domains.ctdg.backbones.linear import Linear, rounded
from maa.domains.ctdg.backbones.official import (
    CosineTime,
    EndsBackbone,
    EndsBatch,
    LinkPredictor,
    distinct,
    pair_ends,
    readers,
)
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.recent import RecentEvents
from maa.domains.ctdg.stream import EventStream
from maa.dropout import dropout
from maa.errors import UserError

BLOCK = 256
"""Rows of attention whose time encodings are made at a time."""


@dataclass(frozen=True, eq=False)
class Entries:
    """Every end of every event of a stream, and what it remembers just before.

    Entry 2r is the source of event r and 2r + 1 its destination, so that e ^ 1 is the
    other end of entry e.

    Attributes:
        node: int64 [2n].
        past: int64 [2n, D], the node's entries in its last events before; the most
            recent last, -1 for padding.
        age: float32 [2n, D], seconds since those; 0 for padding.
    """

    node: Tensor
    past: Tensor
    age: Tensor

    def to(self, device: torch.device) -> "Entries":
        """Return the entries on another device."""
        return Entries(*(x.to(device) for x in (self.node, self.past, self.age)))

    @classmethod
    def of(cls, recent: RecentEvents, depth: int) -> "Entries":
        """Look up the past of all ends of a stream's events."""
        stream = recent.stream
        node = np.stack([stream.source, stream.destination], axis=1).reshape(-1)
        row = np.repeat(np.arange(len(stream)), 2)
        event = recent.events(node, row, depth)
        age = stream.time[row][:, None] - stream.time[event]
        return cls(
            torch.from_numpy(node.astype(np.int64)),
            torch.from_numpy(own_entries(stream, node, event)),
            torch.from_numpy(np.where(event >= 0, age, 0.0).astype(np.float32)),
        )


@dataclass(frozen=True, eq=False)
class TwoHopBatch(EndsBatch):
    """A batch with the ends' neighbours' neighbours, through the stream's entries.

    Attributes:
        past: int64 [B, E, D], `past_event` as entries of whoever's history it is.
        entries: those of the whole stream, shared by all rows.
    """

    SHARED = ("entries",)

    past: Tensor
    entries: Entries


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """R rows of attention, each from an asker to at most n neighbours.

    Attributes:
        asker: int64 [R], places in the askers' states.
        neighbour: int64 [R, n], places in the neighbours' states; any for padding.
        valid: bool [R, n], false for padding.
        pairs: int64 [2, P], places of the distinct askers and neighbours that meet;
            None if each row has an asker of its own, in order.
        pair: int64 [R, n], the place of each meeting among the pairs, or None.
    """

    asker: Tensor
    neighbour: Tensor
    valid: Tensor
    pairs: Tensor | None = None
    pair: Tensor | None = None

    @classmethod
    def recurring(
        cls, asker: Tensor, neighbour: Tensor, valid: Tensor, size: int
    ) -> Self:
        """Make rows where the same few meet many times; places are below ``size``."""
        pairs, pair = distinct(asker.unsqueeze(1) * size + neighbour, size**2)
        both = torch.stack([pairs // size, pairs % size])
        return cls(asker, neighbour, valid, both, pair)


class Attended(NamedTuple):
    """What a layer's attention makes of R rows.

    Attributes:
        logits: float [R, heads, n].
        context: float [R, h + t], the attention's output.
        residual: float [R, h + t], its linear map plus the query.
        state: float [R, h + t], that normalised.
    """

    logits: Tensor
    context: Tensor
    residual: Tensor
    state: Tensor


class TemporalLayer(nn.Module):
    """Attention from a node to its last events, merged with its embedding.

    Queries are [state; time encoding of 0], keys and values [state; time encoding of
    the age]; out of the attention come a linear map, a residual connection with the
    query and a LayerNorm, and two more linear maps that also read the embedding.

    Keys are never formed: queries are carried through their weights, and the product
    of an asker with a neighbour is formed once, however often they have met.

    Args:
        width: width h of states and embeddings.
        time_dim: width t of time encodings.
        heads: number of heads; divides h + t.
        operator: the normalisation.
        dropout: probability of dropping a weight or a unit of the attention's output.
    """

    def __init__(
        self, width: int, time_dim: int, heads: int, operator: Operator, dropout: float
    ) -> None:
        super().__init__()
        total = width + time_dim
        self.parts = [width, time_dim]
        self.heads = heads
        self.dropout = dropout
        self.query = Linear(total, total, bias=False)
        self.key = nn.Linear(total, total, bias=False)
        self.state_value = Linear(width, total, bias=False)
        self.time_value = nn.Linear(time_dim, total, bias=False)
        self.operator = operator.aggregator(heads, total, total)
        self.mix = Linear(total, total)
        self.norm = nn.LayerNorm(total)
        self.merge_state = Linear(total, width)
        self.merge_node = Linear(width, width, bias=False)
        self.output = Linear(width, width)

    def forward(
        self,
        asking: Tensor,
        told: Tensor,
        now: Tensor,
        ages: Sequence[Tensor],
        rows: Neighbourhoods,
    ) -> Attended:
        """Attend.

        Args:
            asking: float [A, h], the askers' states.
            told: float [S, h], the neighbours' states.
            now: float [t], the time encoding of 0.
            ages: float [r, k, t] for R rows in turn, the time encodings of the ages of
                their last k events, where earlier ones are padding in all r rows.
            rows: who attends to whom.
        """
        query = torch.cat([asking, now.expand(len(asking), -1)], dim=-1)
        logits = self._logits(query, told, ages, rows)
        asked = F.embedding(rows.asker, query)
        context: Tensor = self.operator(
            logits,
            rows.valid.unsqueeze(1),
            asked,
            pool=lambda weights: self._context(weights, told, ages, rows),
            drop=lambda weights: dropout(weights, self.dropout, self.training),
        )
        residual = dropout(self.mix(context), self.dropout, self.training) + asked
        return Attended(logits, context, residual, self.norm(residual))

    def merged(self, state: Tensor, embedding: Tensor, node: Tensor) -> Tensor:
        """Return new states [R, h] from what attention made of the rows.

        Args:
            state: float [R, h + t].
            embedding: float [D, h].
            node: int64 [R], the place of each row's node among the embeddings.
        """
        known = F.embedding(node, self.merge_node(embedding))
        merged: Tensor = self.output(F.relu(self.merge_state(state) + known))
        return merged

    def _logits(
        self, query: Tensor, told: Tensor, ages: Sequence[Tensor], rows: Neighbourhoods
    ) -> Tensor:
        total = sum(self.parts)
        size = total // self.heads
        asked = (self.query(query) / math.sqrt(size)).view(-1, self.heads, size)
        keys = self.key.weight.view(self.heads, size, total)
        carried = (asked.transpose(0, 1) @ keys).transpose(0, 1)
        to_state, to_time = (
            part.flatten(1) for part in torch.split(carried, self.parts, -1)
        )
        timed = F.embedding(rows.asker, to_time).view(-1, self.heads, self.parts[1])
        # Ages first: their gradient then comes laid out as they are.
        blocks = [
            torch.bmm(age, part.transpose(1, 2))
            for age, part in zip(ages, split_as(timed, ages), strict=True)
        ]
        depth = rows.valid.shape[1]
        padded = [F.pad(x, (0, 0, depth - x.shape[1], 0)) for x in blocks]
        logits = torch.cat(padded) + self._products(to_state, told, rows)
        return logits.transpose(1, 2)

    def _products(self, asking: Tensor, told: Tensor, rows: Neighbourhoods) -> Tensor:
        """Return [R, n, heads], the part of the logits that reads states."""
        if rows.pairs is None or rows.pair is None:
            asked = asking.view(len(asking), self.heads, -1).transpose(1, 2)
            return torch.bmm(F.embedding(rows.neighbour, told), asked)
        asker, neighbour = rows.pairs
        asked = F.embedding(asker, asking).view(len(asker), self.heads, -1)
        products = torch.bmm(asked, F.embedding(neighbour, told).unsqueeze(2))
        return F.embedding(rows.pair, products.squeeze(2))

    def _context(
        self,
        weights: Tensor,
        told: Tensor,
        ages: Sequence[Tensor],
        rows: Neighbourhoods,
    ) -> Tensor:
        blocks = [
            torch.bmm(part[..., part.shape[-1] - age.shape[1] :], age)
            for age, part in zip(ages, split_as(weights, ages), strict=True)
        ]
        timed = self._by_head(torch.cat(blocks), self.time_value)
        # States are turned into values before the sum or after, the fewer rows of both.
        early = len(told) < len(weights)
        table = self.state_value(told).view(-1, timed.shape[-1]) if early else told
        context = _bags(weights, rows.neighbour, table, early)
        if not early:
            context = self._by_head(context, self.state_value)
        return (context + timed).flatten(1)

    def _by_head(self, sums: Tensor, values: nn.Linear) -> Tensor:
        """Map [R, heads, *] to [R, heads, v], each head by its part of a linear map."""
        weight = values.weight.view(self.heads, -1, values.in_features)
        mapped: Tensor = sums.transpose(0, 1) @ weight.transpose(1, 2)
        return mapped.transpose(0, 1)


def _bags(weights: Tensor, neighbour: Tensor, table: Tensor, by_head: bool) -> Tensor:
    """Sum rows of a table, [R, heads, *], with weights [R, heads, n].

    Row v of the table belongs to neighbour v, or ``by_head`` rows heads * v + head to
    each head of it.
    """
    heads = weights.shape[1]
    place = neighbour.unsqueeze(1).expand_as(weights)
    if by_head:
        place = place * heads + torch.arange(heads, device=place.device).view(-1, 1)
    sums = F.embedding_bag(
        place.flatten(0, 1),
        table,
        per_sample_weights=weights.flatten(0, 1),
        mode="sum",
    )
    return sums.view(len(weights), heads, -1)


class OfficialTGAT(EndsBackbone):
    """Scores a link from two-hop states of source and candidate.

    Z = [source state; candidate state], so d = 2 * width. Coordinates and keys are
    those of the upper layer's rows, the source's and the candidate's; the lower layer's
    rows belong to neighbours.

    Args:
        nodes: number of nodes N.
        operator: the normalisation of the attention weights.
        width: width of states and embeddings.
        time_dim: width of the time encoding.
        heads: attention heads; divides ``width + time_dim``.
        neighbours: how many events n of each node are read.
        dropout: probability of dropping a weight or a unit of an attention's output.
    """

    def __init__(
        self,
        nodes: int,
        operator: Operator,
        width: int,
        time_dim: int,
        heads: int,
        neighbours: int,
        dropout: float,
    ) -> None:
        super().__init__(neighbours)
        self.nodes = nodes
        self.embedding = nn.Embedding(nodes, width)
        self.time = CosineTime(time_dim, trainable=True)
        self.lower = TemporalLayer(width, time_dim, heads, operator, dropout)
        self.upper = TemporalLayer(width, time_dim, heads, operator, dropout)
        self.predictor = LinkPredictor(width)
        self._entries: tuple[EventStream, Entries] | None = None

    def gather(
        self,
        stream: EventStream,
        rows: ArrayLike,
        destination: ArrayLike,
        history_rows: ArrayLike | None = None,
    ) -> TwoHopBatch:
        """Gather both ends' last events; arguments as in `collect`.

        Rows of ``history_rows`` replace the source's events, and with them the other
        ends of these.
        """
        batch = super().gather(stream, rows, destination, history_rows)
        node, _ = readers(stream, rows, destination, history_rows)
        past = own_entries(stream, node, batch.past_event.numpy())
        return TwoHopBatch(
            **{field.name: getattr(batch, field.name) for field in fields(batch)},
            past=torch.from_numpy(past),
            entries=self.entries(stream),
        )

    def entries(self, stream: EventStream) -> Entries:
        """Return a stream's entries; the last stream's are kept."""
        if self._entries is None or self._entries[0] is not stream:
            self._entries = stream, Entries.of(self.recent(stream), self.depth)
        return self._entries[1]

    def read(self, batch: Batch) -> Reading:
        """Return Z [B, C, 2 * width] and the logits [B, C, 2 * heads, n] of both ends.

        Raises:
            TypeError: for a batch that `gather` has not made.
        """
        if not isinstance(batch, TwoHopBatch):
            raise TypeError(f"expected a TwoHopBatch, got {type(batch).__name__}")
        shape, (roots, depth) = batch.end.shape, (batch.end.numel(), self.depth)
        past, entries = batch.past.view(roots, depth), batch.entries
        # Padding stands for entry 0, which is computed for nothing.
        told, neighbour = distinct((past ^ 1).clamp(min=0), len(entries.node))
        told, neighbour = by_length(entries, filled(told, roots), neighbour)
        node = torch.cat([batch.end.flatten(), entries.node[told]])
        before = torch.cat([past, entries.past[told]])
        other = entries.node[(before ^ 1).clamp(min=0)]
        nodes, place = distinct(torch.cat([node.unsqueeze(1), other], 1), self.nodes)
        nodes = filled(nodes)
        embedding = self.embedding(nodes)
        now = self.time(batch.time.new_zeros(()))
        root_age = batch.past_age.view(roots, depth)
        own = [self.time(age) for age in torch.split(root_age, BLOCK)]
        theirs = [self.time(age) for age in _blocks(entries, told)]

        rows = Neighbourhoods.recurring(
            place[:, 0], place[:, 1:], before >= 0, len(nodes)
        )
        attended = self.lower(embedding, embedding, now, own + theirs, rows)
        states = self.lower.merged(attended.state, embedding, rows.asker)
        root, told_state = torch.split(states, [roots, len(told)])
        ends = torch.arange(roots, device=past.device)
        upper = Neighbourhoods(ends, neighbour, past >= 0)
        attended = self.upper(root, told_state, now, own, upper)
        state = self.upper.merged(attended.state, embedding, rows.asker[:roots])
        return _reading(attended, state, upper.valid, shape)

    def predict(self, z: Tensor) -> Tensor:
        """Return what the link predictor makes of Z."""
        score: Tensor = self.predictor(z)
        return score


def own_entries(
    stream: EventStream, node: NDArray[np.integer], event: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return which entry of each event is its node's own, -1 for padding.

    Args:
        stream: the events.
        node: node ids [*shape].
        event: their events [*shape, n], -1 for padding.
    """
    own = 2 * event + (stream.source[event] != node[..., None])
    return np.where(event >= 0, own, -1)


def split_as(values: Tensor, blocks: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Split the rows of ``values`` as those of ``blocks`` are."""
    return torch.split(values, [len(block) for block in blocks])


def by_length(entries: Entries, chosen: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """Sort chosen entries [E] by the length of their past, and mend places in them."""
    length = (entries.past[chosen] >= 0).sum(1)
    order = length.argsort(stable=True)
    moved = torch.empty_like(order)
    moved[order] = torch.arange(len(order), device=order.device)
    return chosen[order], moved[place]


def _blocks(entries: Entries, chosen: Tensor) -> list[Tensor]:
    """Return the ages of entries sorted by length, in blocks without common padding.

    Blocks also fit the processor's cache, with all that is made of their ages.
    """
    past, age = entries.past[chosen], entries.age[chosen]
    longest = [max(int((part[-1] >= 0).sum()), 1) for part in torch.split(past, BLOCK)]
    parts = zip(torch.split(age, BLOCK), longest, strict=True)
    return [part[:, -length:] for part, length in parts]


def filled(ids: Tensor, others: int = 0) -> Tensor:
    """Append zeros to ids [k] until `Linear` is fast for these and ``others`` rows."""
    rows = len(ids) + others
    return F.pad(ids, (0, rounded(rows) - rows))


def _reading(
    attended: Attended, state: Tensor, valid: Tensor, shape: torch.Size
) -> Reading:
    """Return the reading of candidates from the rows of all ends [B, E]."""
    logits, context, residual, normed = (
        part.view(*shape, *part.shape[1:]) for part in attended
    )
    z = pair_ends(state.view(*shape, -1))
    mask = valid.view(*shape, 1, -1).expand_as(logits)
    keys = valid.sum(-1).view(*shape, 1).to(z.dtype)
    points = {"attention": context, "residual": residual, "norm": normed}
    paired = {name: pair_ends(point) for name, point in points.items()}
    return Reading(
        z,
        [(pair_ends(logits, dim=2), pair_ends(mask, dim=2))],
        pair_ends(keys),
        paired | {"z": z},
    )


def build(
    stream: EventStream, operator: Operator, settings: Mapping[str, Any]
) -> OfficialTGAT:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the events (the model learns one embedding for each of its nodes).
        operator: the normalisation of the attention weights.
        settings: ``width``, ``time_dim``, ``heads``, ``neighbours`` and ``dropout``.

    Raises:
        UserError: if ``heads`` does not divide ``width + time_dim``.
    """
    total, heads = settings["width"] + settings["time_dim"], settings["heads"]
    if total % heads:
        raise UserError(
            f"models.tgat-official.heads: {heads} heads do not divide width + time_dim "
            f"= {total}; choose a number of heads that does"
        )
    return OfficialTGAT(stream.nodes, operator, **settings)

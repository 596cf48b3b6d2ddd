"""DyGFormer, official form: one Transformer over the sequences of both ends.

Yu et al., "Towards Better Dynamic Graph Learning", NeurIPS 2023, as in DyGLib: an end's
sequence is the end itself and its last events; a token (patch) joins what is known of
some consecutive ones through four channels (node, edge, time, how often the node stands
in either sequence); an embedding is the mean over an end's tokens after the layers.

It has no query-to-history attention, so the operator acts in the layers'
self-attention, the only attention there is. The published code pads sequences to one
length and masks nothing: padding is attended to and averaged like any other token. So
it is here, for every operator, and each row of attention has the same number of keys.
There the length is that of a batch's longest sequence; here it is the longest allowed,
so that a score does not depend on what else is in the batch.

Two things differ from the published form. A learned embedding stands for the nodes' raw
features and edges have none: of the edge channel its bias is left. And all padding of a
sequence, the same vector in every layer, is computed once: when training, dropout draws
for it the noise that the mean of so many tokens would have, up to second moments.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from maa.attention import Operator
from maa.domains.ctdg.backbones.layers import Reading
from maa.domains.ctdg.backbones.linear import Linear, rounded
from maa.domains.ctdg.backbones.official import (
    CosineTime,
    EndsBackbone,
    EndsBatch,
    LinkPredictor,
)
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.stream import EventStream
from maa.dropout import dropout
from maa.errors import UserError

CHANNELS = 4
GROUPS = 8
"""Pairs are taken through the attention in this many groups of similar length."""

ROWS_AT_ONCE = 64
"""Rows read together when not training: half the time of 512, which leave the cache."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """The sequences of the ends, E = 1 + C a row: the end itself, then its events.

    Attributes:
        node: int64 [B, E, L], node ids; 0 for padding, which comes last.
        age: float [B, E, L], seconds before the row; 0 for the end itself and padding.
        length: int64 [B, E], entries that are not padding, at least 1.
    """

    node: Tensor
    age: Tensor
    length: Tensor

    @property
    def valid(self) -> Tensor:
        """Bool [B, E, L], false for padding."""
        place = torch.arange(self.node.shape[-1], device=self.node.device)
        return place < self.length.unsqueeze(-1)


def sequences(batch: EndsBatch) -> Sequences:
    """Put the ends ahead of their events, oldest first, and padding behind."""
    depth = batch.past_event.shape[-1]
    count = batch.past_valid.sum(-1)
    place = torch.arange(depth, device=count.device)
    taken = (place - count.unsqueeze(-1)) % depth
    end = batch.end.unsqueeze(-1)
    node = torch.cat([end, batch.past_other.gather(-1, taken)], dim=-1)
    age = F.pad(batch.past_age.gather(-1, taken), (1, 0))
    return Sequences(node, age, count + 1)


def appearances(of: Sequences) -> Tensor:
    """Count how often each entry's node stands in the sequences of a pair.

    Args:
        of: the ends' sequences.

    Returns:
        int64 [B, C, 2, L, 2]: for the entries of source (0) and candidate (1), how
        often their node stands in the source's and in the candidate's sequence; 0 for
        padding.
    """
    # Two different ids for padding, so that it never counts.
    source = of.node[:, :1].masked_fill(~of.valid[:, :1], -1)
    candidate = of.node[:, 1:].masked_fill(~of.valid[:, 1:], -2)
    across = source.unsqueeze(-1) == candidate.unsqueeze(-2)
    own = [
        (ids.unsqueeze(-1) == ids.unsqueeze(-2)).sum(-1) for ids in (source, candidate)
    ]
    first = torch.stack([own[0].expand(candidate.shape), across.sum(-1)], dim=-1)
    second = torch.stack([across.sum(-2), own[1]], dim=-1)
    counts = torch.stack([first, second], dim=2)
    valid = torch.stack([of.valid[:, :1].expand(candidate.shape), of.valid[:, 1:]], 2)
    return counts * valid.unsqueeze(-1)


@dataclass(frozen=True, eq=False)
class Group:
    """Some pairs of similar length, whose tokens lie side by side.

    Attributes:
        tokens: where their tokens lie among all.
        grid: int64 [G, M], each pair's tokens, the first ones once more as padding.
        filled: int64 [t], where the tokens lie in a flattened grid.
    """

    tokens: slice
    grid: Tensor
    filled: Tensor


@dataclass(frozen=True, eq=False)
class Packing:
    """Where everything lies when tokens are kept without padding.

    Of a sequence's padding one token is kept. It stands for so many tokens alike, its
    copies. Tokens of one sequence, U in all, are the same in all pairs but for their
    appearances; tokens of pairs, T in all, are sorted by the pair's number of tokens
    and then filled up to a convenient number.

    Attributes:
        sequence_slots: int64 [U], tokens of sequences in a flattened grid [B, E, n].
        pair_slots: int64 [T], tokens of pairs in a flattened grid [B, C, 2, n].
        raw: int64 [T], each pair token's place among the tokens of sequences.
        keys: int64 [T, 2n], the tokens that each token attends to, counted from the
            first of its pair; copies are listed one by one.
        longest: the largest number of tokens of a pair.
        side: int64 [T], 2 * pair + (1 for the candidate's), pairs as they are sorted.
        share: float [T, 1], what a token contributes to its side's mean.
        repeated: int64 [q], tokens with more than one copy.
        damping: float [q, 1], 1 / sqrt(their copies).
        selves: int64 [R, 2], the tokens of the two ends themselves.
        back: int64 [R], where each pair is in the sorted order.
        groups: the pairs in groups.
    """

    sequence_slots: Tensor
    pair_slots: Tensor
    raw: Tensor
    keys: Tensor
    longest: int
    side: Tensor
    share: Tensor
    repeated: Tensor
    damping: Tensor
    selves: Tensor
    back: Tensor
    groups: list[Group]


def pack(length: Tensor, patches: int, size: int) -> Packing:
    """Lay the tokens of a batch out.

    Args:
        length: int64 [B, E], entries in each sequence.
        patches: number n of tokens in a sequence with its padding.
        size: entries of a token.
    """
    rows, ends = length.shape
    real = (length + size - 1) // size
    kept = (real + 1).clamp(max=patches)
    place = torch.arange(patches, device=length.device)
    in_sequence = place < kept.unsqueeze(-1)
    number = (in_sequence.flatten().cumsum(0) - 1).view(rows, ends, patches)
    copies = torch.where(place == real.unsqueeze(-1), patches - real.unsqueeze(-1), 1)

    total = (kept[:, :1] + kept[:, 1:]).flatten()
    total, order = total.sort(stable=True)
    in_pair = _paired(in_sequence)[order]
    slots = in_pair.flatten().nonzero().squeeze(1)
    # Past the last kept token of a side this repeats its number: that of the padding.
    token = (in_pair.flatten().cumsum(0) - 1).view(len(order), 2 * patches)
    first = token[:, 0]
    pair = slots // (2 * patches)
    fill = rounded(len(slots)) - len(slots)
    copies = _paired(copies)[order].flatten()[slots]
    repeated = (copies > 1).nonzero().squeeze(1)
    return Packing(
        sequence_slots=in_sequence.flatten().nonzero().squeeze(1),
        pair_slots=_filled(order[pair] * 2 * patches + slots % (2 * patches), fill),
        raw=_filled(_paired(number)[order].flatten()[slots], fill),
        keys=_filled((token - first.unsqueeze(1))[pair], fill),
        longest=int(total[-1]),
        side=_filled(slots // patches, fill),
        share=_filled(copies.unsqueeze(1) / patches, fill),
        repeated=repeated,
        damping=copies[repeated].unsqueeze(1).rsqrt(),
        selves=token[:, [0, patches]],
        back=order.argsort(),
        groups=_groups(first, total),
    )


def _paired(values: Tensor) -> Tensor:
    """From sequences [B, E, n] to pairs [B * C, 2n], the source's first."""
    source, candidate = values[:, :1], values[:, 1:]
    return torch.cat([source.expand(candidate.shape), candidate], -1).flatten(0, 1)


def _filled(values: Tensor, fill: int) -> Tensor:
    """Append ``fill`` zeros along the first dimension."""
    return torch.cat([values, values.new_zeros(fill, *values.shape[1:])])


def _groups(first: Tensor, total: Tensor) -> list[Group]:
    """Group pairs, given each one's first token and number of tokens, ascending."""
    pairs = len(first)
    groups = []
    for chunk in torch.arange(pairs, device=first.device).chunk(GROUPS):
        count = total[chunk].unsqueeze(1)
        place = torch.arange(int(count[-1]), device=first.device)
        start, stop = int(first[chunk[0]]), int(first[chunk[-1]] + count[-1])
        within = place < count
        grid = first[chunk].unsqueeze(1) + place * within
        filled = within.flatten().nonzero().squeeze(1)
        groups.append(Group(slice(start, stop), grid, filled))
    return groups


def products(left: Tensor, right: Tensor, heads: int, packing: Packing) -> Tensor:
    """Return each token's scalar products with the tokens of its pair.

    Args:
        left: float [T, h].
        right: float [T, h].
        heads: into how many parts of equal width h is split.
        packing: where the tokens lie.

    Returns:
        float [T, heads, M], M the largest number of tokens of a pair; of no meaning
        beyond a pair's own number.
    """
    found = left.new_zeros(len(left), heads, packing.longest)
    for group in packing.groups:
        parts = zip(_grid(left, group, heads), _grid(right, group, heads), strict=True)
        for head, (a, b) in enumerate(parts):
            square = torch.bmm(a, b.transpose(1, 2)).flatten(0, 1)
            found[group.tokens, head, : square.shape[1]] = square[group.filled]
    return found


def mixture(
    weights: Tensor, values: Tensor, packing: Packing, transposed: bool = False
) -> Tensor:
    """Return each token's weighted sum of the tokens of its pair.

    Args:
        weights: float [T, heads, M], zero beyond a pair's own number of tokens.
        values: float [T, h].
        packing: where the tokens lie.
        transposed: sum over the tokens that weigh instead of those that are weighed.

    Returns:
        float [T, h].
    """
    heads = weights.shape[1]
    mixed = torch.zeros_like(values)
    for group in packing.groups:
        targets = mixed[group.tokens].chunk(heads, -1)
        parts = zip(_grid(values, group, heads), targets, strict=True)
        for head, (value, target) in enumerate(parts):
            square = _square(weights[:, head], group)
            square = square.transpose(1, 2) if transposed else square
            target.copy_(torch.bmm(square, value).flatten(0, 1)[group.filled])
    return mixed


def _grid(x: Tensor, group: Group, heads: int) -> tuple[Tensor, ...]:
    """Lay a group's tokens out pair by pair, one [G, M, h / heads] a head."""
    laid = x.index_select(0, group.grid.flatten()).view(*group.grid.shape, -1)
    return laid.chunk(heads, -1)


def _square(weights: Tensor, group: Group) -> Tensor:
    """Lay a group's weights out pair by pair, [G, M, M], zero for padding."""
    pairs, size = group.grid.shape
    square = weights.new_zeros(pairs * size, size)
    square[group.filled] = weights[group.tokens, :size]
    return square.view(pairs, size, size)


class _Products(torch.autograd.Function):
    """`products` with its gradient, which is made of `mixture`s."""

    @staticmethod
    def forward(
        ctx: Any, left: Tensor, right: Tensor, heads: int, packing: Packing
    ) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.packing = packing
        return products(left, right, heads, packing)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        left, right = ctx.saved_tensors
        to_left = mixture(gradient, right, ctx.packing)
        to_right = mixture(gradient, left, ctx.packing, transposed=True)
        return to_left, to_right, None, None


class _Mixture(torch.autograd.Function):
    """`mixture` with its gradient."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor, packing: Packing) -> Tensor:
        ctx.save_for_backward(weights, values)
        ctx.packing = packing
        return mixture(weights, values, packing)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        weights, values = ctx.saved_tensors
        to_weights = products(gradient, values, weights.shape[1], ctx.packing)
        to_values = mixture(weights, gradient, ctx.packing, transposed=True)
        return to_weights, to_values, None


class SelfAttention(nn.Module):
    """Multi-head self-attention over all tokens of a pair, padding included.

    Args:
        width: width h of the tokens.
        heads: number of heads; divides ``width``.
        operator: the normalisation of the attention weights.
        dropout: probability of dropping a weight.
    """

    def __init__(
        self, width: int, heads: int, operator: Operator, dropout: float
    ) -> None:
        super().__init__()
        self.heads = heads
        self.scale = 1 / math.sqrt(width // heads)
        self.dropout = dropout
        self.input = Linear(width, 3 * width)
        nn.init.xavier_uniform_(self.input.weight)
        nn.init.zeros_(self.input.bias)
        self.operator = operator.aggregator(heads, width, width)

    def forward(self, tokens: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        """Return the contexts [T, h] of tokens [T, h], the logits [T, heads, 2n]."""
        query, key, value = self.input(tokens).chunk(3, dim=-1)
        found = _Products.apply(  # type: ignore[no-untyped-call]
            query * self.scale, key, self.heads, packing
        )
        columns = packing.keys.unsqueeze(1).expand(-1, self.heads, -1)
        logits = found.gather(2, columns)

        def pool(weights: Tensor) -> Tensor:
            each = torch.zeros_like(found).scatter_add(2, columns, weights)
            pooled: Tensor = _Mixture.apply(each, value, packing)  # type: ignore[no-untyped-call]
            return pooled

        context: Tensor = self.operator(
            logits,
            logits.new_ones(1, 1, logits.shape[-1], dtype=torch.bool),
            tokens,
            pool=pool,
            drop=partial(
                thinned, p=self.dropout, training=self.training, packing=packing
            ),
        )
        return context, logits


def thinned(x: Tensor, p: float, training: bool, packing: Packing) -> Tensor:
    """Drop entries of x [T, ...]; a token with copies gets the mean noise of as many.

    The noise of a mean of k independent ones has the same expectation, one, and a
    deviation that is smaller by sqrt(k).
    """
    if not training or p == 0:
        return x
    noise = dropout(x.new_ones(()).expand(x.shape), p, training)
    damping = packing.damping.view(-1, *[1] * (x.dim() - 1))
    few = noise.index_select(0, packing.repeated)
    noise.index_copy_(0, packing.repeated, 1 + (few - 1) * damping)
    return x * noise


class Layer(nn.Module):
    """Self-attention, then a feed-forward network; both read a norm and add.

    Args:
        width: width h of the tokens.
        heads: number of heads.
        operator: the normalisation of the attention weights.
        dropout: probability of dropping an attention weight or a hidden unit.
    """

    def __init__(
        self, width: int, heads: int, operator: Operator, dropout: float
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.attention_norm = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, operator, dropout)
        self.mix = Linear(width, width)
        nn.init.zeros_(self.mix.bias)
        self.norm = nn.LayerNorm(width)
        self.expand = Linear(width, 4 * width)
        self.contract = Linear(4 * width, width)

    def forward(
        self, x: Tensor, packing: Packing
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Return the new tokens [T, h], the logits [T, heads, 2n] and the points."""
        drop = partial(thinned, p=self.dropout, training=self.training, packing=packing)
        context, logits = self.attention(self.attention_norm(x), packing)
        mixed = self.mix(context)
        residual = x + drop(mixed)
        change = self.contract(drop(F.gelu(self.expand(self.norm(residual)))))
        x = residual + drop(change)
        points = {"attention": context, "linear": mixed, "residual": residual}
        return x, logits, points | {"layer": x}


class OfficialDyGFormer(EndsBackbone):
    """Scores a link from the two embeddings that one Transformer makes of its ends.

    Z = [source embedding; candidate embedding], so d = 2 * width. The coordinates are
    those of the two ends' own tokens, in every layer and head.

    Args:
        nodes: number of nodes N.
        operator: the normalisation of the attention weights.
        width: width of a node's features and of an embedding.
        time_dim: width of the time encoding.
        channel: width of each of the four channels.
        length: largest length L of a sequence, the end itself included.
        patch: entries of a token; divides ``length``.
        layers: number of layers.
        heads: number of heads; divides 4 * ``channel``.
        dropout: probability of dropping an attention weight or a hidden unit.
    """

    def __init__(
        self,
        nodes: int,
        operator: Operator,
        width: int,
        time_dim: int,
        channel: int,
        length: int,
        patch: int,
        layers: int,
        heads: int,
        dropout: float,
    ) -> None:
        super().__init__(length - 1)
        self.patch, self.patches = patch, length // patch
        hidden = CHANNELS * channel
        self.embedding = nn.Embedding(nodes, width)
        self.time = CosineTime(time_dim, trainable=True)
        self.count = nn.Sequential(
            nn.Linear(1, channel), nn.ReLU(), nn.Linear(channel, channel)
        )
        self.from_node = nn.Linear(patch * width, channel)
        # A linear map of features that are zero is its bias.
        bound = 1 / math.sqrt(patch * width)
        self.from_edge = nn.Parameter(torch.empty(channel).uniform_(-bound, bound))
        self.from_time = nn.Linear(patch * time_dim, channel)
        self.from_count = nn.Linear(patch * channel, channel)
        self.layers = nn.ModuleList(
            Layer(hidden, heads, operator, dropout) for _ in range(layers)
        )
        self.output = nn.Linear(hidden, width)
        self.predictor = LinkPredictor(width)

    def read(self, batch: Batch) -> Reading:
        """Return Z [B, C, 2 * width] and the logits [B, C, 2 * heads, 2n] a layer."""
        if not isinstance(batch, EndsBatch):
            raise TypeError("DyGFormer reads what its own `gather` returns")
        if self.training or len(batch) <= ROWS_AT_ONCE:
            return self._read(batch)
        starts = range(0, len(batch), ROWS_AT_ONCE)
        return _joined([self._read(batch[i : i + ROWS_AT_ONCE]) for i in starts])

    def _read(self, batch: EndsBatch) -> Reading:
        of = sequences(batch)
        packing = pack(of.length, self.patches, self.patch)
        shape = (*batch.destination.shape, -1)
        x = self._tokens(of, packing)
        attention = []
        points: dict[str, Tensor] = {}
        valid = x.new_ones(1, 1, 1, 2 * self.patches, dtype=torch.bool)
        for number, layer in enumerate(self.layers, start=1):
            x, logits, passed = layer(x, packing)
            own = logits[packing.selves[packing.back]].flatten(1, 2)
            attention.append((own.view(*shape, own.shape[-1]), valid))
            suffix = f" {number}" if number > 1 else ""
            points |= {
                f"{name}{suffix}": _means(tokens, packing).view(shape)
                for name, tokens in passed.items()
            }
        means = points[f"layer{suffix}"]
        z = self.output(means.view(*shape[:2], 2, -1)).flatten(2)
        count = (of.length - 1).to(z.dtype)
        source, candidate = count[:, :1], count[:, 1:]
        keys = torch.stack([source.expand(candidate.shape), candidate], dim=-1)
        return Reading(z, attention, keys, points | {"z": z})

    def predict(self, z: Tensor) -> Tensor:
        """Return the link predictor's scores."""
        score: Tensor = self.predictor(z)
        return score

    def _tokens(self, of: Sequences, packing: Packing) -> Tensor:
        """Return the tokens [T, 4 * channel] that enter the first layer.

        What does not depend on the pair is made once for each sequence.
        """
        entries = (-1, self.patch)
        node, age, valid = (
            part.view(entries).index_select(0, packing.sequence_slots)
            for part in (of.node, of.age, of.valid.contiguous())
        )
        known = valid.unsqueeze(-1)
        from_node = self.from_node((self.embedding(node) * known).flatten(1))
        from_time = self.from_time((self.time(age) * known).flatten(1))
        from_edge = self.from_edge.expand_as(from_node)
        raw = torch.cat([from_node, from_edge, from_time], dim=1)
        counts = appearances(of).view(-1, 2 * self.patch)[packing.pair_slots]
        return torch.cat([F.embedding(packing.raw, raw), self._from_count(counts)], 1)

    def _from_count(self, counts: Tensor) -> Tensor:
        """Return the channel [T, channel] of the appearances [T, 2 * patch].

        A count's encoding is looked up: there are only so many different ones.
        """
        size = self.patch * self.patches + 1
        every = torch.arange(size, device=counts.device, dtype=self.time.phase.dtype)
        encoded = self.count(every.unsqueeze(1))
        weight = self.from_count.weight.view(-1, self.patch, encoded.shape[1])
        table = (encoded @ weight.permute(1, 2, 0)).flatten(0, 1)
        place = torch.arange(self.patch, device=counts.device).repeat_interleave(2)
        found = F.embedding_bag(counts + place * size, table, mode="sum")
        return found + self.from_count.bias


def _means(tokens: Tensor, packing: Packing) -> Tensor:
    """Return the means [R, 2, h] of each side's tokens, pairs in their own order."""
    sides = tokens.new_zeros(2 * len(packing.back), tokens.shape[1])
    sides = sides.index_add(0, packing.side, tokens * packing.share)
    return sides.view(len(packing.back), 2, -1)[packing.back]


def _joined(parts: list[Reading]) -> Reading:
    """Put the readings of consecutive rows together."""
    layers = zip(*(part.attention for part in parts), strict=True)
    attention = [
        (torch.cat([logits for logits, _ in layer]), layer[0][1]) for layer in layers
    ]
    return Reading(
        z=torch.cat([part.z for part in parts]),
        attention=attention,
        keys=torch.cat([part.keys for part in parts]),
        points={
            name: torch.cat([part.points[name] for part in parts])
            for name in parts[0].points
        },
    )


def build(
    stream: EventStream, operator: Operator, settings: Mapping[str, Any]
) -> OfficialDyGFormer:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the events (the model learns one embedding for each of its nodes).
        operator: the normalisation of the attention weights.
        settings: ``width``, ``time_dim``, ``channel``, ``length``, ``patch``,
            ``layers``, ``heads`` and ``dropout``.

    Raises:
        UserError: if ``patch`` does not divide ``length``, or ``heads`` the four
            channels together.
    """
    _check(settings["patch"], "patch", settings["length"], "length")
    _check(settings["heads"], "heads", CHANNELS * settings["channel"], "4 * channel")
    return OfficialDyGFormer(stream.nodes, operator, **settings)


def _check(value: int, name: str, whole: int, of: str) -> None:
    if whole % value:
        raise UserError(
            f"models.dygformer-official.{name}: {value} does not divide {of} = "
            f"{whole}; choose a number that does"
        )

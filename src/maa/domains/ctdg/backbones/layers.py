"""What the backbones share: their interface, and attention over a source's history."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from maa.attention import Operator, log_norms
from maa.domains.ctdg.batches import Batch, collect
from maa.domains.ctdg.stream import EventStream
from maa.dropout import dropout


@dataclass(frozen=True, eq=False)
class Reading:
    """What a model's trunk makes of a batch.

    Attributes:
        z: float [B, C, d], the tensor that the predictor reads.
        attention: for each attention layer whose rows belong to the candidates, its
            logits, float [B, C, k, n], and its mask, bool, broadcastable to them.
        keys: float [B, C, e], the numbers of valid keys.
        points: what lies between the attention's output and z, in order, each float
            [B, C, *], "attention" first and "z" last.
    """

    z: Tensor
    attention: list[tuple[Tensor, Tensor]]
    keys: Tensor
    points: dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Encoding:
    """A frozen model's view of a batch.

    Attributes:
        z: float [B, C, d], the representation at the predictor's input.
        coordinates: float [B, C, k], log||m||_1 and log||m||_p for each layer and head.
        keys: float [B, C, e], the numbers of valid keys.
        score: float [B, C].
    """

    z: Tensor
    coordinates: Tensor
    keys: Tensor
    score: Tensor


class Backbone(nn.Module, ABC):
    """A link predictor: a trunk that makes Z, and a predictor that reads Z alone."""

    @abstractmethod
    def read(self, batch: Batch) -> Reading:
        """Return Z, the attention logits and what lies between, for every candidate."""

    @abstractmethod
    def predict(self, z: Tensor) -> Tensor:
        """Return scores [B, C] from Z [B, C, d]."""

    def gather(
        self,
        stream: EventStream,
        rows: ArrayLike,
        destination: ArrayLike,
        history_rows: ArrayLike | None = None,
    ) -> Batch:
        """Gather what the model reads about event rows; arguments as in `collect`."""
        return collect(stream, rows, destination, history_rows)

    def forward(self, batch: Batch) -> Tensor:
        """Return the scores [B, C] of a batch's candidates, as logits."""
        return self.predict(self.read(batch).z)

    def encode(self, batch: Batch, p: float) -> Encoding:
        """Return Z, the normaliser's coordinates and the scores.

        Args:
            batch: the rows and candidates.
            p: the power of the second coordinate (the same for every operator, so that
                the arms of a comparison have the same coordinates).
        """
        reading = self.read(batch)
        shape = (*batch.destination.shape, -1)
        norms = [
            torch.stack(log_norms(logits, p, mask), dim=-1).reshape(shape)
            for logits, mask in reading.attention
        ]
        score = self.predict(reading.z)
        return Encoding(reading.z, torch.cat(norms, dim=-1), reading.keys, score)


class TimeEncoding(nn.Module):
    """Fixed sines and cosines of log1p(seconds) / frequency.

    The frequencies are exp(x) for equally spaced x from 0 to 6.

    Args:
        width: number of features, half of them sines; even.
    """

    frequencies: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        frequencies = torch.exp(torch.linspace(0, 6, width // 2))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, seconds: Tensor) -> Tensor:
        """Return features [..., width] of times [...] that are 0 or more."""
        angle = torch.log1p(seconds).unsqueeze(-1) / self.frequencies
        return torch.cat([angle.sin(), angle.cos()], dim=-1)


class HistoryAttention(nn.Module):
    """Multi-head attention of candidates over the tokens of their source's history.

    The operator alone turns logits and values into outputs; dropout acts on its
    weights.

    Keys and values are never formed. With few queries and many tokens a row it is
    cheaper to carry the query through the key's weights, q.(Wk x + bk) = (Wk'q).x +
    q.bk, and to project the weighted sum of the tokens x, sum b (Wv x + bv) =
    Wv (sum b x) + (sum b) bv.

    Args:
        width: width h of queries, tokens and outputs.
        heads: number of heads; divides ``width``.
        operator: the normalisation.
        dropout: probability of dropping a weight.
    """

    def __init__(
        self, width: int, heads: int, operator: Operator, dropout: float
    ) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.operator = operator.aggregator(heads, width, width)

    def forward(
        self, query: Tensor, tokens: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Attend.

        Args:
            query: float [B, C, h].
            tokens: float [B, H, h], finite everywhere.
            mask: bool [B, 1, H], true for valid tokens.

        Returns:
            The contexts [B, C, h], and the logits [B, C, heads, H].
        """
        logits = self._logits(query, tokens)
        context: Tensor = self.operator(
            logits,
            mask.unsqueeze(1),
            query,
            pool=lambda weights: self._context(weights, tokens),
            drop=lambda weights: dropout(weights, self.dropout, self.training),
        )
        return context, logits

    def _logits(self, query: Tensor, tokens: Tensor) -> Tensor:
        rows, _, width = query.shape
        size = width // self.heads
        asked = (self.query(query) / math.sqrt(size)).view(-1, self.heads, size)
        carried = asked.transpose(0, 1) @ self.key.weight.view(self.heads, size, width)
        carried = carried.transpose(0, 1).reshape(rows, -1, width)
        offset = (asked * self.key.bias.view(self.heads, size)).sum(-1)
        products = _Products.apply(carried, tokens)  # type: ignore[no-untyped-call]
        logits = torch.add(products, offset.view(rows, -1, 1))
        return logits.view(rows, -1, self.heads, tokens.shape[1])

    def _context(self, weights: Tensor, tokens: Tensor) -> Tensor:
        rows, _, width = tokens.shape
        size = width // self.heads
        pooled = torch.bmm(weights.flatten(1, 2), tokens).view(-1, self.heads, width)
        pooled = pooled.transpose(0, 1)
        values = self.value.weight.view(self.heads, size, width)
        context = (pooled @ values.transpose(1, 2)).transpose(0, 1)
        mass = weights.sum(-1).view(-1, self.heads, 1)
        context = context + mass * self.value.bias.view(self.heads, size)
        return context.reshape(rows, -1, width)


class _Products(torch.autograd.Function):
    """Scalar products [B, Q, H] of queries [B, Q, h] and tokens [B, H, h].

    Autograd's own gradient of the tokens would be laid out as [B, h, H] in memory, and
    adding that to their gradient from the context takes longer than the product.
    """

    @staticmethod
    def forward(ctx: Any, queries: Tensor, tokens: Tensor) -> Tensor:
        ctx.save_for_backward(queries, tokens)
        return torch.bmm(queries, tokens.transpose(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        queries, tokens = ctx.saved_tensors
        to_tokens = torch.bmm(gradient.transpose(1, 2), queries)
        return torch.bmm(gradient, tokens), to_tokens


def lay_out(tokens: Tensor, batch: Batch) -> Tensor:
    """Put the valid entries' tokens [T, h] into a history [B, H, h] of zeros."""
    rows, depth = batch.valid.shape
    laid = tokens.new_zeros(rows * depth, tokens.shape[-1])
    return laid.index_copy_(0, batch.slots, tokens).view(rows, depth, -1)


def valid_entries(values: Tensor, batch: Batch) -> Tensor:
    """Return the valid entries [T] of history values [B, H]."""
    return values.reshape(-1).index_select(0, batch.slots)

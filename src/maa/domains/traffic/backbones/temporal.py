"""Attention over the steps of a window, the boundary at which the operator acts."""

import math

import torch
from torch import Tensor, nn

from maa.attention import Operator
from maa.dropout import dropout


def step_encoding(steps: int, width: int) -> Tensor:
    """Return [T, h], sines and cosines of time that know the window's length (tAPE).

    The angle is ``position * 10000^(-2k / h) * h / T``.
    """
    position = torch.arange(steps, dtype=torch.float64).unsqueeze(1)
    powers = torch.arange(0, width, 2, dtype=torch.float64) / width
    angle = position * 10_000.0**-powers * (width / steps)
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return pairs[:, :width].float()


class TemporalAttention(nn.Module):
    """Multi-head self-attention of every sequence, without a causal mask.

    The projections of queries, keys and values are one, and heads are split off by one
    copy, so that all products are over contiguous matrices. The operator alone turns
    logits into weights; dropout acts on the weights.

    Args:
        width: width h of tokens and outputs.
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
        self.project = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.operator = operator.aggregator(heads, width, width)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Attend.

        Args:
            tokens: float [M, T, h].

        Returns:
            The outputs [M, T, h]; the logits and the weights, both [M, T, heads, T],
            the weights as they were applied (after dropout).
        """
        rows, steps, width = tokens.shape
        split = self.project(tokens).view(rows, steps, 3, self.heads, -1)
        heads = split.permute(2, 3, 0, 1, 4).contiguous()
        q, k, v = heads.view(3, self.heads * rows, steps, -1).unbind(0)
        scale = 1 / math.sqrt(q.shape[-1])
        logits = torch.bmm(q * scale, k.transpose(1, 2))
        logits = logits.view(self.heads, rows, steps, steps).permute(1, 2, 0, 3)
        applied = []

        def drop(weights: Tensor) -> Tensor:
            applied.append(self._drop(weights))
            return applied[0]

        def pool(weights: Tensor) -> Tensor:
            stacked = weights.permute(2, 0, 1, 3).reshape(-1, steps, steps)
            pooled = torch.bmm(stacked, v).view(self.heads, rows, steps, -1)
            return pooled.permute(1, 2, 0, 3).reshape(rows, steps, width)

        seen = torch.ones(1, 1, steps, dtype=torch.bool, device=tokens.device)
        context: Tensor = self.operator(logits, seen, tokens, pool=pool, drop=drop)
        return self.output(context), logits, applied[0]

    def _drop(self, weights: Tensor) -> Tensor:
        """Drop weights out, in the order in which they lie in memory."""
        if not self.training or self.dropout == 0:
            return weights
        stacked = weights.permute(2, 0, 1, 3)
        return dropout(stacked, self.dropout, True).permute(1, 2, 0, 3)

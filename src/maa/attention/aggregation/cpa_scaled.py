"""Cardinality-preserving attention, scaled (Zhang and Xie, IJCAI 2020)."""

import torch
from torch import Tensor, nn

from maa.attention.aggregation.base import Aggregator, Drop, Pool, key_counts
from maa.attention.lp import lp_normalize
from maa.operators import Operator


class ScaledCPA(Aggregator):
    """Softmax attention times psi(n), n the number of valid keys.

    psi(n) = W2 relu(n w1 + b1) + b2 is learned, one value a channel, and is n at first
    (w1 = 1, W2 = 1 / width, biases 0).

    Args:
        width: width of the output.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.ones(width))
        self.b1 = nn.Parameter(torch.zeros(width))
        self.w2 = nn.Parameter(torch.full((width, width), 1 / width))
        self.b2 = nn.Parameter(torch.zeros(width))

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the softmax weights [..., heads, n]."""
        return lp_normalize(logits, 1.0, mask)

    def forward(
        self, logits: Tensor, mask: Tensor, query: Tensor, pool: Pool, drop: Drop
    ) -> Tensor:
        """Aggregate."""
        output = super().forward(logits, mask, query, pool, drop)
        return output * self.scale(key_counts(logits, mask)[..., 0, :])

    def scale(self, count: Tensor) -> Tensor:
        """Return psi [..., width] of numbers of keys [..., 1]."""
        hidden = torch.relu(count * self.w1 + self.b1)
        return hidden @ self.w2.t() + self.b2


def build(operator: Operator, heads: int, width: int, query_width: int) -> ScaledCPA:
    """Return the aggregator of ``cpa-scaled``."""
    return ScaledCPA(width)

"""Cardinality-preserving attention, additive (Zhang and Xie, IJCAI 2020)."""

import torch
from torch import Tensor, nn

from maa.attention.aggregation.base import Aggregator, Drop, Pool
from maa.attention.lp import lp_normalize
from maa.operators import Operator


class AdditiveCPA(Aggregator):
    """Softmax attention plus w * (sum of the values), w learned and ones at first.

    Dropout acts on the softmax weights alone.

    Args:
        width: width of the output.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.ones(width))

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the softmax weights [..., heads, n]."""
        return lp_normalize(logits, 1.0, mask)

    def forward(
        self, logits: Tensor, mask: Tensor, query: Tensor, pool: Pool, drop: Drop
    ) -> Tensor:
        """Aggregate."""
        ones = mask.to(logits.dtype).expand_as(logits).contiguous()
        mean = super().forward(logits, mask, query, pool, drop)
        return mean + self.share * pool(ones)


def build(operator: Operator, heads: int, width: int, query_width: int) -> AdditiveCPA:
    """Return the aggregator of ``cpa-additive``."""
    return AdditiveCPA(width)

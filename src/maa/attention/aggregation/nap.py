"""Normalised attention pooling (Richter and Wattenhofer, 2020); discussed in 2.3."""

import torch
from torch import Tensor, nn

from maa.attention.aggregation.base import Aggregator, key_counts
from maa.operators import Operator


class NormalisedPooling(Aggregator):
    """Weights g (a - mean a) / (std a + 1e-3) + b over a row's valid logits a.

    g (1 at first) and b (0 at first) are learned, one a head. Weights can be negative,
    and a row's sum is n b. The deviation is the population's.

    Args:
        heads: number of heads.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.ones(heads, 1))
        self.offset = nn.Parameter(torch.zeros(heads, 1))

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights [..., heads, n]."""
        valid = mask.to(logits.dtype)
        count = key_counts(logits, mask).clamp(min=1.0)
        mean = (logits * valid).sum(-1, keepdim=True) / count
        centred = (logits - mean) * valid
        # The gradient of a square root at zero (one key, or equal logits) is infinite.
        variance = (centred.square().sum(-1, keepdim=True) / count).clamp(min=1e-12)
        standard = centred / (variance.sqrt() + 1e-3)
        return (self.slope * standard + self.offset) * valid


def build(
    operator: Operator, heads: int, width: int, query_width: int
) -> NormalisedPooling:
    """Return the aggregator of ``nap``."""
    return NormalisedPooling(heads)

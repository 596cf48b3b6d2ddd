"""Affine-scaled attention (Bae et al., arXiv 2602.23057); discussed in 2.3."""

import torch
from torch import Tensor, nn

from maa.attention.aggregation.base import Aggregator, key_counts
from maa.attention.lp import lp_normalize
from maa.operators import Operator

RHO = 0.9


class AffineScaled(Aggregator):
    """Weights alpha(x) softmax + (mean alpha - alpha(x)) / n.

    alpha(x) = clip(0.1 (W x + b) + 0.5, 0, 1) for each query and head; its mean is a
    running one over training batches, 0 at first and a constant to the gradient. A row
    adds up to that mean, and weights can be negative.

    Args:
        heads: number of heads.
        query_width: width of x, what asks.
    """

    mean: Tensor

    def __init__(self, heads: int, query_width: int) -> None:
        super().__init__()
        # The arms of a comparison share their initial weights: draw from no stream.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.strength = nn.Linear(query_width, heads)
        self.register_buffer("mean", torch.zeros(heads))

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights [..., heads, n]."""
        strength: Tensor = (0.1 * self.strength(query) + 0.5).clamp(0.0, 1.0)
        if self.training:
            rows = tuple(range(strength.dim() - 1))
            self.mean.lerp_(strength.detach().mean(rows), 1 - RHO)
        offset = (self.mean - strength).unsqueeze(-1) * mask
        softmax = lp_normalize(logits, 1.0, mask) * strength.unsqueeze(-1)
        return softmax + offset / key_counts(logits, mask).clamp(min=1.0)


def build(operator: Operator, heads: int, width: int, query_width: int) -> AffineScaled:
    """Return the aggregator of ``affine``."""
    return AffineScaled(heads, query_width)

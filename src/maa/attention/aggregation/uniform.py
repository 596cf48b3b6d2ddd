"""Softmax times the gain that mass-aware attention has on average: a control.

If a larger output alone explained what mass-aware attention changes, this would
change it too; it knows nothing of its input's mass. Not in the paper.
"""

import torch
from torch import Tensor

from maa.attention.aggregation.base import Aggregator
from maa.attention.lp import lp_gain, lp_normalize
from maa.operators import Operator

MEMORY = 100


class UniformScale(Aggregator):
    """Softmax times E[g_p], one number a head.

    The expectation is over the model's own attention: the mean of the first batches,
    then a running mean over about the last `MEMORY` ones. It is a constant to the
    gradient, and frozen after training.

    Args:
        p: the order whose gain is averaged.
        heads: number of heads.
    """

    gain: Tensor
    batches: Tensor

    def __init__(self, p: float, heads: int) -> None:
        super().__init__()
        self.p = p
        self.register_buffer("gain", torch.ones(heads))
        self.register_buffer("batches", torch.zeros(1))

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the scaled softmax weights [..., heads, n]."""
        if self.training:
            self._observe(logits.detach(), mask)
        return lp_normalize(logits, 1.0, mask) * self.gain.clone().unsqueeze(-1)

    @torch.no_grad()
    def _observe(self, logits: Tensor, mask: Tensor) -> None:
        """Average over rows with a valid key; others have no gain to speak of."""
        found = mask.any(-1).expand(logits.shape[:-1]).to(logits.dtype)
        rows = tuple(range(found.dim() - 1))
        total = (lp_gain(logits, self.p, mask) * found).sum(rows)
        mean = total / found.sum(rows).clamp(min=1.0)
        rate = 1 / (self.batches + 1).clamp(max=MEMORY)
        self.gain.lerp_(torch.where(found.sum(rows) > 0, mean, self.gain), rate)
        self.batches += 1


def build(operator: Operator, heads: int, width: int, query_width: int) -> UniformScale:
    """Return the aggregator of ``p1.10-uniform``."""
    return UniformScale(operator.p, heads)

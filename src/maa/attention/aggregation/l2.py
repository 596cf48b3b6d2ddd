"""Mass-aware attention whose output has length one (paper 5.2, Fig. 9)."""

import math

import torch.nn.functional as F
from torch import Tensor

from maa.attention.aggregation.base import Aggregator, Drop, Pool
from maa.attention.lp import log_norms, lp_normalize
from maa.operators import Operator


class L2Normalised(Aggregator):
    """The aggregate over its Euclidean norm, heads taken together.

    What the whole output is multiplied by drops out, so only the heads' scales
    relative to each other are applied to m. With a single head that is exactly one
    whatever p is, and all p are the same function bit by bit.

    Args:
        p: order of the norm.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return m / ||m||_p up to a factor that the heads of a query share."""
        _, second = log_norms(logits, self.p, mask)
        shared = second.amin(-1, keepdim=True)
        relative = (shared - second).exp().unsqueeze(-1)
        return lp_normalize(logits, math.inf, mask) * relative

    def forward(
        self, logits: Tensor, mask: Tensor, query: Tensor, pool: Pool, drop: Drop
    ) -> Tensor:
        """Aggregate and normalise; zero where a query has no valid key."""
        output = super().forward(logits, mask, query, pool, drop)
        return F.normalize(output, dim=-1, eps=1e-12)


def build(operator: Operator, heads: int, width: int, query_width: int) -> L2Normalised:
    """Return the aggregator of ``p1.10-l2``."""
    return L2Normalised(operator.p)

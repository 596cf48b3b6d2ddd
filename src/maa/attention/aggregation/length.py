"""Softmax times the largest gain that its number of keys allows: a control.

n^(1 - 1/p) is the upper bound of eq. 5: it counts keys and does not look at the
attention. Not in the paper.
"""

from torch import Tensor

from maa.attention.aggregation.base import Aggregator, key_counts
from maa.attention.lp import lp_normalize
from maa.operators import Operator


class LengthScale(Aggregator):
    """Softmax times n^(1 - 1/p), n the number of valid keys.

    Args:
        p: order of the norm whose bound is taken.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.exponent = 1 - 1 / p

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the scaled softmax weights [..., heads, n]."""
        scale = key_counts(logits, mask) ** self.exponent
        return lp_normalize(logits, 1.0, mask) * scale


def build(operator: Operator, heads: int, width: int, query_width: int) -> LengthScale:
    """Return the aggregator of ``p1.10-length``."""
    return LengthScale(operator.p)

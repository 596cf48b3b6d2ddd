"""Mass-aware attention: weights divided by their p-norm (paper, eq. 3)."""

from torch import Tensor

from maa.attention.aggregation.base import Aggregator
from maa.attention.lp import lp_normalize
from maa.operators import Operator


class MassAware(Aggregator):
    """Weights m / ||m||_p; p = 1 is softmax, by the same operations.

    A schedule moves p linearly over the epochs (paper 5.2 names the end points only).

    Args:
        p: order of the norm after training.
        start: order in the first epoch; None for the same throughout.
    """

    def __init__(self, p: float, start: float | None = None) -> None:
        super().__init__()
        self.p = self.last = p
        self.first = p if start is None else start

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights [..., heads, n]."""
        return lp_normalize(logits, self.p, mask)

    def anneal(self, progress: float) -> None:
        """Set p; the last epoch has exactly the order that evaluation has."""
        if progress < 1 and self.first != self.last:
            self.p = self.first + (self.last - self.first) * progress
        else:
            self.p = self.last


def build(operator: Operator, heads: int, width: int, query_width: int) -> MassAware:
    """Return the aggregator of ``p1.10`` or ``p2.00to1.10``."""
    return MassAware(operator.p, operator.start)

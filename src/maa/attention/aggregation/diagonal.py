"""Regularisers of a row's own key, the diagonal of self-attention (diagonal sink, A2).

Before softmax, or the p-norm in its place. The released code and the text of the paper
differ in what dropout is; both are here:

- ``mask``: a row never sees its own key;
- ``dropout``: in training, positions of a random set lose their own key, and what is
  left is normalised; one draw a layer and step, for all rows (released code);
- ``dropout-weights``: in training, each diagonal weight is dropped out by itself, after
  normalising, and otherwise scaled up (text);
- ``penalty``: the own key's logit is lowered by a constant.
"""

import torch
from torch import Tensor

from maa.attention.aggregation.base import Aggregator
from maa.attention.lp import lp_normalize
from maa.errors import UserError
from maa.operators import Operator


class Diagonal(Aggregator):
    """Weights m / ||m||_p of rows whose own key is treated apart.

    Rows are those of self-attention: logits [..., T, heads, T].

    Args:
        name: the operator's name, for errors.
        p: order of the norm.
    """

    def __init__(self, name: str, p: float) -> None:
        super().__init__()
        self.name = name
        self.p = p

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights [..., T, heads, T]."""
        return lp_normalize(logits, self.p, mask)

    def own(self, logits: Tensor) -> Tensor:
        """Return bool [T, 1, T], true where a row meets its own key.

        Raises:
            UserError: if there are not as many rows as keys.
        """
        keys = logits.shape[-1]
        if logits.dim() < 3 or logits.shape[-3] != keys:
            raise UserError(
                f"the operator {self.name} treats a row's own key apart and needs "
                f"self-attention, but rows have the shape {list(logits.shape)}; take "
                "an operator without 'diagonal' here, such as p1.00"
            )
        return torch.eye(keys, dtype=torch.bool, device=logits.device).unsqueeze(1)


class Masked(Diagonal):
    """No row sees its own key."""

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights; 0 on the diagonal."""
        return lp_normalize(logits, self.p, mask & ~self.own(logits))


class Penalised(Diagonal):
    """Each row's own key has a logit that is lower by ``strength``."""

    def __init__(self, name: str, p: float, strength: float) -> None:
        super().__init__(name, p)
        self.strength = strength

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights."""
        lowered = logits - self.strength * self.own(logits).to(logits.dtype)
        return lp_normalize(lowered, self.p, mask)


class Drawn(Diagonal):
    """What is random on the diagonal while training.

    Args:
        name: the operator's name.
        p: order of the norm.
        strength: probability of dropping.
    """

    def __init__(self, name: str, p: float, strength: float) -> None:
        super().__init__(name, p)
        self.strength = strength
        self._source = torch.Generator()

    def draw(self, generator: torch.Generator) -> None:
        """Take a new seed for the coming step from a stream of its own."""
        seed = torch.randint(2**62, (1,), generator=generator)
        self._source.manual_seed(int(seed))


class LogitDropout(Drawn):
    """Positions of a random set lose their own key, the same for a whole step."""

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights; they are plain ones in evaluation."""
        own = self.own(logits)
        if not self.training:
            return super().weights(logits, mask, query)
        return lp_normalize(logits, self.p, mask & ~(own & self._dropped(own)))

    def _dropped(self, own: Tensor) -> Tensor:
        # A step that is taken in slices meets the same set in each of them.
        source = self._source.clone_state()
        dropped = torch.rand(own.shape[-1], generator=source) < self.strength
        return dropped.to(own.device)[:, None, None]


class WeightDropout(Drawn):
    """Each weight on the diagonal is dropped by itself; the others are scaled up."""

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights; they are plain ones in evaluation."""
        own = self.own(logits)
        weights = super().weights(logits, mask, query)
        if not self.training:
            return weights
        shape = weights.shape[:-1]
        kept = torch.rand(shape, generator=self._source) >= self.strength
        factor = kept.to(weights) / (1 - self.strength)
        return torch.where(own, weights * factor.unsqueeze(-1), weights)


def build(operator: Operator, heads: int, width: int, query_width: int) -> Diagonal:
    """Return the aggregator of ``diagonal-mask``, ``diagonal-penalty0.10``, ..."""
    name, p = operator.name, operator.p
    match operator.diagonal:
        case "mask":
            return Masked(name, p)
        case "penalty":
            return Penalised(name, p, operator.strength)
        case "dropout":
            return LogitDropout(name, p, operator.strength)
        case "dropout-weights":
            return WeightDropout(name, p, operator.strength)
    raise ValueError(f"{name} names no regulariser of the diagonal")

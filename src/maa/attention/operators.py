"""Operators by name: what a run's configuration calls them."""

import re
from dataclasses import dataclass

from torch import Tensor

from maa.attention.lp import lp_normalize
from maa.errors import UserError

_NAME = re.compile(r"p(?:(?P<p>[1-9][0-9]*\.[0-9]{2})|inf)")


@dataclass(frozen=True)
class Operator:
    """How a backbone turns a row of logits into weights.

    Attributes:
        name: the name in the configuration and in paths, such as ``p1.10``.
        p: order of the norm, in [1, inf].
    """

    name: str
    p: float

    def weights(self, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the weights over the last dimension; see `maa.attention.lp_normalize`.

        Args:
            logits: ``[..., n]``, floating point.
            mask: bool, broadcastable to ``logits``; True marks a valid key.
        """
        return lp_normalize(logits, self.p, mask)


def parse_operator(name: str) -> Operator:
    """Return the operator called ``name``: ``p1.00`` (softmax), ``p1.10``, ``pinf``.

    Raises:
        UserError: if no operator is called that.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise UserError(
            f"operator {name!r} is unknown; expected 'p' and a number of at least 1 "
            "with exactly two decimals, such as 'p1.00' or 'p1.10', or 'pinf'"
        )
    return Operator(name, float(match["p"] or "inf"))

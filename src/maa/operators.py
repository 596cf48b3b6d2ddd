"""Operators by name: what a run's configuration calls its aggregation of evidence.

Names and orders only, without PyTorch, so that a workflow can be planned with them.
What an operator does stands in the module of its kind, in `maa.attention.aggregation`.
"""

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from maa.errors import UserError

if TYPE_CHECKING:
    from maa.attention.aggregation.base import Aggregator

_ORDER = r"(?:[1-9][0-9]*\.[0-9]{2}|inf)"
_NAMED = re.compile(
    rf"p(?:(?P<start>{_ORDER})to)?(?P<p>{_ORDER})(?P<variant>-[a-z0-9]+)?"
)
_DIAGONAL = re.compile(
    rf"(?:p(?P<p>{_ORDER})-)?diagonal-"
    r"(?:(?P<mask>mask)|(?P<part>dropout|dropout-weights|penalty)(?P<by>[0-9]\.[0-9]{2}))"
)
VARIANTS = {"": "norm", "-l2": "l2", "-uniform": "uniform", "-length": "length"}
OTHERS = {
    "cpa-additive": "cpa_additive",
    "cpa-scaled": "cpa_scaled",
    "nap": "nap",
    "affine": "affine",
    "sigmoid": "sigmoid",
}


@dataclass(frozen=True)
class Operator:
    """How a backbone turns rows of logits and values into outputs.

    Attributes:
        name: the name in the configuration and in paths, such as ``p1.10``.
        kind: the module in `maa.attention.aggregation` that computes it.
        p: order of the norm in [1, inf], at the end of training and after it; 1 for
            operators without one.
        start: order of the norm in the first epoch; None if it does not change.
        diagonal: what is done to a row's own key: ``mask``, ``dropout``,
            ``dropout-weights``, ``penalty``, or nothing (the empty string).
        strength: the probability of dropping, or how far a logit is lowered.
    """

    name: str
    kind: str
    p: float = 1.0
    start: float | None = None
    diagonal: str = ""
    strength: float = 0.0

    def aggregator(self, heads: int, width: int, query_width: int) -> "Aggregator":
        """Return the module that does it, its parameters initialised.

        PyTorch's global random stream is left where it was.

        Args:
            heads: attention heads.
            width: width of the output, all heads side by side.
            query_width: width of what asks, before any projection.
        """
        module = import_module(f"maa.attention.aggregation.{self.kind}")
        built: Aggregator = module.build(self, heads, width, query_width)
        return built


def parse_operator(name: str) -> Operator:
    """Return the operator called ``name``.

    ``p1.00`` is softmax, ``p1.10`` mass-aware attention, ``pinf`` the limit;
    ``p2.00to1.10`` moves p from the first epoch to the last; ``p1.10-l2`` normalises
    the output, ``p1.10-uniform`` and ``p1.10-length`` are softmax with a scale that
    p = 1.1 would have on average and at most; the others are named in `OTHERS`.
    ``diagonal-mask``, ``diagonal-dropout0.20``, ``diagonal-dropout-weights0.20`` and
    ``diagonal-penalty0.10`` regularise a row's own key in self-attention, with p = 1
    or, as in ``p1.10-diagonal-mask``, another one.

    Raises:
        UserError: if no operator is called that.
    """
    if name in OTHERS:
        return Operator(name, OTHERS[name])
    if diagonal := _DIAGONAL.fullmatch(name):
        return _of_diagonal(name, diagonal)
    match = _NAMED.fullmatch(name)
    if match is None or not _known(**match.groupdict()):
        raise UserError(
            f"operator {name!r} is unknown; expected 'p' and a number of at least 1 "
            "with exactly two decimals, such as 'p1.00' or 'p1.10', or 'pinf', perhaps "
            f"with {', '.join(filter(None, VARIANTS))}, a schedule such as "
            f"'p2.00to1.10', one of {', '.join(OTHERS)}, or a regulariser of the "
            "diagonal, such as 'diagonal-mask' or 'p1.10-diagonal-dropout0.20'"
        )
    start = None if match["start"] is None else float(match["start"])
    return Operator(name, VARIANTS[match["variant"] or ""], float(match["p"]), start)


def _known(start: str | None, p: str, variant: str | None) -> bool:
    """Tell whether the parts of a name go together; a schedule is of plain numbers."""
    if start is not None:
        return variant is None and "inf" not in (start, p)
    return (variant or "") in VARIANTS


def _of_diagonal(name: str, match: re.Match[str]) -> Operator:
    part, strength = match["part"] or "mask", float(match["by"] or 0)
    if part.startswith("dropout") and strength >= 1:
        raise UserError(
            f"operator {name!r} drops with probability {match['by']}; expected one "
            "below 1, such as 0.20"
        )
    order = float(match["p"] or 1)
    return Operator(name, "diagonal", order, diagonal=part, strength=strength)

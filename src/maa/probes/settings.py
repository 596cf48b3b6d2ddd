"""The probes' settings and their checks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from maa.errors import UserError


@dataclass(frozen=True)
class ProbeSettings:
    """How the probes are fitted. The paper gives none of it; these are our choices.

    Attributes:
        train_fraction: share of the queries, the first in time, that fits the probes;
            the rest scores them. In (0, 1).
        ridge_alpha: penalty of the ridge regression on standardised inputs, >= 0.
        trees: number of extremely randomised trees, at least 1.
        min_samples_leaf: fewest queries in a leaf, at least 1.
        max_features: inputs tried at each split: "sqrt", "log2" or a share in (0, 1].
        joint: one forest for all targets, standardised so that each weighs the same
            in the choice of a split; or else one forest a target.
        forest: whether the trees are grown at all; the linear probe always is.
    """

    train_fraction: float = 0.7
    ridge_alpha: float = 1.0
    trees: int = 14
    min_samples_leaf: int = 5
    max_features: float | str = 0.333
    joint: bool = False
    forest: bool = True


def parse_settings(values: Mapping[str, Any]) -> ProbeSettings:
    """Return the settings in ``values``; what is absent keeps its default.

    Raises:
        UserError: for a key that is unknown or a value out of its range.
    """
    known = [field.name for field in fields(ProbeSettings)]
    for key, value in values.items():
        if key not in known:
            raise UserError(
                f"probe setting {key!r} is unknown; expected one of {', '.join(known)}"
            )
        expected = _problem(key, value)
        if expected:
            raise UserError(f"probe setting {key} is {value!r}; expected {expected}")
    return ProbeSettings(**values)


def _problem(key: str, value: Any) -> str | None:
    """What was expected of ``value``, if it is not that."""
    if key in ("joint", "forest"):
        return None if isinstance(value, bool) else "true or false"
    if key in ("trees", "min_samples_leaf"):
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        return None if whole else "a whole number of at least 1"
    if key == "max_features" and isinstance(value, str):
        return None if value in ("sqrt", "log2") else "'sqrt', 'log2' or a share"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "a number"
    if key == "ridge_alpha":
        return None if 0 <= value < math.inf else "a number of at least 0"
    if key == "train_fraction":
        return None if 0 < value < 1 else "a share between 0 and 1, both excluded"
    return None if 0 < value <= 1 else "a share above 0 and up to 1, as 0.33 or 1.0"

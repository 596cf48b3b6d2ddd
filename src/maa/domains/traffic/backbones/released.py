"""The forecaster as released: its graph step scales sensors and mixes none."""

from collections.abc import Mapping
from typing import Any

from maa.attention import Operator
from maa.domains.traffic.backbones.adaptive import Diagonal
from maa.domains.traffic.backbones.layers import Forecaster, assemble
from maa.domains.traffic.series import Series


def build(
    stream: Series, operator: Operator, settings: Mapping[str, Any]
) -> Forecaster:
    """Return an untrained model; arguments are those of `assemble`."""
    return assemble(stream, operator, settings, Diagonal)

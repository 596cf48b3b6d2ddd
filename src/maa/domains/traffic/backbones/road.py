"""The forecaster on the road graph: sensors are mixed along given roads."""

from collections.abc import Mapping
from typing import Any

from maa.attention import Operator
from maa.domains.traffic.backbones.layers import Forecaster, assemble
from maa.domains.traffic.backbones.roads import Road
from maa.domains.traffic.series import Series


def build(
    stream: Series, operator: Operator, settings: Mapping[str, Any]
) -> Forecaster:
    """Return an untrained model; arguments are those of `assemble`."""
    return assemble(stream, operator, settings, Road)

"""The forecaster on the road graph: sensors are mixed along given roads."""

from collections.abc import Mapping
from typing import Any

from maa.attention import Operator
from maa.domains.traffic.backbones.layers import Architecture, Forecaster
from maa.domains.traffic.backbones.roads import Road
from maa.domains.traffic.series import Series


def build(
    stream: Series, operator: Operator, settings: Mapping[str, Any]
) -> Forecaster:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the series, for its roads and the length of its windows.
        operator: the normalisation of the temporal attention.
        settings: as in `Architecture`, whose ``embedding`` is not used.
    """
    shape = Architecture(**settings)

    def step() -> Road:
        return Road(shape.hidden, stream.weights)

    lengths = stream.input_length, stream.output_length
    return Forecaster(*lengths, operator, shape, step)

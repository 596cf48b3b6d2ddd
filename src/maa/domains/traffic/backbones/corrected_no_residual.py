"""The corrected forecaster without temporal residual (variant a of Table 1)."""

from collections.abc import Mapping
from typing import Any

from maa.attention import Operator
from maa.domains.traffic.backbones.adaptive import Learned
from maa.domains.traffic.backbones.layers import Architecture, Forecaster
from maa.domains.traffic.series import Series


def build(
    stream: Series, operator: Operator, settings: Mapping[str, Any]
) -> Forecaster:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the series, for its sensors and the length of its windows.
        operator: the normalisation of the temporal attention.
        settings: as in `Architecture`.
    """
    shape = Architecture(**settings)

    def step() -> Learned:
        return Learned(shape.hidden, stream.sensors, shape.embedding)

    lengths = stream.input_length, stream.output_length
    return Forecaster(*lengths, operator, shape, step, residual=False)

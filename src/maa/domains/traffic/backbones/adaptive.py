"""Graph steps on learned transitions: as released, and as meant."""

from typing import Self

import torch
from torch import Tensor, nn

from maa.domains.traffic.backbones.graph import TERMS, GraphStep, Hop, Mixing
from maa.domains.traffic.series import Series


class _Adaptive(GraphStep):
    """Learned transitions: softmax over rows of ReLU(E1 E2') and ReLU(E2 E1').

    Args:
        width: width h.
        sensors: number N of sensors.
        embedding: width of a sensor's embedding.
    """

    def __init__(self, width: int, sensors: int, embedding: int) -> None:
        super().__init__(width)
        self.first = nn.Parameter(torch.randn(sensors, embedding))
        self.second = nn.Parameter(torch.randn(sensors, embedding))

    @classmethod
    def of(cls, series: Series, width: int, embedding: int) -> Self:
        """Return the step for a series' sensors."""
        return cls(width, series.sensors, embedding)

    def transitions(self) -> tuple[Tensor, Tensor]:
        """Return F and B, [N, N], rows summing to one."""
        affinity = torch.relu(self.first @ self.second.T)
        return affinity.softmax(dim=1), affinity.T.softmax(dim=1)


class Diagonal(_Adaptive):
    """The step of the released code: sensors are scaled, not mixed.

    Its contraction takes ``diag(A) * x`` where ``A x`` is meant. A second hop is taken
    as the same contraction once more, so every term is x times a number of the sensor,
    and the five of them are one matrix [h, h] a sensor.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Scale sensors."""
        along, against = (matrix.diagonal() for matrix in self.transitions())
        ones = torch.ones_like(along)
        factors = torch.stack([ones, along, along**2, against, against**2], dim=1)
        width = x.shape[-1]
        weights = (factors @ self.parts.reshape(TERMS, -1)).view(-1, width, width)
        bias = self.merge.bias.view(1, 1, -1)
        return torch.baddbmm(bias, x, weights.transpose(1, 2))


class Learned(_Adaptive, Mixing):
    """The step as it is meant: A x, with learned transitions."""

    def hops(self) -> tuple[Hop, Hop]:
        """Return the transitions of this moment."""
        along, against = self.transitions()
        return _Hop(along), _Hop(against)


class _Hop:
    """One step along a dense transition matrix [N, N]."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def __call__(self, x: Tensor) -> Tensor:
        return (self.matrix @ x.reshape(len(x), -1)).view(x.shape)

"""What passes between sensors: three readings of the graph step.

The step concatenates [x, F x, F^2 x, B x, B^2 x] and maps that back to the width, with
F and B the transitions along and against the graph. Each class computes the same map
without the concatenation, which would be five times as wide as x.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.nn import SimpleConv

Hop = Callable[[Tensor], Tensor]
TERMS = 5  # x, and one and two hops in both directions


class GraphStep(nn.Module, ABC):
    """A linear map of the terms [x, F x, F^2 x, B x, B^2 x].

    Args:
        width: width h of x and of the output.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.merge = nn.Linear(TERMS * width, width)

    @property
    def parts(self) -> Tensor:
        """The map's weights by term, [TERMS, h, h], as `torch.nn.functional.linear`."""
        width = self.merge.out_features
        return self.merge.weight.view(width, TERMS, width).transpose(0, 1)

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Return [N, R, h] of [N, R, h]: R rows (windows and steps) of N sensors."""


class _Mixing(GraphStep):
    """Horner's rule: out = U0 + F (U1 + F U2) + B (U3 + B U4) with Uk = x Wk'."""

    def forward(self, x: Tensor) -> Tensor:
        """Mix sensors."""
        u = [F.linear(x, weight) for weight in self.parts]
        along, against = self.hops()
        mixed = u[0] + along(u[1] + along(u[2])) + against(u[3] + against(u[4]))
        return mixed + self.merge.bias

    @abstractmethod
    def hops(self) -> tuple[Hop, Hop]:
        """Return the two transitions, each of [N, R, h] to the same."""


class _Hop:
    """One step along a dense transition matrix [N, N]."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def __call__(self, x: Tensor) -> Tensor:
        return (self.matrix @ x.reshape(len(x), -1)).view(x.shape)


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


class Learned(_Adaptive, _Mixing):
    """The step as it is meant: A x, with learned transitions."""

    def hops(self) -> tuple[Hop, Hop]:
        """Return the transitions of this moment."""
        along, against = self.transitions()
        return _Hop(along), _Hop(against)


class _SparseHop:
    """One step along fixed roads, by torch-geometric's convolution."""

    def __init__(self, matrix: Tensor) -> None:
        self.convolve = SimpleConv(aggr="sum")
        self.matrix = matrix

    def __call__(self, x: Tensor) -> Tensor:
        hopped: Tensor = self.convolve(x.reshape(len(x), -1), self.matrix)
        return hopped.view(x.shape)


class Road(_Mixing):
    """The step on the road graph, whose weights are given: nothing is learned of it.

    Args:
        width: width h.
        weights: float [N, N], how near sensors are; rows are divided by their sum.
    """

    along: Tensor
    against: Tensor

    def __init__(self, width: int, weights: NDArray[Any]) -> None:
        super().__init__(width)
        graph = torch.from_numpy(weights)
        for name, matrix in (("along", graph), ("against", graph.T)):
            rows = matrix / matrix.sum(1, keepdim=True).clamp(min=1e-12)
            self.register_buffer(name, rows, persistent=False)

    def hops(self) -> tuple[Hop, Hop]:
        """Return the transitions along and against the roads."""
        along, against = self.along.to_sparse_csr(), self.against.to_sparse_csr()
        return _SparseHop(along), _SparseHop(against)

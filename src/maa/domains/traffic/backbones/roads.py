"""The graph step on given roads."""

import warnings
from typing import Any, Self

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.nn import SimpleConv

from maa.domains.traffic.backbones.graph import Hop, Mixing
from maa.domains.traffic.series import Series


class _SparseHop:
    """One step along fixed roads, by torch-geometric's convolution."""

    def __init__(self, matrix: Tensor) -> None:
        self.convolve = SimpleConv(aggr="sum")
        self.matrix = matrix

    def __call__(self, x: Tensor) -> Tensor:
        hopped: Tensor = self.convolve(x.reshape(len(x), -1), self.matrix)
        return hopped.view(x.shape)


class Road(Mixing):
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
            self.register_buffer(name, _sparse(rows), persistent=False)

    @classmethod
    def of(cls, series: Series, width: int, embedding: int) -> Self:
        """Return the step on a series' roads; nothing is embedded."""
        return cls(width, series.weights)

    def hops(self) -> tuple[Hop, Hop]:
        """Return the transitions along and against the roads."""
        return _SparseHop(self.along), _SparseHop(self.against)


def _sparse(matrix: Tensor) -> Tensor:
    """Return a matrix in the one sparse layout whose products are fast on a CPU."""
    with warnings.catch_warnings():
        # PyTorch calls all of this layout "in beta state", once a process.
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return matrix.to_sparse_csr()

"""What passes between sensors: the graph step, without its concatenation.

The step concatenates [x, F x, F^2 x, B x, B^2 x] and maps that back to the width, with
F and B the transitions along and against the graph. Each class computes the same map
without the concatenation, which would be five times as wide as x.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

import torch.nn.functional as F
from torch import Tensor, nn

from maa.domains.traffic.series import Series

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

    @classmethod
    @abstractmethod
    def of(cls, series: Series, width: int, embedding: int) -> Self:
        """Return the step for a series' sensors.

        Args:
            series: the data that the model is trained on.
            width: width h.
            embedding: width of a sensor's embedding, where the graph is learned.
        """

    @property
    def parts(self) -> Tensor:
        """The map's weights by term, [TERMS, h, h], as `torch.nn.functional.linear`."""
        width = self.merge.out_features
        return self.merge.weight.view(width, TERMS, width).transpose(0, 1)

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Return [N, R, h] of [N, R, h]: R rows (windows and steps) of N sensors."""


class Mixing(GraphStep):
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

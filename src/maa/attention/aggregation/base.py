"""What an operator is to a backbone: from logits and values to an output."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

Pool = Callable[[Tensor], Tensor]
Drop = Callable[[Tensor], Tensor]


class Aggregator(nn.Module, ABC):
    """Turns each query's rows of logits into weights, and these into an output."""

    @abstractmethod
    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights, of the shape of ``logits``; zero where ``mask`` is."""

    def forward(
        self, logits: Tensor, mask: Tensor, query: Tensor, pool: Pool, drop: Drop
    ) -> Tensor:
        """Aggregate.

        Args:
            logits: float [..., heads, n].
            mask: bool, broadcastable to ``logits``; True marks a valid key.
            query: float [..., query_width], what asks, before its projection.
            pool: sums values, weights [..., heads, n] to outputs [..., width], the
                heads side by side; linear in the weights.
            drop: dropout on weights, which comes before the sum.

        Returns:
            float [..., width].
        """
        return pool(drop(self.weights(logits, mask, query)))

    def anneal(self, progress: float) -> None:
        """Move to a point of the training, from 0 (first epoch) to 1 (last).

        Most operators are the same throughout.
        """

    def draw(self, generator: torch.Generator) -> None:
        """Draw anew for a step of training; most operators have nothing random."""


def anneal(model: nn.Module, progress: float) -> None:
    """Move all operators in a model to a point of the training, from 0 to 1."""
    for module in model.modules():
        if isinstance(module, Aggregator):
            module.anneal(progress)


def draw(model: nn.Module, generator: torch.Generator) -> None:
    """Have all operators in a model draw anew for a step of training."""
    for module in model.modules():
        if isinstance(module, Aggregator):
            module.draw(generator)


def key_counts(logits: Tensor, mask: Tensor) -> Tensor:
    """Return the number n of valid keys, float, broadcastable to ``logits``."""
    return mask.sum(-1, keepdim=True).to(logits.dtype)

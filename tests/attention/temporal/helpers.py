"""What the tests of temporal attention share."""

import math

import torch
from torch import Tensor

from maa.attention.temporal.layer import Layer

STEPS = 6


def layer(
    seed: int,
    heads: int = 1,
    width: int = 5,
    biased: bool = False,
    p: float = 1.0,
    residual: bool = True,
) -> Layer:
    """A random layer in double precision, whose key width is 3."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(heads, *shape, generator=generator, dtype=torch.float64)

    biases = (draw(3), draw(3), draw(width), draw(width)[0]) if biased else ()
    matrices = draw(3, width), draw(3, width), draw(width, width)
    return Layer(*matrices, *biases, p=p, residual=residual)


def sequence(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def biases(steps: int = STEPS) -> dict[str, Tensor | None]:
    """What may be added to logits: nothing, a penalty, masks."""
    eye = torch.eye(steps, dtype=torch.bool)
    zero = torch.zeros(steps, steps, dtype=torch.float64)
    later = torch.ones(steps, steps, dtype=torch.bool).triu(1)
    return {
        "plain": None,
        "penalty": zero.masked_fill(eye, -1.5),
        "mask": zero.masked_fill(eye, -math.inf),
        "causal": zero.masked_fill(later, -math.inf),
        "causal and mask": zero.masked_fill(later | eye, -math.inf),
    }

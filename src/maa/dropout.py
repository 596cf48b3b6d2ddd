"""Dropout that is cheap on a CPU: four entries share one random word."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Return ``x`` with a share ``p`` of its entries dropped and the rest scaled up.

    On CPU torch draws a float for each entry; here four entries share one random word,
    and ``p`` is rounded to 1/65536.
    """
    if not training or p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p, training)
    dropped = round(p * 2**16)
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64)
    bits = words.random_(-(2**63), None).view(torch.int16)[: x.numel()]
    scale = 2**16 / (2**16 - dropped)
    # Above zero for a word of at least `dropped`; whole numbers, so exact.
    kept = bits.to(x.dtype).sub_(dropped - 2**15 - 1).mul_(scale).clamp_(0, scale)
    return x * kept.view(x.shape)


class Dropout(nn.Module):
    """`dropout` as a layer.

    Args:
        p: probability of dropping an entry.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Drop entries while training."""
        return dropout(x, self.p, self.training)

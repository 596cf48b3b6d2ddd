"""What the tests of attention rows share."""

import torch
from torch import Tensor


def mask(size: int, *keys: int) -> Tensor:
    """A bool mask of some keys."""
    return torch.zeros(size, dtype=torch.bool).index_fill(0, torch.tensor(keys), True)


def close(first: Tensor, second: Tensor | float, tolerance: float = 1e-9) -> None:
    other = torch.as_tensor(second, dtype=first.dtype).expand_as(first)
    torch.testing.assert_close(first, other, rtol=tolerance, atol=tolerance)

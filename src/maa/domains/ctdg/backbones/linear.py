"""A linear map of many rows that takes the faster of PyTorch's matrix products.

PyTorch hands single-precision products to a library that may leave half of the
processor's vector width unused, and convolutions to one that compiles kernels for the
processor it runs on. A 1 x 1 convolution is a linear map; PyTorch sends one to the
second library if it has 16 images or more.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS = 16
"""`linear_map` is fast for a multiple of so many rows."""

ENOUGH = 512
"""Fewer rows are not worth the detour."""


def linear_map(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x W' + b, [T, out], fast on one thread if T is a multiple of 16.

    Kernels are compiled for each number of rows, once: it is best to meet few.

    Args:
        x: [T, in].
        weight: [out, in].
        bias: [out], or None.
    """
    single = x.device.type == "cpu" and x.dtype == torch.float32
    if not single or len(x) % ROWS or len(x) < ENOUGH:
        return F.linear(x, weight, bias)
    # [16, in, 1, T / 16] with the features last in memory: no copy.
    images = x.contiguous().view(ROWS, 1, -1, x.shape[1]).permute(0, 3, 1, 2)
    mapped = F.conv2d(images, weight[:, :, None, None], bias).permute(0, 2, 3, 1)
    return mapped.reshape(len(x), len(weight))


class Linear(nn.Linear):
    """`torch.nn.Linear` of rows [T, in], by `linear_map`."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x W' + b, [T, out]."""
        return linear_map(x, self.weight, self.bias)


def rounded(rows: int) -> int:
    """Return the smallest multiple of `ROWS` that is not below ``rows``."""
    return -(-rows // ROWS) * ROWS

"""Work on the valid entries of many short sequences, without their padding.

The entries are packed into one matrix, whatever sequence they are of. On CPU, linear
maps of it go through oneDNN: PyTorch's own choice, MKL, leaves AVX-512 alone on AMD's
processors, and its products take twice as long there. oneDNN compiles a kernel for each
number of rows that it meets, so packed matrices come in few sizes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS = 16
"""Packed matrices have a multiple of so many rows, or hold the padding as well."""


def pack_slots(valid: Tensor) -> Tensor:
    """Return int64 [T], where the packed entries lie in a flattened [B * n].

    All valid entries come first, in order; then as many others as make T a multiple of
    `ROWS`. What is computed for those must not be used.

    Args:
        valid: bool [B, n].
    """
    flat = valid.flatten()
    rounded = -(-int(flat.sum()) // ROWS) * ROWS
    return flat.to(torch.uint8).argsort(descending=True, stable=True)[:rounded]


def unpack(values: Tensor, slots: Tensor, valid: Tensor) -> Tensor:
    """Put packed values [T, e] into sequences [B, n, e] of zeros.

    Args:
        values: float [T, e].
        slots: int64 [T], as `pack_slots` returns them.
        valid: bool [B, n]; its shape counts alone.
    """
    laid = values.new_zeros(valid.numel(), values.shape[1])
    return laid.index_copy_(0, slots, values).view(*valid.shape, -1)


def linear(x: Tensor, layer: nn.Linear) -> Tensor:
    """Return ``layer(x)`` of packed x [T, i]."""
    return linear_map(x, layer.weight, layer.bias)


def linear_map(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x W' + b, float [T, o].

    Args:
        x: float [T, i].
        weight: float [o, i].
        bias: float [o], or None.
    """
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not available or x.device.type != "cpu" or x.dtype != torch.float32:
        return F.linear(x, weight, bias)
    return F.linear(x.to_mkldnn(), weight, bias).to_dense()

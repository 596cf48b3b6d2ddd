"""Work on the valid entries of many short sequences, without their padding.

The entries are packed into one matrix, whatever sequence they are of, with a number of
rows that `linear_map` is fast for and that takes few values.
"""

import torch
from torch import Tensor

ROWS = 128
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

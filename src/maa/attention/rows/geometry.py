r"""Aitchison geometry of attention rows, from logits.

A row of attention over the keys of its support is a composition: only ratios of its
weights carry information, and the logits are their logarithms up to a shift of the
row. Everything here is computed from logits and never from rounded probabilities, in
which a sink leaves small weights no digits.

All functions take the same arguments:

* ``logits``: floating point, (..., D); rows lie along the last dimension. Half
  precision is computed in float32. A shift of a row changes nothing.
* ``support``: bool, broadcastable to ``logits``; True marks a key that the row may
  attend to; None: all of them. What lies under False is never read. Two rows are
  compared on the keys that both may attend to (`common_support`), which is a
  subcomposition of each (Papamichalis and Ruane, arXiv 2608.14712, section 3).

A zero that no mask explains has no logarithm. Logits have none; for rows that are given
as probabilities, `from_probabilities` says which rule it takes.
"""

import math

import torch
from torch import Tensor

from maa.attention.lp import check_logits


def widened(logits: Tensor, support: Tensor | None = None) -> Tensor:
    """Return the logits in float32 at least.

    Raises:
        TypeError: if they are not floating point, or the support is not bool.
        ValueError: if the support does not fit.
    """
    check_logits(logits, support)
    half = logits.dtype in (torch.float16, torch.bfloat16)
    return logits.float() if half else logits


def common_support(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Return the keys that both rows may attend to."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def mean_on(values: Tensor, support: Tensor | None) -> Tensor:
    """Return the mean over the support, (..., 1); 0 where the support is empty."""
    if support is None:
        return values.mean(-1, keepdim=True)
    total = torch.where(support, values, 0.0).sum(-1, keepdim=True)
    return total / support.expand_as(values).sum(-1, keepdim=True).clamp(min=1)


def log_closure(logits: Tensor, support: Tensor | None = None) -> Tensor:
    """Return log-probabilities, (..., D): the closure of the exponentials.

    ``-inf`` off the support; a row without any key is ``-inf`` throughout.
    """
    z = widened(logits, support)
    if support is not None:
        z = z.masked_fill(~support, -math.inf)
    total = torch.logsumexp(z, -1, keepdim=True)
    return z - total.masked_fill(total == -math.inf, 0.0)


def from_probabilities(
    weights: Tensor, support: Tensor | None = None, floor: float | None = None
) -> Tensor:
    """Return logits of rows that are given as probabilities.

    Weights that were rounded to zero on the support are replaced multiplicatively: they
    become ``floor``, and the others shrink so that the row still adds up to 1. That
    keeps the ratios among the others, and decides every distance to the replaced ones,
    so it is never done silently.

    Args:
        weights: rows that add up to 1 on their support, (..., D).
        support: keys that the row may attend to.
        floor: what a zero becomes; None: no zero is accepted.

    Raises:
        ValueError: if a weight on the support is negative, or zero without a floor.
    """
    w = widened(weights, support)
    inside = torch.ones_like(w, dtype=torch.bool)
    if support is not None:
        inside = support.expand_as(w)
    if bool(((w < 0) & inside).any()):
        raise ValueError("these are no probabilities: a weight is below 0")
    zero = (w == 0) & inside
    if bool(zero.any()):
        if floor is None:
            raise ValueError(
                f"{int(zero.sum())} weights on the support are zero: take logits, or "
                "name a floor that replaces them"
            )
        w = torch.where(zero, floor, w * (1 - floor * zero.sum(-1, keepdim=True).to(w)))
    return torch.where(inside, w, 1.0).log()


def clr(logits: Tensor, support: Tensor | None = None) -> Tensor:
    """Return centred log-ratios, (..., D): each logit minus the mean of its row.

    They add up to 0 on the support and are 0 off it. Eq. 1 of the paper is the
    Euclidean distance of these.
    """
    z = widened(logits, support)
    centred = z - mean_on(z, support)
    return centred if support is None else torch.where(support, centred, 0.0)


def perturb(first: Tensor, second: Tensor) -> Tensor:
    """Return the perturbation of two rows, as log-probabilities: logits add up.

    The addition of the geometry; what a bias on the keys does (ALiBi, T5).
    """
    return log_closure(first + second)


def power(logits: Tensor, exponent: float | Tensor) -> Tensor:
    """Return the power of a row, as log-probabilities: logits are multiplied.

    The scalar product of the geometry; what an inverse temperature does.
    """
    return log_closure(logits * exponent)


def contrasts(size: int, like: Tensor | None = None) -> Tensor:
    """Return an orthonormal basis of contrasts, (size - 1, size).

    The first sets the first key against all others, the second the second against those
    behind it, and so on: with the sink in front, the first coordinate of `ilr` is the
    sink's balance and the others are the content.

    Args:
        size: number of keys, at least 2.
        like: a tensor whose dtype and device the basis takes.
    """
    dtype = torch.float64 if like is None else like.dtype
    device = None if like is None else like.device
    rest = torch.arange(size - 1, 0, -1, dtype=dtype, device=device)
    rows = torch.ones(size - 1, size, dtype=dtype, device=device).triu(1)
    rows = -rows / rest[:, None]
    rows.diagonal().fill_(1.0)
    return rows * (rest / (rest + 1)).sqrt()[:, None]


def ilr(logits: Tensor, basis: Tensor | None = None) -> Tensor:
    """Return isometric log-ratios, (..., D - 1): coordinates of `clr` in a basis.

    Rows are on full support, since coordinates of different supports do not compare.
    """
    z = clr(logits)
    return z @ (contrasts(z.shape[-1], z) if basis is None else basis).mT


def inner(first: Tensor, second: Tensor, support: Tensor | None = None) -> Tensor:
    """Return Aitchison's inner product of rows, (...)."""
    return (clr(first, support) * clr(second, support)).sum(-1)


def norm(logits: Tensor, support: Tensor | None = None) -> Tensor:
    """Return Aitchison's norm of rows, (...): 0 for uniform attention."""
    length: Tensor = torch.linalg.vector_norm(clr(logits, support), dim=-1)
    return length


def distance(first: Tensor, second: Tensor, support: Tensor | None = None) -> Tensor:
    """Return Aitchison's distance of rows, (...): eq. 1, on the common support.

    A bias on the keys of both rows leaves it, an inverse temperature multiplies it, a
    shift of either row is nothing (proposition 2).
    """
    return norm(widened(first) - widened(second), support)

r"""Attention weights with the norm left open: the p-norm in softmax's place.

For one row of logits :math:`a`, let :math:`m_i = \exp(a_i - \max_j a_j)`. Softmax is
:math:`m / \|m\|_1`. Mass-aware attention divides by :math:`\|m\|_p` with
:math:`p \ge 1` instead (Yu and Ha, arXiv 2607.22781, eq. 3), so that a row's weights
add up to a *gain* :math:`g_p = \|m\|_1 / \|m\|_p` between 1 and :math:`n^{1 - 1/p}`
that grows with the number of keys that share the attention (eq. 4 and 5).

All functions take the same arguments:

* ``logits``: floating point, any shape; rows lie along ``dim``. ``-inf`` is a key
  that is not there; a NaN or ``+inf`` makes its row NaN.
* ``p``: a Python float in [1, inf]. It is a constant and not a tensor: it cannot be
  learned. ``p = 1`` is softmax by the same operations, ``p = inf`` divides by the
  largest entry.
* ``mask``: bool, broadcastable to ``logits``; True marks a valid key. What lies under
  False is never read, not even a NaN, and gets a gradient of zero.

Half precision (float16, bfloat16) is computed in float32 and the result cast back, so
that only the result is rounded. The maximum is subtracted before anything else, so that
logits of 1e4 lose nothing and overflow nowhere, whatever p is.

Algorithm 1 of the paper guards its division by ``max(norm, eps)``, with an eps around
1e-12. None is needed here: the largest ``m`` of a row is exactly 1, so a row with a
valid key has a norm of at least 1, and clamping the norm there only touches rows
without any (norm 0), whose weights become zeros.
"""

import math
import numbers
from typing import Any

import torch
from torch import Tensor

LOG2_E = math.log2(math.e)


def lp_normalize(
    logits: Tensor, p: float, mask: Tensor | None = None, dim: int = -1
) -> Tensor:
    """Return weights ``m / ||m||_p`` (eq. 3), of the shape and dtype of ``logits``.

    Each weight lies in [0, 1]. A row without a valid key gets zeros, and zeros for
    gradients. The gradient is analytic and can itself be differentiated.

    Args:
        logits: scores, any shape, floating point.
        p: order of the norm, in [1, inf].
        mask: True where a key is valid, broadcastable to ``logits``; None: all are.
        dim: the dimension that holds a row's keys.

    Raises:
        ValueError: if ``p`` is NaN or below 1, or ``mask`` does not fit ``logits``.
        TypeError: if ``p`` is no number, ``logits`` not floating or ``mask`` not bool.
    """
    order = check_order(p)
    check_logits(logits, mask)
    if logits.numel() == 0:
        return logits.clone()
    weights: Tensor
    weights, _ = _LpNormalize.apply(_widened(logits), order, mask, dim)  # type: ignore[no-untyped-call]
    return weights.to(logits.dtype)


def log_norms(
    logits: Tensor, p: float, mask: Tensor | None = None, dim: int = -1
) -> tuple[Tensor, Tensor]:
    """Return ``(log ||m||_1, log ||m||_p)``, each without the dimension ``dim``.

    Both are relative to the row's maximum: the first is the negative log of the
    largest softmax weight, and their difference is the log of the gain. Natural logs,
    at least 0, and 0 for a row without a valid key. Arguments and errors are those of
    `lp_normalize`.
    """
    first, second = _log_norms(logits, p, mask, dim)
    return first.to(logits.dtype), second.to(logits.dtype)


def lp_gain(
    logits: Tensor, p: float, mask: Tensor | None = None, dim: int = -1
) -> Tensor:
    r"""Return the gain ``g_p = 1 / ||softmax(logits)||_p`` (eq. 4), without ``dim``.

    It is the sum of the row's weights, :math:`1 \le g_p \le n^{1-1/p}` for n valid
    keys (eq. 5), and :math:`\exp((1 - 1/p) H_p)` with the Rényi entropy :math:`H_p`
    of the softmax weights. A row without a valid key has 1 (nothing to scale).
    Arguments and errors are those of `lp_normalize`.
    """
    first, second = _log_norms(logits, p, mask, dim)
    return (first - second).exp().to(logits.dtype)


g_p = lp_gain


def check_order(p: float) -> float:
    """Return ``p`` as a float, or raise if it is not a number in [1, inf].

    Raises:
        TypeError: if ``p`` is not a real number (a tensor, a string, a bool).
        ValueError: if ``p`` is NaN or below 1.
    """
    if isinstance(p, bool) or not isinstance(p, numbers.Real):
        raise TypeError(f"p must be a Python float in [1, inf], got {type(p).__name__}")
    order = float(p)
    if not order >= 1.0:
        raise ValueError(f"p must lie in [1, inf], got {order}")
    return order


def check_logits(logits: Tensor, mask: Tensor | None) -> None:
    """Raise if ``logits`` are not floating, or ``mask`` is no bool mask of theirs.

    Raises:
        TypeError: for logits that are not floating point or a mask that is not bool.
        ValueError: for scalar logits or a mask that cannot be broadcast to them.
    """
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point, got {logits.dtype}")
    if logits.dim() == 0:
        raise ValueError("logits must have a dimension of keys, got a scalar")
    if mask is not None:
        check_mask(mask, logits.shape)


def check_mask(mask: Tensor, shape: torch.Size) -> None:
    """Raise unless ``mask`` is bool and can be broadcast to logits of ``shape``.

    Raises:
        TypeError: for a mask that is not bool.
        ValueError: for a mask of another shape.
    """
    if mask.dtype is not torch.bool:
        raise TypeError(
            f"mask must be bool with True for a valid key, got {mask.dtype}; convert "
            "it, for example by mask.bool()"
        )
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.dim() > len(shape) or any(size not in (1, full) for size, full in sizes):
        raise ValueError(
            f"mask of shape {list(mask.shape)} cannot be broadcast to logits of shape "
            f"{list(shape)}"
        )


class _LpNormalize(torch.autograd.Function):
    """Weights ``beta`` and their escort distribution ``beta ** p``.

    With escort ``e``, ``d beta_i / d a_j = beta_i (delta_ij - e_j)`` and
    ``d e_i / d a_j = p e_i (delta_ij - e_j)``. The escort is an output, so that the
    gradient depends on outputs alone and can be differentiated again. Written as one
    function because small rows are bound by kernel launches: plain autograd through
    the same steps takes 1.5 times as long there. Base 2, because exp of an
    underflowing number is slow on CPU, and exp2 is not.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, p: float, mask: Tensor | None, dim: int
    ) -> tuple[Tensor, Tensor]:
        bits = _centred(logits, mask, dim).mul_(LOG2_E)
        powers = _powers(bits, p)
        total = powers.sum(dim, keepdim=True).clamp_(min=1.0)
        escort = powers.div_(total)
        beta = bits.exp2_().mul_(total.pow_(-1.0 / p))
        ctx.save_for_backward(beta, escort)
        ctx.p, ctx.dim = p, dim
        ctx.set_materialize_grads(False)
        return beta, escort

    @staticmethod
    def backward(
        ctx: Any, beta_grad: Tensor | None, escort_grad: Tensor | None
    ) -> tuple[Tensor | None, None, None, None]:
        beta, escort = ctx.saved_tensors
        grad: Tensor | None = None
        if beta_grad is not None:
            grad = _pull_back(beta_grad * beta, escort, ctx.dim)
        # At p = inf the escort is an indicator, constant wherever it is differentiable.
        if escort_grad is not None and math.isfinite(ctx.p):
            scaled = _pull_back(escort_grad * escort, escort, ctx.dim) * ctx.p
            grad = scaled if grad is None else grad + scaled
        return grad, None, None, None


def _pull_back(weighted: Tensor, escort: Tensor, dim: int) -> Tensor:
    total = weighted.sum(dim, keepdim=True)
    return torch.addcmul(weighted, escort, total, value=-1.0)


def _log_norms(
    logits: Tensor, p: float, mask: Tensor | None, dim: int
) -> tuple[Tensor, Tensor]:
    """`log_norms` at the precision of the computation."""
    order = check_order(p)
    check_logits(logits, mask)
    wide = _widened(logits)
    if wide.shape[dim] == 0:
        return wide.sum(dim), wide.sum(dim)
    bits = _centred(wide, mask, dim) * LOG2_E
    first = bits.exp2().sum(dim).clamp(min=1.0).log()
    second = _powers(bits, order).sum(dim).clamp(min=1.0).log() / order
    return first, second


def _widened(logits: Tensor) -> Tensor:
    """Half precision as float32; other dtypes as they are."""
    return logits.float() if logits.element_size() < 4 else logits


def _centred(logits: Tensor, mask: Tensor | None, dim: int) -> Tensor:
    """``a - max a`` over valid keys; -inf for the others and in rows without any."""
    valid = logits if mask is None else torch.where(mask, logits, -math.inf)
    top = valid.amax(dim, keepdim=True)
    return valid - top.clamp(min=torch.finfo(top.dtype).min)


def _powers(bits: Tensor, p: float) -> Tensor:
    """``m ** p`` from ``log2 m``; for p = inf (or as good as that) 1 at the maximum."""
    if p > torch.finfo(bits.dtype).max:
        return (bits == 0).to(bits.dtype)
    return (bits * p).exp2_()

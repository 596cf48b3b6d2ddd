"""Mass-aware attention as a function and as a multi-head module."""

import math
from itertools import zip_longest

import torch
from torch import Tensor, nn
from torch.nn import functional

from maa.attention.chunked import chunked_attention
from maa.attention.lp import check_mask, check_order, lp_gain, lp_normalize

# Logits of a head from which on blocks are faster than the whole matrix.
LONG = 640 * 640
# The same where blocks, which go head by head, are slower but for their memory.
LONG_ON_GPU = 4096 * 4096


def mass_aware_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    p: float,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    training: bool = True,
    causal: bool = False,
) -> Tensor:
    """Scaled dot-product attention with the p-norm in softmax's place (eq. 3).

    Weights are normalised, then dropped out, then applied to ``v``. At ``p = 1`` this
    is `torch.nn.functional.scaled_dot_product_attention`.

    From `LONG` logits a head on (`LONG_ON_GPU` elsewhere than on a CPU), and without
    dropout, the matrix of all weights is not kept (`maa.attention.chunked`); the
    gradient can then not be differentiated again.

    Args:
        q: queries ``[..., L, d]``; logits are ``q k^T / sqrt(d)``. The leading
            dimensions of ``q``, ``k`` and ``v`` are broadcast.
        k: keys ``[..., n, d]``.
        v: values ``[..., n, e]``; finite ones, under the mask too.
        p: order of the norm, in [1, inf].
        mask: bool, broadcastable to ``[..., L, n]``; True marks a valid key.
        dropout: probability of dropping a weight, in [0, 1].
        training: whether dropout acts.
        causal: whether a query sees no key behind its own place; needs L = n.

    Returns:
        ``[..., L, e]``; zeros where a query has no valid key.

    Raises:
        ValueError: for shapes that do not fit, or ``p`` outside [1, inf].
        TypeError: for a mask that is not bool, or dtypes that differ.
    """
    _check_shapes(q, k, v)
    order, queries, keys = check_order(p), q.shape[-2], k.shape[-2]
    if causal and queries != keys:
        raise ValueError(
            f"causal attention needs as many keys as queries, got {keys} and {queries}"
        )
    dropping = dropout > 0 and training
    long = LONG if q.device.type == "cpu" else LONG_ON_GPU
    if queries * keys >= long and not dropping:
        if mask is not None:
            leading = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2])  # type: ignore[no-untyped-call]
            check_mask(mask, torch.Size((*leading, queries, keys)))
        return chunked_attention(q, k, v, order, mask, causal)
    if causal:
        seen = torch.ones(queries, keys, dtype=torch.bool, device=q.device).tril()
        mask = seen if mask is None else seen & mask
    weights = lp_normalize(_logits(q, k), order, mask)
    if dropping:
        weights = functional.dropout(weights, dropout)
    return weights @ v


class MassAwareAttention(nn.Module):
    """Multi-head mass-aware attention, batch first, for self- or cross-attention.

    It has the parameters of softmax attention whatever ``p`` is. A scale-removing norm
    right behind it (LayerNorm, say) can erase what it keeps.

    Args:
        embed_dim: width of queries and of the output; a multiple of ``heads``.
        heads: number of heads, each with a row of attention of its own.
        p: order of the norm, in [1, inf]; 1 is softmax.
        dropout: probability of dropping a weight while training, in [0, 1).
        bias: whether the four projections have one.
        key_dim: width of ``key``; ``embed_dim`` if None.
        value_dim: width of ``value``; ``embed_dim`` if None.

    Raises:
        ValueError: if ``embed_dim`` is no multiple of ``heads``, or ``p`` or
            ``dropout`` lie outside their range.
    """

    def __init__(
        self,
        embed_dim: int,
        heads: int,
        p: float,
        dropout: float = 0.0,
        bias: bool = True,
        key_dim: int | None = None,
        value_dim: int | None = None,
    ) -> None:
        super().__init__()
        if heads < 1 or embed_dim < 1 or embed_dim % heads:
            raise ValueError(
                f"embed_dim must be a positive multiple of heads, got {embed_dim} and "
                f"{heads}"
            )
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must lie in [0, 1), got {dropout}")
        self.heads = heads
        self.p = check_order(p)
        self.dropout = dropout
        self.query = nn.Linear(embed_dim, embed_dim, bias)
        self.key = nn.Linear(key_dim or embed_dim, embed_dim, bias)
        self.value = nn.Linear(value_dim or embed_dim, embed_dim, bias)
        self.output = nn.Linear(embed_dim, embed_dim, bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        key_mask: Tensor | None = None,
        mask: Tensor | None = None,
        need_gain: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from ``query`` to ``key``.

        In both masks True marks what may be attended to; note that the
        ``key_padding_mask`` of `torch.nn.MultiheadAttention` says the opposite.

        Args:
            query: ``[batch, L, embed_dim]``.
            key: ``[batch, n, key_dim]``; None: self-attention.
            value: ``[batch, n, value_dim]``; None: ``key``.
            key_mask: bool ``[batch, n]``, True for a key that is not padding.
            mask: bool ``[L, n]``, ``[batch, L, n]`` or ``[batch, heads, L, n]``.
            need_gain: also return the gain of each row of attention.

        Returns:
            The output ``[batch, L, embed_dim]``; with ``need_gain``, a pair of it and
            the gains ``[batch, heads, L]`` (see `maa.attention.lp_gain`). A query
            without any valid key gets the bias of the output projection.

        Raises:
            ValueError: for shapes that do not fit.
            TypeError: for masks that are not bool.
        """
        key = query if key is None else key
        value = key if value is None else value
        _check_inputs(query, key, value, key_mask)
        q, k = self._split(self.query(query)), self._split(self.key(key))
        v, shape = self._split(self.value(value)), (*q.shape[:3], k.shape[2])
        valid = _joined(key_mask, mask, torch.Size(shape))
        dropout = self.dropout if self.training else 0.0
        context = mass_aware_attention(q, k, v, self.p, valid, dropout)
        output: Tensor = self.output(context.transpose(1, 2).flatten(2))
        if not need_gain:
            return output
        return output, lp_gain(_logits(q, k), self.p, valid)

    def extra_repr(self) -> str:
        """Show what the projections do not."""
        return f"heads={self.heads}, p={self.p}, dropout={self.dropout}"

    def _split(self, tokens: Tensor) -> Tensor:
        """``[batch, n, embed_dim]`` to ``[batch, heads, n, embed_dim / heads]``."""
        batch, n, width = tokens.shape
        heads = tokens.view(batch, n, self.heads, width // self.heads)
        return heads.transpose(1, 2)


def _logits(q: Tensor, k: Tensor) -> Tensor:
    # Scaling before the product keeps half precision in range.
    return (q * (1.0 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)


def _joined(
    key_mask: Tensor | None, mask: Tensor | None, shape: torch.Size
) -> Tensor | None:
    """One mask for logits of ``shape`` [batch, heads, L, n]; None if neither is."""
    if mask is not None:
        mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
        check_mask(mask, shape)
    if key_mask is None:
        return mask
    valid = key_mask[:, None, None, :]
    return valid if mask is None else valid & mask


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    shapes = [list(tensor.shape) for tensor in (q, k, v)]
    if (
        min(map(len, shapes)) < 2
        or q.shape[-1] != k.shape[-1]
        or k.shape[-2] != v.shape[-2]
        or not _broadcastable(*(shape[:-2] for shape in shapes))
    ):
        raise ValueError(
            "expected q [..., L, d], k [..., n, d] and v [..., n, e] with leading "
            f"dimensions that broadcast, got {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    if not q.dtype == k.dtype == v.dtype:
        raise TypeError(
            f"q, k and v must share a dtype, got {q.dtype}, {k.dtype} and {v.dtype}"
        )


def _broadcastable(*shapes: list[int]) -> bool:
    columns = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return all(len(set(column) - {1}) <= 1 for column in columns)


def _check_inputs(q: Tensor, k: Tensor, v: Tensor, key_mask: Tensor | None) -> None:
    shapes = [list(tensor.shape) for tensor in (q, k, v)]
    if (
        set(map(len, shapes)) != {3}
        or len({q.shape[0], k.shape[0], v.shape[0]}) > 1
        or k.shape[1] != v.shape[1]
    ):
        raise ValueError(
            "expected query [batch, L, width], key [batch, n, width] and value "
            f"[batch, n, width], got {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    if key_mask is None:
        return
    if key_mask.dtype is not torch.bool:
        raise TypeError(
            f"key_mask must be bool with True for a real key, got {key_mask.dtype}"
        )
    if key_mask.shape != k.shape[:2]:
        raise ValueError(
            f"key_mask must have the key's [batch, n] = {shapes[1][:2]}, got "
            f"{list(key_mask.shape)}"
        )

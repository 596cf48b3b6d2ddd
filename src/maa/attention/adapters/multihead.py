"""A drop-in for `torch.nn.MultiheadAttention` with the p-norm in softmax's place.

attention = MultiheadAttention(64, 4, p=1.1, batch_first=True)
use_mass_aware(model, p=1.1)        # all of a model's, in place
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from maa.attention.lp import check_order, lp_normalize


class MultiheadAttention(nn.MultiheadAttention):
    """`torch.nn.MultiheadAttention` and its parameters; ``p = 1`` is what it computes.

    Args:
        *arguments: those of `torch.nn.MultiheadAttention`.
        p: order of the norm, in [1, inf].
        **options: those of `torch.nn.MultiheadAttention`.

    Raises:
        ValueError: if p is below 1.
    """

    p: float

    def __init__(self, *arguments: Any, p: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._switch(p)

    def _switch(self, p: float) -> None:
        self.p = check_order(p)
        # TransformerEncoderLayer would otherwise pass by `forward` when it evaluates.
        self._qkv_same_embed_dim = False

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend, with the arguments and results of `torch.nn.MultiheadAttention`.

        As there, True in a mask hides a key. The weights that are returned are those of
        the p-norm. ``is_causal`` is a hint beside a mask, and needs one.
        """
        if is_causal and attn_mask is None:
            raise ValueError("is_causal is a hint: give the causal attn_mask as well")
        batched = query.dim() == 3
        if not batched:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = self._projected(query, key, value)
        k, v, extra = self._extended(k, v)
        logits = (q * self.head_dim**-0.5) @ k.mT
        added, hidden = self._masks(attn_mask, key_padding_mask, logits, extra)
        if added is not None:
            logits = logits + added
        weights = lp_normalize(logits, self.p, None if hidden is None else ~hidden)
        weights = functional.dropout(weights, self.dropout, self.training)
        out = self.out_proj((weights @ v).transpose(1, 2).flatten(2))
        if average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            out, weights = out.squeeze(0), weights.squeeze(0)
        elif not self.batch_first:
            out = out.transpose(0, 1)
        return out, weights if need_weights else None

    def _projected(
        self, query: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values by head, [batch, heads, n, width]."""
        if self.in_proj_weight is not None:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        bias: tuple[Tensor | None, ...] = (None, None, None)
        if self.in_proj_bias is not None:
            bias = self.in_proj_bias.chunk(3)
        given = zip((query, key, value), weights, bias, strict=True)
        shape = (len(query), -1, self.num_heads, self.head_dim)
        q, k, v = (
            functional.linear(x, weight, one).view(shape).transpose(1, 2)
            for x, weight, one in given
        )
        return q, k, v

    def _extended(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, int]:
        """Append the learned and the zero key, if there are any; say how many."""
        extra = 0
        if self.bias_k is not None and self.bias_v is not None:
            split = (1, self.num_heads, 1, self.head_dim)
            k = torch.cat([k, self.bias_k.view(split).expand(len(k), -1, -1, -1)], 2)
            v = torch.cat([v, self.bias_v.view(split).expand(len(v), -1, -1, -1)], 2)
            extra += 1
        if self.add_zero_attn:
            k = functional.pad(k, (0, 0, 0, 1))
            v = functional.pad(v, (0, 0, 0, 1))
            extra += 1
        return k, v, extra

    def _masks(
        self,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        logits: Tensor,
        extra: int,
    ) -> tuple[Tensor | None, Tensor | None]:
        """Return what is added to the logits, and the keys that are hidden."""
        batch, heads, queries, _ = logits.shape
        added: Tensor | None = None
        hidden: Tensor | None = None
        masks = []
        if attn_mask is not None:
            if attn_mask.dim() == 3:
                attn_mask = attn_mask.view(batch, heads, queries, -1)
            masks.append(attn_mask)
        if key_padding_mask is not None:
            masks.append(key_padding_mask[:, None, None, :])
        for mask in masks:
            mask = functional.pad(mask, (0, extra)) if extra else mask
            if mask.dtype is torch.bool:
                off = mask
            else:
                off = mask == -torch.inf
                finite = mask.masked_fill(off, 0.0).to(logits.dtype)
                added = finite if added is None else added + finite
            hidden = off if hidden is None else hidden | off
        return added, hidden


def use_mass_aware(model: nn.Module, p: float) -> int:
    """Switch all `torch.nn.MultiheadAttention` of a model to the p-norm, in place.

    Parameters stay where they are; ``p = 1`` computes what was computed before.

    Returns:
        How many modules were switched.

    Raises:
        ValueError: if p is below 1, or there is no such module.
    """
    found = 0
    for module in model.modules():
        if type(module) is nn.MultiheadAttention:
            module.__class__ = MultiheadAttention
        if isinstance(module, MultiheadAttention):
            module._switch(p)
            found += 1
    if not found:
        raise ValueError("the model has no torch.nn.MultiheadAttention")
    return found

"""Attention of Hugging Face's transformers: mass-aware, or recorded as logits.

Both stand in the library's own attention interface, so that every model that uses it is
served, causal or bidirectional, grouped heads included:

    from maa.attention.adapters.huggingface import use_mass_aware
    use_mass_aware(model, p=1.1)

Models come through `transformers`, which is an extra: ``pip install 'maa[rows]'``.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as drop

from maa.attention.lp import check_order, lp_normalize
from maa.errors import UserError

Receive = Callable[[int, Tensor, Tensor | None], None]
Weigh = Callable[[int, Tensor, Tensor | None], Tensor]
WEIGHED = "maa-weighed"
_current: ContextVar["_Counted"] = ContextVar("current")


def scores(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None,
    options: dict[str, Any],
) -> tuple[Tensor, Tensor | None]:
    """Return the logits, (B, H, T, S), and their support, or None for all.

    Half precision becomes float32. Keys of grouped heads are repeated. A mask is
    additive or bool; what it adds besides hiding keys (ALiBi) is a part of the logits.

    Raises:
        UserError: for attention that is more than a softmax of these logits: learned
            sinks beside the keys.
    """
    if options.get("s_aux") is not None or hasattr(module, "sinks"):
        raise UserError(
            f"{type(module).__name__} has learned sinks beside its keys, which rows of "
            "keys cannot hold; take a model without them"
        )
    groups = query.shape[1] // key.shape[1]
    keys = key.repeat_interleave(groups, 1) if groups > 1 else key
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    product = query @ keys.mT
    half = product.dtype in (torch.float16, torch.bfloat16)
    logits = (product.float() if half else product) * scale
    if options.get("softcap") is not None:
        logits = options["softcap"] * torch.tanh(logits / options["softcap"])
    if attention_mask is None:
        return logits, None
    mask = attention_mask[..., : key.shape[-2]]
    if mask.dtype is torch.bool:
        return logits, mask
    hidden = torch.finfo(mask.dtype).min / 2
    return logits + mask.to(logits.dtype).clamp(min=hidden), mask > hidden


def _attend(
    weights: Tensor, value: Tensor, module: nn.Module, dropout: float
) -> tuple[Tensor, Tensor]:
    groups = weights.shape[1] // value.shape[1]
    values = value.repeat_interleave(groups, 1) if groups > 1 else value
    weights = drop(weights.to(value.dtype), dropout, module.training)
    return (weights @ values).transpose(1, 2).contiguous(), weights


def use_mass_aware(model: nn.Module, p: float) -> nn.Module:
    """Switch a model's attention to the p-norm (eq. 3); ``p = 1`` is what it was.

    Args:
        model: a model of transformers, changed in place.
        p: order of the norm, in [1, inf].

    Returns:
        The model.

    Raises:
        ValueError: if p is below 1.
        UserError: if the model does not use the attention interface.
    """
    order = check_order(p)

    def mass_aware(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        dropout: float = 0.0,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:
        logits, support = scores(module, query, key, attention_mask, scaling, options)
        return _attend(lp_normalize(logits, order, support), value, module, dropout)

    _install(model, f"maa-p{order:g}", mass_aware)
    return model


@contextmanager
def attending(model: nn.Module, weigh: Weigh) -> Iterator[None]:
    """Have ``weigh(layer, logits, support)`` return the weights of each layer.

    The logits are those before the softmax, (B, H, T, S), float32 at least, and may not
    be changed; the support is bool, broadcastable to them, or None. Layers count from 0
    in the order in which they are passed. Afterwards the model is what it was.

    Raises:
        UserError: if the model does not use the attention interface.
    """
    before = model.config._attn_implementation  # type: ignore[union-attr]
    counted = _Counted(weigh)
    _install(model, WEIGHED, _weighed)
    hook = model.register_forward_pre_hook(counted.restart)
    token = _current.set(counted)
    try:
        yield
    finally:
        _current.reset(token)
        hook.remove()
        model.set_attn_implementation(before)  # type: ignore[operator]


@contextmanager
def recording(model: nn.Module, receive: Receive) -> Iterator[None]:
    """Call ``receive(layer, logits, support)`` for each layer of each forward pass.

    What is given is as in `attending`; what the model computes stays the same.

    Raises:
        UserError: if the model does not use the attention interface.
    """

    def weigh(layer: int, logits: Tensor, support: Tensor | None) -> Tensor:
        receive(layer, logits, support)
        return softmax(logits, support)

    with attending(model, weigh):
        yield


def softmax(logits: Tensor, support: Tensor | None) -> Tensor:
    """Return softmax weights on the support, of the logits' shape."""
    hidden = logits if support is None else logits.masked_fill(~support, -math.inf)
    return torch.softmax(hidden, -1)


class _Counted:
    def __init__(self, weigh: Weigh) -> None:
        self.weigh = weigh
        self.layer = 0

    def restart(self, *_: object) -> None:
        self.layer = 0

    def weights(self, logits: Tensor, support: Tensor | None) -> Tensor:
        found = self.weigh(self.layer, logits, support)
        self.layer += 1
        return found


def _weighed(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    logits, support = scores(module, query, key, attention_mask, scaling, options)
    return _attend(_current.get().weights(logits, support), value, module, dropout)


def _install(model: nn.Module, name: str, function: Callable[..., Any]) -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(name, function)
    AttentionMaskInterface.register(name, eager_mask)
    try:
        model.set_attn_implementation(name)  # type: ignore[operator]
    except (AttributeError, ValueError) as error:
        raise UserError(
            f"{type(model).__name__} does not use transformers' attention interface "
            f"({error}); take a model that does"
        ) from error

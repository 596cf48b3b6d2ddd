r"""One layer of temporal self-attention as its weights, and rows of it.

For a sequence x of T time steps, with heads h, and order p of mass-aware attention,

    h_i = sum_h sum_m w_im v_m (+ x_i),   w_i = m / ||m||_p,
    m_ij = exp(q_i . k_j / sqrt(d) + bias_ij),

where p = 1 is softmax. A head's output projection is folded into its values, v_m =
W_O (W_V x_m + b_V), so that heads add up and nothing else is left of it.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from maa.attention.lp import check_order, lp_normalize


@dataclass(frozen=True)
class Layer:
    """Weights of a layer with H heads; leading dimensions (...) are a batch of layers.

    Attributes:
        query: (..., H, d, D), from an input of width D.
        key: (..., H, d, D).
        value: (..., H, O, D), the output projection included.
        query_bias: (..., H, d), or None.
        key_bias: (..., H, d), or None.
        value_bias: (..., H, O), or None.
        offset: (..., O), the bias of the output projection, or None.
        p: order of the norm, in [1, inf]; 1 is softmax.
        residual: whether the input is added to the output; needs O = D.

    Raises:
        ValueError: if shapes do not fit, or p is below 1.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    query_bias: Tensor | None = None
    key_bias: Tensor | None = None
    value_bias: Tensor | None = None
    offset: Tensor | None = None
    p: float = 1.0
    residual: bool = True

    def __post_init__(self) -> None:
        check_order(self.p)
        shapes = [tuple(w.shape) for w in (self.query, self.key, self.value)]
        q, k, v = shapes
        if min(map(len, shapes)) < 3 or q != k or (*v[:-2], v[-1]) != (*q[:-2], q[-1]):
            raise ValueError(
                "query and key are (..., H, d, D) and value (..., H, O, D), got "
                f"{q}, {k} and {v}"
            )
        if self.residual and v[-2] != v[-1]:
            raise ValueError(
                f"a residual needs an output as wide as the input, got {v[-2]} and "
                f"{v[-1]}; set residual=False"
            )

    @property
    def scale(self) -> float:
        """What logits are multiplied by, ``1 / sqrt(d)``."""
        return 1 / math.sqrt(self.query.shape[-2])

    def __call__(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return the layer's output, (..., T, O); arguments as for `rows`."""
        output = rows(self, x, bias).output.sum(-3)
        if self.offset is not None:
            output = output + self.offset.unsqueeze(-2)
        return output + x if self.residual else output


@dataclass(frozen=True)
class Rows:
    """R rows of attention of each head.

    Attributes:
        index: time steps of the rows, (R,).
        weights: (..., H, R, T), w; they add up to 1 at p = 1, and to the gain else.
        escort: (..., H, R, T), ``w ** p``; it adds up to 1 and is w at p = 1.
        queries: (..., H, R, d).
        keys: (..., H, T, d).
        values: (..., H, T, O).
        output: (..., H, R, O), each head's share of the output, without the residual.
    """

    index: Tensor
    weights: Tensor
    escort: Tensor
    queries: Tensor
    keys: Tensor
    values: Tensor
    output: Tensor

    @property
    def gain(self) -> Tensor:
        """What a row's weights add up to, (..., H, R)."""
        return self.weights.sum(-1)

    @property
    def softmax(self) -> Tensor:
        """The weights without their gain, (..., H, R, T): at p = 1 the weights."""
        gain = self.gain
        return self.weights / torch.where(gain > 0, gain, 1.0).unsqueeze(-1)

    @property
    def forces(self) -> Tensor:
        """How the output moves with each logit, d h_i / d logit_ij, (..., H, R, T, O).

        ``w_ij v_j - escort_ij h_i``, at p = 1 ``a_ij (v_j - h_i)``; they add up to 0
        over j, since a shift of a row's logits changes nothing.
        """
        pull = self.weights.unsqueeze(-1) * self.values.unsqueeze(-3)
        return pull - self.escort.unsqueeze(-1) * self.output.unsqueeze(-2)


def rows(
    layer: Layer, x: Tensor, bias: Tensor | None = None, part: slice = slice(None)
) -> Rows:
    """Return rows of a layer's attention on a sequence.

    Args:
        layer: the layer; its leading dimensions are broadcast with those of x.
        x: (..., T, D), of the layer's dtype.
        bias: added to the logits, broadcastable to (..., H, T, T); -inf hides a key.
            A row without any key has weights of 0.
        part: which rows.

    Raises:
        ValueError: if x does not fit the layer, or the bias the logits.
    """
    if x.dim() < 2 or x.shape[-1] != layer.query.shape[-1]:
        raise ValueError(
            f"the layer takes (..., T, {layer.query.shape[-1]}), got {list(x.shape)}"
        )
    steps = x.shape[-2]
    if bias is not None and (bias.dim() < 2 or bias.shape[-2:] != (steps, steps)):
        raise ValueError(
            f"the bias of {steps} time steps is (..., {steps}, {steps}), got "
            f"{list(bias.shape)}"
        )
    each = x.unsqueeze(-3)
    queries = _project(each[..., part, :], layer.query, layer.query_bias)
    keys = _project(each, layer.key, layer.key_bias)
    values = _project(each, layer.value, layer.value_bias)
    logits = queries @ keys.mT * layer.scale
    if bias is not None:
        logits = logits + bias[..., part, :]
    weights = lp_normalize(logits, layer.p)
    index = torch.arange(steps, device=x.device)[part]
    escort = _escort(weights, layer.p)
    return Rows(index, weights, escort, queries, keys, values, weights @ values)


def from_linears(
    query: nn.Linear,
    key: nn.Linear,
    value: nn.Linear,
    output: nn.Linear | None,
    heads: int,
    p: float = 1.0,
    residual: bool = True,
) -> Layer:
    """Return the layer that four projections of a trained model make, detached.

    As in `torch.nn.MultiheadAttention`, a head has a contiguous slice of each
    projection's output, and of the input of the output projection. Without an output
    projection heads stand side by side in the output.

    Raises:
        ValueError: if a width is no multiple of the number of heads.
    """
    q, q_bias = _split(query, heads)
    k, k_bias = _split(key, heads)
    v, v_bias = _split(value, heads)
    width = heads * v.shape[-2]
    out = torch.eye(width).to(v) if output is None else output.weight.detach()
    each = out.reshape(out.shape[0], heads, -1).transpose(0, 1)
    folded = None if v_bias is None else (each @ v_bias.unsqueeze(-1)).squeeze(-1)
    offset = None if output is None or output.bias is None else output.bias.detach()
    return Layer(q, k, each @ v, q_bias, k_bias, folded, offset, p, residual)


def _project(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    projected = x @ weight.mT
    return projected if bias is None else projected + bias.unsqueeze(-2)


def _escort(weights: Tensor, p: float) -> Tensor:
    if p == 1:
        return weights
    escort = weights.pow(p)
    # p = inf divides the escort between ties; a row without keys has none.
    return escort / escort.sum(-1, keepdim=True).clamp(
        min=torch.finfo(escort.dtype).tiny
    )


def _split(linear: nn.Linear, heads: int) -> tuple[Tensor, Tensor | None]:
    weight, bias = linear.weight.detach(), linear.bias
    if heads < 1 or weight.shape[0] % heads:
        raise ValueError(
            f"a projection onto {weight.shape[0]} cannot be split into {heads} heads"
        )
    each = weight.reshape(heads, -1, weight.shape[1])
    return each, None if bias is None else bias.detach().reshape(heads, -1)

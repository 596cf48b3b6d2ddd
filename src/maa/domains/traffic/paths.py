"""What the Jacobian of trained temporal attention is made of, in closed form.

Diagonal sink, section 3: a step's influence on another goes by values, keys and
queries. Here it is taken from trained layers on what they really read.
"""

import math
from collections.abc import Iterable, Iterator
from typing import cast

import torch
from torch import Tensor, nn

from maa.attention import Operator
from maa.attention.temporal.diagonal import penalty_bias
from maa.attention.temporal.layer import Layer, from_linears
from maa.attention.temporal.norms import Norms, frobenius, norms
from maa.domains.traffic.backbones.layers import Block, Forecaster, Record

# Operators that are a p-norm of logits with a bias in evaluation.
KINDS = ("norm", "diagonal")
Named = tuple[str, str, float]


@torch.no_grad()
def path_norms(
    model: Forecaster, operator: Operator, speed: Tensor, day_time: Tensor
) -> list[list[Named]]:
    """Return mean Frobenius norms of dh_i/dx_j by path, block by block.

    Args:
        model: the model, in evaluation mode.
        operator: the normalisation of its attention.
        speed: [N, B, T], scaled.
        day_time: [B, T].

    Returns:
        For each block (measure, path, value): ``jacobian_own`` of a step on itself by
        ``value``, ``key`` and ``query`` and by ``all``, the residual among them; and
        ``jacobian_others``, the mean over other steps, by ``value``, ``key``, ``all``.
        Nothing for operators that are no p-norm.
    """
    if operator.kind not in KINDS:
        return []
    record = Record()
    model.read(speed, day_time, record)
    pairs = zip(cast(Iterable[Block], model.blocks), record.inputs, strict=True)
    return [list(_means(block, operator, read.flatten(0, 1))) for block, read in pairs]


def layer_of(block: Block, p: float) -> Layer:
    """Return a block's temporal attention in closed form.

    Args:
        block: a block of the forecaster.
        p: order of its norm.
    """
    attention = block.attention
    joint = attention.project
    weights = joint.weight.detach().chunk(3)
    biases = joint.bias.detach().chunk(3)
    parts = []
    for weight, bias in zip(weights, biases, strict=True):
        wide, read = weight.shape
        part = nn.Linear(read, wide, device="meta")
        part.weight, part.bias = nn.Parameter(weight), nn.Parameter(bias)
        parts.append(part)
    q, k, v = parts
    return from_linears(q, k, v, attention.output, attention.heads, p, block.residual)


def bias_of(operator: Operator, like: Tensor) -> Tensor | None:
    """Return what an operator adds to logits in evaluation, [T, T], or None.

    Args:
        operator: the normalisation.
        like: tokens [..., T, h].
    """
    steps = like.shape[-2]
    match operator.diagonal:
        case "mask":
            return penalty_bias(steps, -math.inf, like)
        case "penalty":
            return penalty_bias(steps, -operator.strength, like)
    return None


def _means(block: Block, operator: Operator, tokens: Tensor) -> Iterator[Named]:
    layer, bias = layer_of(block, operator.p), bias_of(operator, tokens)
    # One sequence at a time: its paths fill a processor's cache.
    found = [norms(layer, one, bias, norm=frobenius) for one in tokens]
    for path in ("value", "key", "total"):
        blocks = torch.stack([getattr(one, path) for one in found])
        own = torch.diagonal(blocks, dim1=-2, dim2=-1)
        others = (blocks.sum(-1) - own) / (blocks.shape[-1] - 1)
        name = "all" if path == "total" else path
        yield "jacobian_own", name, float(own.mean())
        yield "jacobian_others", name, float(others.mean())
    yield "jacobian_own", "query", _mean(found)


def _mean(found: list[Norms]) -> float:
    return float(torch.stack([one.query for one in found]).mean())

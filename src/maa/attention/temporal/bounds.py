r"""Bounds on the Jacobian of temporal attention, beside what they are to bound.

The paper (arXiv 2602.10956, section 3, eq. 8) averages over the input step j. Its text
was not at hand; what stands here is a reconstruction from descriptions of it:

    mean over j of the value path     = ||W_V|| / T
    mean over j of the key path      <= C_K / (T sqrt(d))
    given j != i                     <= (||W_V|| + C_K / sqrt(d)) / T
    given j = i                      <= 1 + that + a_ii C_Q / sqrt(d)

C_K and C_Q hold norms of values, queries and keys. Here they are what the triangle
inequality gives, C_K = 2 max||v|| max||q|| ||W_K|| and C_Q = 2 max||v|| max||k||
||W_Q||, so that a bound that breaks does not break for a tight constant. (They are
called constants; the maxima grow with T, if slowly.)

The last two do not follow. *Sound* bounds, ours, put what does follow in their place:
``(1 - a_ii) / (T - 1)`` for ``1 / T`` off the diagonal, a_ij for a single entry,
a_ii for ``1 / T`` on the diagonal, and no a_ii in front of C_Q.

For p > 1 all are multiplied by the largest gain of a row, at most ``T^(1 - 1/p)``: off
the diagonal, mass-aware attention passes on up to ``T^(-1/p)`` instead of ``1 / T``.
For several heads they add up.
"""

from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from maa.attention.temporal.layer import Layer, Rows, rows
from maa.attention.temporal.norms import Norms, norms, spectral

QUANTITIES = {
    "value": "value path, mean over j",
    "key": "key path, mean over j",
    "off_diagonal": "all paths, mean over j other than i",
    "off_diagonal_value": "value path, mean over j other than i",
    "off_diagonal_largest": "all paths, the largest j other than i",
    "diagonal": "all paths, j = i",
    "diagonal_attention": "value and key path together, j = i",
    "query": "query path, j = i",
}
# A bound counts as broken only beyond what rounding explains.
SLACK = 1 + 1e-9


@dataclass(frozen=True)
class Constants:
    """What bounds are made of, each (..., H), the largest gain of a row included.

    Attributes:
        value: ``||W_V||``.
        key: ``C_K / sqrt(d)``.
        query: ``C_Q / sqrt(d)``.
    """

    value: Tensor
    key: Tensor
    query: Tensor


def constants(layer: Layer, found: Rows) -> Constants:
    """Return the constants of a layer on a sequence whose rows are all given."""
    gain = found.gain.amax(-1)
    twice = 2 * gain * _longest(found.values) * layer.scale
    return Constants(
        gain * spectral(layer.value),
        twice * _longest(found.queries) * spectral(layer.key),
        twice * _longest(found.keys) * spectral(layer.query),
    )


def compare(layer: Layer, x: Tensor, bias: Tensor | None = None) -> pd.DataFrame:
    """Return what is measured beside its bounds.

    Args:
        layer: the layer.
        x: (..., T, D), at least 2 time steps.
        bias: as for `maa.attention.temporal.layer.rows`.

    Returns:
        One row for each of `QUANTITIES`: ``quantity``; ``value``, its spectral norm,
        mean over rows i; ``bound``, the paper's, mean over rows; ``exceeds``, the share
        of rows whose norm is above it; ``sound`` and ``unsound``, the same for ours.

    Raises:
        ValueError: if there is one time step only, or shapes do not fit.
    """
    if x.shape[-2] < 2:
        raise ValueError(f"bounds need 2 time steps or more, got {x.shape[-2]}")
    found = rows(layer, x, bias)
    given = constants(layer, found)
    measured = by_row(norms(layer, x, bias))
    paper, ours = paper_bounds(layer, found, given), sound_bounds(layer, found, given)
    table = []
    for quantity in QUANTITIES:
        value = measured[quantity]
        line: dict[str, str | float] = {"quantity": quantity, "value": _mean(value)}
        for bound, share, each in (
            ("bound", "exceeds", paper[quantity]),
            ("sound", "unsound", ours[quantity]),
        ):
            line[bound] = _mean(each.expand_as(value))
            line[share] = _mean((value > each * SLACK).to(value.dtype))
        table.append(line)
    return pd.DataFrame(table)


def by_row(found: Norms) -> dict[str, Tensor]:
    """Return each of `QUANTITIES` for every row i, (..., T)."""
    steps = found.total.shape[-1]
    others, values = _others(found.total), _others(found.value)
    return {
        "value": found.value.mean(-1),
        "key": found.key.mean(-1),
        "off_diagonal": others.sum(-1) / (steps - 1),
        "off_diagonal_value": values.sum(-1) / (steps - 1),
        "off_diagonal_largest": others.amax(-1),
        "diagonal": found.diagonal,
        "diagonal_attention": found.attended,
        "query": found.query,
    }


def paper_bounds(layer: Layer, found: Rows, given: Constants) -> dict[str, Tensor]:
    """Return the paper's bounds, broadcastable to rows, (..., T) or (..., 1)."""
    steps = found.keys.shape[-2]
    value, key = (c.sum(-1, keepdim=True) / steps for c in (given.value, given.key))
    own = torch.diagonal(found.softmax, dim1=-2, dim2=-1)
    query = (own * given.query.unsqueeze(-1)).sum(-2)
    return {
        "value": value,
        "key": key,
        "off_diagonal": value + key,
        "off_diagonal_value": value,
        "off_diagonal_largest": value + key,
        "diagonal": float(layer.residual) + value + key + query,
        "diagonal_attention": value + key,
        "query": query,
    }


def sound_bounds(layer: Layer, found: Rows, given: Constants) -> dict[str, Tensor]:
    """Return bounds that follow from the closed form, as `paper_bounds`."""
    steps = found.keys.shape[-2]
    value, key = (c[..., None, None] for c in (given.value, given.key))
    weight, escort = found.softmax, found.escort
    # What each time step may pass on at most, (..., T, T), and of it the value path.
    paths = (value * weight + key * (weight + escort) / 2).sum(-3)
    values = (value * weight).sum(-3)
    attention = torch.diagonal(paths, dim1=-2, dim2=-1)
    query = given.query.sum(-1, keepdim=True)
    return {
        "value": given.value.sum(-1, keepdim=True) / steps,
        "key": given.key.sum(-1, keepdim=True) / steps,
        "off_diagonal": _others(paths).sum(-1) / (steps - 1),
        "off_diagonal_value": _others(values).sum(-1) / (steps - 1),
        "off_diagonal_largest": _others(paths).amax(-1),
        "diagonal": float(layer.residual) + attention + query,
        "diagonal_attention": attention,
        "query": query,
    }


def _others(blocks: Tensor) -> Tensor:
    """Return blocks with 0 on the diagonal."""
    own = torch.eye(blocks.shape[-1], dtype=torch.bool, device=blocks.device)
    return blocks.masked_fill(own, 0.0)


def _longest(vectors: Tensor) -> Tensor:
    longest: Tensor = torch.linalg.vector_norm(vectors, dim=-1).amax(-1)
    return longest


def _mean(values: Tensor) -> float:
    return float(values.mean())

r"""What a regulariser of the diagonal does to a row of attention, exactly.

Three are known (arXiv 2602.10956, section 4, and the released code): a *penalty* b is
added to the logits a position has on itself, a *mask* is b = -inf, and *dropout* masks
each position of a random set, one draw for a layer's call, with all other logits as
they are. With d = a_ii the own share and off the row renormalised without it,

    logit d' = logit d + b,     off' = off:

one number of a row moves and the rest is untouched. The own key is a sink that each row
has to itself, so that everything of `maa.attention.rows` applies, with it as the sink.

Logits are (..., T, T), a row's own key on the diagonal; hidden keys are -inf.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from maa.attention.lp import check_order
from maa.attention.rows.entropy import binary_entropy, entropy
from maa.attention.rows.evidence import log_power_sum
from maa.attention.rows.geometry import log_closure
from maa.attention.rows.split import logit_mass, rest_of


def penalty_bias(steps: int, b: float, like: Tensor | None = None) -> Tensor:
    """Return what is added to logits, (T, T): b on the diagonal, -inf for a mask.

    Args:
        steps: T.
        b: the penalty; below 0 it takes attention from the diagonal.
        like: a tensor whose dtype and device the bias takes; None: double precision.
    """
    dtype = torch.float64 if like is None else like.dtype
    device = None if like is None else like.device
    zero = torch.zeros(steps, steps, dtype=dtype, device=device)
    return zero.masked_fill(own_keys(steps).to(zero.device), b)


def own_keys(steps: int) -> Tensor:
    """Return the diagonal as a bool mask, (T, T)."""
    return torch.eye(steps, dtype=torch.bool)


def penalty_distance(keys: int, b: float) -> float:
    """Return Aitchison's distance from a row of n keys to the penalised row.

    ``sqrt((n - 1) / n) |b|``, whatever the row is.
    """
    return math.sqrt((keys - 1) / keys) * abs(b)


@dataclass(frozen=True)
class OwnKey:
    """Rows split into their own key and the others; each (..., T).

    Attributes:
        logit: logit of the own share d; -inf where the own key is hidden.
        entropy: of the others, renormalised; nats.
        power: ``log sum off^p`` of the others; 0 where there are none.
    """

    logit: Tensor
    entropy: Tensor
    power: Tensor


def own_key(logits: Tensor, p: float = 1.0) -> OwnKey:
    """Return rows split into their own key and the others, which no penalty changes.

    Raises:
        ValueError: if p is below 1 or infinite, or the logits are not square.
    """
    if check_order(p) == math.inf:
        raise ValueError("the power sum has no limit at p = inf; take a finite p")
    if logits.dim() < 2 or logits.shape[-1] != logits.shape[-2]:
        raise ValueError(f"logits are (..., T, T), got {list(logits.shape)}")
    diagonal = own_keys(logits.shape[-1]).to(logits.device)
    others = rest_of(logits, (diagonal,), logits > -math.inf)
    power = log_power_sum(logits, p, others)
    return OwnKey(
        logit_mass(logits, diagonal, logits > -math.inf),
        entropy(logits, others),
        torch.where(others.any(-1), power, 0.0),
    )


def own_share(row: OwnKey, b: float = 0.0) -> Tensor:
    """Return the own share under a penalty: ``sigmoid(logit d + b)``, (..., T)."""
    return torch.sigmoid(row.logit + b)


def entropy_after(row: OwnKey, b: float) -> Tensor:
    """Return a row's entropy under a penalty: ``Hb(d') + (1 - d') H(off)``, nats.

    NaN under a mask, as the own share, where a row has no other key.
    """
    moved = row.logit + b
    return binary_entropy(moved) + torch.sigmoid(-moved) * row.entropy


def log_gain_after(row: OwnKey, b: float, p: float) -> Tensor:
    """Return the log of mass-aware attention's gain under a penalty.

    ``||a'||_p^p = d'^p + (1 - d')^p ||off||_p^p``; under a mask the gain is that of the
    others alone. The row must have been split at the same p.
    """
    own = torch.nn.functional.logsigmoid(row.logit + b)
    others = torch.nn.functional.logsigmoid(-row.logit - b)
    return -torch.logaddexp(p * own, p * others + row.power) / p


def dropout_mean(plain: Tensor, masked: Tensor, rate: float) -> Tensor:
    """Return the mean under dropout of what a row alone decides.

    Dropout either masks a row's own key or leaves the row, so that the mean of anything
    that the row decides by itself (its weights, gain, entropy, and its rows of the
    Jacobian) is a mixture of the two, whatever the other rows do.

    Raises:
        ValueError: if the rate is no probability.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"a dropout rate lies in [0, 1], got {rate}")
    return (1 - rate) * plain + rate * masked


def dropout_weights(logits: Tensor, rate: float) -> Tensor:
    """Return the mean attention under dropout of the diagonal, (..., T, T).

    ``(1 - rate) a_ii`` on the diagonal, ``(1 - rate) a_ij + rate a_ij / (1 - a_ii)``
    off it: mass goes to the others, unlike under dropout of the weights, whose mean is
    the plain row. This is what the released code does. A row whose only key is its own
    has nothing left when that is dropped.
    """
    diagonal = own_keys(logits.shape[-1]).to(logits.device)
    plain, masked = log_closure(logits), log_closure(logits, ~diagonal)
    return dropout_mean(plain.exp(), masked.exp(), rate)

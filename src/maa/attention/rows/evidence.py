r"""What a row still tells about the amount of evidence: diversity, gain, elasticity.

Mass-aware attention's gain is a power of a Hill number, ``1 / ||a||_p =
N_p ** ((p - 1) / p)``, and obeys the order-p version of the entropy's identity: with S
the sinks' share, rho and pi the shares within sinks and content,

    ||a||_p^p = S^p ||rho||_p^p + (1 - S)^p ||pi||_p^p.

The *elasticity* is the share by which an amplitude grows when a group of keys is
replicated: 0 tells nothing of the count, 1 keeps it whole.
"""

import math

import torch
from torch import Tensor

from maa.attention.lp import check_order, log_norms
from maa.attention.rows.entropy import entropy
from maa.attention.rows.geometry import log_closure


def log_power_sum(
    logits: Tensor, order: float, support: Tensor | None = None
) -> Tensor:
    """Return ``log sum a^order`` of the probabilities a, (...)."""
    return torch.logsumexp(order * log_closure(logits, support), -1)


def hill(logits: Tensor, order: float, support: Tensor | None = None) -> Tensor:
    """Return Hill's number of rows, (...): how many keys share the attention.

    Between 1 and the number of keys; order 0 counts keys, order 1 is the exponential of
    the entropy, infinity the inverse of the largest weight.

    Raises:
        ValueError: if the order is negative or NaN.
    """
    if not order >= 0:
        raise ValueError(f"the order of a Hill number is at least 0, got {order}")
    log = log_closure(logits, support)
    if order == 0:
        return (log > -math.inf).sum(-1).to(log.dtype)
    if order == 1:
        return entropy(logits, support).exp()
    if order == math.inf:
        return (-log.amax(-1)).exp()
    return (log_power_sum(logits, order, support) / (1 - order)).exp()


def tsallis(logits: Tensor, order: float, support: Tensor | None = None) -> Tensor:
    """Return Tsallis' entropy of rows, (...): ``(1 - sum a^q) / (q - 1)``, H at 1."""
    if order == 1:
        return entropy(logits, support)
    return -torch.expm1(log_power_sum(logits, order, support)) / (order - 1)


def log_gain(logits: Tensor, p: float, support: Tensor | None = None) -> Tensor:
    """Return the log of mass-aware attention's gain, (...): ``-log ||a||_p``."""
    first, last = log_norms(logits, p, support)
    return first - last


def share(logits: Tensor, group: Tensor, support: Tensor | None = None) -> Tensor:
    """Return the attention that a group of keys holds, (...)."""
    return escort_share(logits, 1.0, group, support)


def escort_share(
    logits: Tensor, p: float, group: Tensor, support: Tensor | None = None
) -> Tensor:
    """Return a group's share of ``sum a^p``, (...): of the gain's denominator.

    Raises:
        ValueError: if ``p`` is infinite, where the share is all or nothing, or below 1.
    """
    if check_order(p) == math.inf:
        raise ValueError("the escort share has no limit at p = inf; take a finite p")
    escort = log_closure(p * log_closure(logits, support))
    return torch.where(group, escort.exp(), 0.0).sum(-1)


def amplitude_elasticity(
    logits: Tensor, p: float, group: Tensor, support: Tensor | None = None
) -> Tensor:
    """Return how a group's contribution to the output grows with its count, (...).

    ``1 - escort_share / p``: for softmax 1 minus the group's attention, so that with
    all content replicated it is the sink's share.
    """
    return 1 - escort_share(logits, p, group, support) / p


def gain_elasticity(
    logits: Tensor, p: float, group: Tensor, support: Tensor | None = None
) -> Tensor:
    """Return how the gain alone grows with the count of a group, (...).

    ``share - escort_share / p``, which goes to 0 as a sink takes all: the sink flattens
    the gain although the content's amplitude grows more.
    """
    escort = escort_share(logits, p, group, support)
    return share(logits, group, support) - escort / p

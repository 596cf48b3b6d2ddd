r"""The query path as a covariance, and what a sink leaves of it.

At p = 1 a row's query path is ``Cov_a(v, k) W_Q / sqrt(d)``. With a group of sinks of
share S, rho and pi the shares within sinks and content, the law of total covariance is

    Cov_a(v, k) = S Cov_rho + (1 - S) Cov_pi
                + S (1 - S) (v_S - v_C)(k_S - k_C)^T

with the mean values and keys of sinks and content: for one sink the first term is 0,
and the whole vanishes as it takes all. So one share decides the row's entropy, mass-
aware attention's gain, and how much a query matters.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from maa.attention.rows.geometry import log_closure
from maa.attention.rows.split import logit_mass, rest_of


@dataclass(frozen=True)
class CovarianceParts:
    """A covariance of values and keys in parts, each (..., O, d).

    Attributes:
        sinks: within the sinks, times their share.
        content: within the content, times its share.
        between: of the two means.
    """

    sinks: Tensor
    content: Tensor
    between: Tensor

    @property
    def total(self) -> Tensor:
        """The whole covariance."""
        return self.sinks + self.content + self.between


def covariance(weights: Tensor, values: Tensor, keys: Tensor) -> Tensor:
    """Return the covariance of values and keys under rows of attention, (..., O, d).

    Args:
        weights: rows that add up to 1, (..., T).
        values: (..., T, O).
        keys: (..., T, d).
    """
    apart = [each - _mean(weights, each).unsqueeze(-2) for each in (values, keys)]
    return (apart[0] * weights.unsqueeze(-1)).mT @ apart[1]


def covariance_parts(
    logits: Tensor, sinks: Tensor, values: Tensor, keys: Tensor
) -> CovarianceParts:
    """Return the covariance under rows of attention in parts.

    Args:
        logits: (..., T).
        sinks: bool, broadcastable to the logits.
        values: (..., T, O).
        keys: (..., T, d).
    """
    content = rest_of(logits, (sinks,), None)
    logit = logit_mass(logits, sinks)[..., None, None]
    share, rest = torch.sigmoid(logit), torch.sigmoid(-logit)
    rho, pi = (log_closure(logits, group).exp() for group in (sinks, content))
    v, k = (_mean(rho, each) - _mean(pi, each) for each in (values, keys))
    return CovarianceParts(
        share * covariance(rho, values, keys),
        rest * covariance(pi, values, keys),
        share * rest * v.unsqueeze(-1) * k.unsqueeze(-2),
    )


def order_shift(logits: Tensor, p: float, values: Tensor, keys: Tensor) -> Tensor:
    """Return what p > 1 adds to the covariance in the query path, (..., O, d).

    ``mean_a(v) (mean_a(k) - mean_e(k))^T`` with the escort e of a, so that the query
    path is ``gain (Cov_a(v, k) + this) W_Q / sqrt(d)``: an output that is not
    normalised changes its size, too, with the query.
    """
    log = log_closure(logits)
    a, escort = log.exp(), log_closure(p * log).exp()
    moved = _mean(a, keys) - _mean(escort, keys)
    return _mean(a, values).unsqueeze(-1) * moved.unsqueeze(-2)


def _mean(weights: Tensor, vectors: Tensor) -> Tensor:
    return (weights.unsqueeze(-2) @ vectors).squeeze(-2)

"""Diversity, gain and elasticity: the identities that link the papers."""

import math

import pytest
import torch
from torch import Tensor

from maa.attention import lp_normalize
from maa.attention.rows.entropy import entropy
from maa.attention.rows.evidence import (
    amplitude_elasticity,
    escort_share,
    gain_elasticity,
    hill,
    log_gain,
    share,
    tsallis,
)
from maa.attention.rows.geometry import log_closure
from tests.attention.rows.helpers import close, mask

GENERATOR = torch.Generator().manual_seed(8)
ORDERS = [1.02, 1.1, 2.0, 5.0]


def rows(*shape: int) -> Tensor:
    return 2 * torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def test_hill_numbers_by_hand() -> None:
    p = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64).log()
    assert [hill(p, q).item() for q in (0, 2, math.inf)] == pytest.approx([3, 8 / 3, 2])
    close(hill(p, 1), 2**1.5)
    close(hill(torch.zeros(5, dtype=torch.float64), 3.3), 5.0)
    close(hill(p, 1 + 1e-7), hill(p, 1), 1e-6)
    with pytest.raises(ValueError, match="at least 0"):
        hill(p, -1)


@pytest.mark.parametrize("p", ORDERS)
def test_the_gain_is_a_power_of_a_hill_number(p: float) -> None:
    """Identity 1: 1 / ||a||_p = N_p ^ ((p - 1) / p) = (1 - (p - 1) S_p) ^ (-1 / p)."""
    a = rows(40, 9)
    support = torch.rand(40, 9, generator=GENERATOR) < 0.8
    support[:, 0] = True
    gain = log_gain(a, p, support)
    close(gain, (p - 1) / p * hill(a, p, support).log())
    close(gain, -torch.log1p(-(p - 1) * tsallis(a, p, support)) / p)
    weights = lp_normalize(a, p, support)
    close(gain, weights.sum(-1).log())


@pytest.mark.parametrize("p", ORDERS)
def test_tsallis_chain(p: float) -> None:
    """Identity 2: S_p(a) = S_p(s, 1 - s) + (1 - s)^p S_p(content)."""
    a, sink = rows(40, 8), mask(8, 0)
    s = share(a, sink)
    two = torch.stack([s, 1 - s], -1).log()
    close(tsallis(a, p), tsallis(two, p) + (1 - s) ** p * tsallis(a[:, 1:], p))


def test_the_gain_starts_as_entropy() -> None:
    """Identity 3: log gain = (p - 1) H + O((p - 1)^2)."""
    a, small = rows(40, 8), 1e-6
    close(log_gain(a, 1 + small) / small, entropy(a), 1e-4)
    close(tsallis(a, 1.0), entropy(a))


@pytest.mark.parametrize("p", ORDERS)
def test_replication_of_all_multiplies_the_gain(p: float) -> None:
    """Identity 4: r copies of every key, sink included, give r^(1 - 1/p)."""
    a = rows(20, 6)
    close(log_gain(a.repeat(1, 3), p) - log_gain(a, p), (1 - 1 / p) * math.log(3))


def test_the_dropped_view_forgets_the_count_that_the_sink_keeps() -> None:
    a = rows(20, 6)
    more = torch.cat([a[:, :1], a[:, 1:].repeat(1, 4)], 1)
    content = log_closure(a[:, 1:])
    close(log_closure(more[:, 1:])[:, :5], content - math.log(4))
    s, t = share(a, mask(6, 0)), share(more, mask(21, 0))
    close(torch.logit(t), torch.logit(s) - math.log(4))


@pytest.mark.parametrize("p", [1.0, *ORDERS])
def test_elasticities_are_derivatives(p: float) -> None:
    """Identity 5, against central differences in the log of the multiplicity."""
    a, group, step = rows(30, 7), mask(7, 2, 3, 6), 1e-5

    def log_contribution(r: float) -> Tensor:
        """The length of the group's part of the output, for parallel values."""
        weights = lp_normalize_counted(a, p, group, r)
        return torch.where(group, weights, 0.0).sum(-1).log()

    def log_gain_at(r: float) -> Tensor:
        return lp_normalize_counted(a, p, group, r).sum(-1).log()

    def slope(f: object) -> Tensor:
        up, down = f(math.exp(step)), f(math.exp(-step))  # type: ignore[operator]
        return (up - down) / (2 * step)

    close(amplitude_elasticity(a, p, group), slope(log_contribution), 1e-7)
    close(gain_elasticity(a, p, group), slope(log_gain_at), 1e-7)


def lp_normalize_counted(a: Tensor, p: float, group: Tensor, r: float) -> Tensor:
    """Weights of keys of which the group's count r times, each copy added up."""
    count = torch.ones_like(a).masked_fill(group, r)
    m = a.exp()
    norm = (count * m**p).sum(-1, keepdim=True) ** (1 / p)
    return count * m / norm


def test_with_all_content_replicated_softmax_has_the_sinks_share() -> None:
    a, sink = rows(30, 7), mask(7, 0)
    close(amplitude_elasticity(a, 1.0, ~sink), share(a, sink))
    close(gain_elasticity(a, 1.0, ~sink), 0.0)


def test_without_a_sink_the_elasticity_is_the_operators_own() -> None:
    a, everything = rows(30, 7), torch.ones(7, dtype=torch.bool)
    for p in ORDERS:
        close(amplitude_elasticity(a, p, everything), 1 - 1 / p)
        close(gain_elasticity(a, p, everything), 1 - 1 / p)


def test_a_sink_flattens_the_gain_though_the_amplitude_grows_more() -> None:
    a, sink = torch.tensor([30.0, 0, 0, 0], dtype=torch.float64), mask(4, 0)
    close(gain_elasticity(a, 2.0, ~sink), 0.0)
    close(amplitude_elasticity(a, 2.0, ~sink), 1.0)


def test_the_escort_share_by_hand() -> None:
    p = torch.tensor([0.6, 0.2, 0.2], dtype=torch.float64).log()
    close(escort_share(p, 2.0, mask(3, 0)), 0.36 / 0.44)
    close(escort_share(p, 2.0, mask(3, 0), mask(3, 0, 1)), 0.36 / 0.40)
    with pytest.raises(ValueError, match="p = inf"):
        escort_share(p, math.inf, mask(3, 0))


def test_masking_the_diagonal_leaves_the_gain_of_the_rest() -> None:
    """Identity 6: with the self key masked, 1 / ||off||_p is all of the gain."""
    a, diagonal = rows(20, 6), mask(6, 2)
    close(log_gain(a, 1.1, ~diagonal), log_gain(a[:, ~diagonal], 1.1))
    s = share(a, diagonal)
    off = -1.1 * log_gain(a[:, ~diagonal], 1.1)
    whole = (s**1.1 + (1 - s) ** 1.1 * off.exp()).log()
    close(-1.1 * log_gain(a, 1.1), whole)

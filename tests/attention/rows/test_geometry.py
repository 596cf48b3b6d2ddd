"""Aitchison's geometry: its laws, its invariances, and a peer's values."""

import math

import pytest
import torch
from torch import Tensor

from maa.attention.rows.geometry import (
    clr,
    common_support,
    contrasts,
    distance,
    from_probabilities,
    ilr,
    inner,
    log_closure,
    norm,
    perturb,
    power,
)
from tests.attention.rows.helpers import close

GENERATOR = torch.Generator().manual_seed(5)


def rows(*shape: int) -> Tensor:
    return 3 * torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def test_a_distance_by_hand() -> None:
    """log(p/q) of (1/2, 1/4, 1/4) and (1/4, 1/4, 1/2) is log 2 (1, 0, -1)."""
    p = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64).log()
    q = torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64).log()
    close(distance(p, q), math.sqrt(2) * math.log(2))


def test_scikit_bio_agrees() -> None:
    composition = pytest.importorskip(
        "skbio.stats.composition", reason="scikit-bio is not installed"
    )
    a, b = rows(6, 7), rows(6, 7)
    p, q = log_closure(a).exp().numpy(), log_closure(b).exp().numpy()
    basis = contrasts(7)
    close(clr(a), torch.from_numpy(composition.clr(p)))
    close(ilr(a), torch.from_numpy(composition.ilr(p, basis=basis.numpy())))
    close(perturb(a, b).exp(), torch.from_numpy(composition.perturb(p, q)))
    close(power(a, 0.3).exp(), torch.from_numpy(composition.power(p, 0.3)))
    close(
        inner(a[:, None], b),
        torch.from_numpy(composition.inner(p, q)),
    )
    holes = p.copy()
    holes[:, 2] = 0
    holes /= holes.sum(1, keepdims=True)
    replaced = from_probabilities(torch.from_numpy(holes), floor=1e-4).exp()
    close(replaced, torch.from_numpy(composition.multi_replace(holes, delta=1e-4)))


def test_coordinates_keep_lengths_and_angles() -> None:
    a, b = rows(20, 9), rows(20, 9)
    basis = contrasts(9)
    close(basis @ basis.mT, torch.eye(8, dtype=torch.float64))
    close(basis.sum(1), 0.0)
    close((ilr(a) * ilr(b)).sum(-1), inner(a, b))
    close(torch.linalg.vector_norm(ilr(a) - ilr(b), dim=-1), distance(a, b))


def test_it_is_a_vector_space() -> None:
    a, b, c = rows(20, 5), rows(20, 5), rows(20, 5)
    close(inner(perturb(a, b), c), inner(a, c) + inner(b, c))
    close(norm(power(a, -0.7)), 0.7 * norm(a))
    close(norm(torch.zeros(5, dtype=torch.float64)), 0.0)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(half: torch.dtype) -> None:
    a = rows(4, 6).to(half)
    assert clr(a).dtype is torch.float32
    torch.testing.assert_close(clr(a), clr(a.float()))


def test_proposition_2_biases_shifts_and_temperatures() -> None:
    a, b, bias = rows(50, 8), rows(50, 8), rows(8)
    shifts = rows(50, 1)
    close(distance(a + bias, b + bias), distance(a, b))
    close(distance(a + shifts, b - shifts), distance(a, b))
    close(distance(0.37 * a, 0.37 * b), 0.37 * distance(a, b))


def test_a_subcomposition_is_never_farther() -> None:
    """The distance shrinks with the support; cosine's and the others' may grow."""
    a, b = rows(200, 8), rows(200, 8)
    support = torch.rand(200, 8, generator=GENERATOR) < 0.6
    assert (distance(a, b, support) <= distance(a, b) + 1e-12).all()


def test_what_is_masked_is_never_read() -> None:
    a, b = rows(3, 6), rows(3, 6)
    support = torch.tensor([True, True, False, True, False, True])
    spoilt = a.masked_fill(~support, math.nan)
    close(distance(spoilt, b, support), distance(a[:, support], b[:, support]))
    close(clr(spoilt, support)[:, support], clr(a[:, support]))
    assert (clr(spoilt, support)[:, ~support] == 0).all()
    assert (log_closure(spoilt, support)[:, ~support] == -math.inf).all()


def test_rows_are_compared_where_both_may_attend() -> None:
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    a, b = rows(6), rows(6)
    both = common_support(causal[3], causal[5])
    assert both is not None
    close(distance(a, b, both), distance(a[:4], b[:4]))
    assert common_support(None, None) is None
    assert torch.equal(common_support(None, causal[2]), causal[2])  # type: ignore[arg-type]


def test_an_empty_support_is_zero_and_not_nan() -> None:
    nothing = torch.zeros(4, dtype=torch.bool)
    a = rows(2, 4)
    close(norm(a, nothing), 0.0)
    assert (log_closure(a, nothing) == -math.inf).all()


def test_probabilities_with_zeros_need_a_rule() -> None:
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], dtype=torch.float64)
    with pytest.raises(ValueError, match="1 weights on the support are zero"):
        from_probabilities(weights)
    with pytest.raises(ValueError, match="below 0"):
        from_probabilities(weights - 0.3)
    replaced = from_probabilities(weights, floor=0.02).exp()
    close(replaced[0], torch.tensor([0.49, 0.49, 0.02], dtype=torch.float64))
    close(replaced[1], weights[1])
    masked = from_probabilities(weights[:1], torch.tensor([True, True, False]))
    close(masked.exp()[0, :2], 0.5)


def test_probabilities_that_half_precision_rounds_to_zero_keep_their_distance() -> None:
    """From logits a distance of e^-30 to e^-40 is what it is; half has zeros there."""
    a = torch.tensor([0.0, -30.0, -40.0])
    b = torch.tensor([0.0, -40.0, -30.0])
    assert (torch.softmax(a, -1).half()[1:] == 0).all()
    assert distance(a, b).item() == pytest.approx(math.sqrt(200), rel=1e-6)

"""Hutchinson's estimate against exact Jacobians."""

import pytest
import torch
from torch import Tensor, nn

from maa.attention.temporal.hutchinson import frobenius, frobenius_blocks
from maa.attention.temporal.jacobian import paths
from tests.attention.temporal.helpers import STEPS, biases, layer, sequence

X = sequence(50, STEPS, 5)


def test_against_the_exact_jacobian() -> None:
    one, bias = layer(51, 2, p=1.1), biases()["mask"]
    exact = paths(one, X, bias).total
    found = frobenius(lambda x: one(x, bias), X, probes=400, seed=3)
    assert abs(found.norm - exact.norm()) < 3 * found.error
    assert found.error < 0.05 * found.norm
    blocks = frobenius_blocks(lambda x: one(x, bias), X, probes=400, seed=3)
    norms = torch.linalg.matrix_norm(exact)
    assert ((blocks.norm - norms).abs() < 4 * blocks.error + 1e-12).all()
    assert (blocks.error < 0.1 * norms + 1e-12).all()


def test_its_standard_error_is_the_spread_between_seeds() -> None:
    one = layer(52)
    exact = paths(one, X).total.norm()
    found = [frobenius(one, X, probes=64, seed=seed) for seed in range(200)]
    norms, errors = (
        torch.stack([getattr(each, name) for each in found])
        for name in ("norm", "error")
    )
    assert norms.std().item() == pytest.approx(errors.mean().item(), rel=0.2)
    inside = ((norms - exact).abs() < 2 * errors).double().mean()
    assert 0.9 < inside < 0.99


def test_a_diagonal_jacobian_is_exact_with_one_probe() -> None:
    """Signs square to 1: d(x^2) = diag(2x), whatever the probe."""
    found = frobenius(torch.square, X, probes=2)
    assert found.norm.item() == pytest.approx(2 * X.norm().item())
    assert found.error.item() == pytest.approx(0, abs=1e-12)
    blocks = frobenius_blocks(torch.square, X, probes=2).norm
    torch.testing.assert_close(blocks, torch.diag(2 * X.norm(dim=1)))
    assert frobenius(torch.square, X, probes=1).error.isnan()


def test_time_may_lie_anywhere() -> None:
    """A mean over nodes and a running sum over time, time last in the output."""

    def model(x: Tensor) -> Tensor:  # (batch, T, nodes, features)
        return x.cumsum(1).mean(2).transpose(1, 2)

    x = sequence(53, 2, 3, 4, 5)
    found = frobenius_blocks(model, x, probes=3, input_time=1, output_time=-1)
    expected = torch.ones(3, 3, dtype=torch.float64).tril() * (2 * 4 * 5 / 16) ** 0.5
    torch.testing.assert_close(found.norm, expected)


def test_a_seed_gives_the_same_and_leaves_the_module_as_it_was() -> None:
    module = nn.Sequential(nn.Linear(5, 5), nn.Tanh()).double()
    first, again, other = (
        frobenius(module, X, seed=seed).norm.item() for seed in (1, 1, 2)
    )
    assert first == again != other
    assert module[0].weight.grad is None
    assert not X.requires_grad
    with torch.no_grad():
        assert frobenius(module, X, seed=1).norm.item() == first


def test_what_has_no_jacobian_is_named() -> None:
    with pytest.raises(ValueError, match="a probe or more, got 0"):
        frobenius(torch.square, X, probes=0)
    with pytest.raises(ValueError, match="does not depend on x"):
        frobenius(lambda x: torch.ones(3), X)
    with pytest.raises(TypeError, match="one tensor, got tuple"):
        frobenius(lambda x: (x, x), X)
    constant = nn.Linear(5, 5).double()
    assert frobenius(lambda x: constant(torch.ones_like(x)), X).norm == 0

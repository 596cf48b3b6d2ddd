"""Sink and content apart: lemma 1, several sinks, the diagonal, and theorem 2."""

import math

import torch
from torch import Tensor

from maa.attention.rows.geometry import clr, contrasts, distance, ilr, norm
from maa.attention.rows.split import (
    balance,
    content_distance,
    distance_parts,
    logit_mass,
    rest_of,
    squares,
    unevenness,
)
from tests.attention.rows.helpers import close, mask

GENERATOR = torch.Generator().manual_seed(6)


def rows(*shape: int) -> Tensor:
    return 3 * torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def test_the_papers_rows() -> None:
    """Fig. 1: (.90, .08, .02) against (.70, .24, .06) and (.90, .02, .08)."""
    p = torch.tensor([0.90, 0.08, 0.02], dtype=torch.float64).log()
    q = torch.tensor([0.70, 0.24, 0.06], dtype=torch.float64).log()
    r = torch.tensor([0.90, 0.02, 0.08], dtype=torch.float64).log()
    sink = mask(3, 0)
    to_q, to_r = distance_parts(p, q, (sink,)), distance_parts(p, r, (sink,))
    # by hand: log(p/q) = (log 9/7, -log 3, -log 3)
    apart = math.log(9 / 7) + math.log(3)
    close(to_q.balance.sqrt(), math.sqrt(2 / 3) * apart)
    close(to_q.content, 0.0)
    close(to_r.balance, 0.0)
    close(to_r.content.sqrt(), math.sqrt(2) * math.log(4))


def test_lemma_1_the_parts_add_up() -> None:
    a, b = rows(100, 9), rows(100, 9)
    support = torch.rand(100, 9, generator=GENERATOR) < 0.8
    for groups in ((mask(9, 0),), (mask(9, 0, 3, 4),), (mask(9, 0), mask(9, 5, 6))):
        parts = distance_parts(a, b, groups, support)
        close(parts.total, distance(a, b, support).square())


def test_the_first_coordinate_is_the_sinks_balance_and_the_others_the_content() -> None:
    a = rows(30, 7)
    sink = mask(7, 0)
    close(ilr(a)[:, 0], balance(a, sink, ~sink))
    content = squares(a, (sink,)).content
    close(ilr(a)[:, 1:].square().sum(-1), content)
    close(content, norm(a[:, 1:]).square())


def test_sink_diagonal_and_rest() -> None:
    """The diagonal of the first row is the sink; then it has no balance of its own."""
    size = 6
    a, b = rows(size, size), rows(size, size)
    causal = torch.ones(size, size, dtype=torch.bool).tril()
    sink, diagonal = mask(size, 0), torch.eye(size, dtype=torch.bool)
    parts = distance_parts(a, b, (sink, diagonal), causal)
    close(parts.total, distance(a, b, causal).square())
    close(parts.balance[1, 0], 0.0)
    z = (a - b)[4]
    by_hand = math.sqrt(3 / 4) * (z[4] - z[1:4].mean())
    close(parts.balance[1, 4], by_hand.square())
    close(parts.within, 0.0)


def test_the_content_does_not_depend_on_the_sink() -> None:
    a, b, sinks = rows(40, 8), rows(40, 8), mask(8, 0, 2)
    before = content_distance(a, b, sinks)
    a[:, sinks] += rows(40, 2)
    b[:, sinks] -= 20
    close(content_distance(a, b, sinks), before)
    close(before, distance(a[:, ~sinks], b[:, ~sinks]))


def test_a_balance_is_mass_and_unevenness() -> None:
    """It is no function of the sink's mass alone."""
    a, sinks = rows(60, 10), mask(10, 0, 4)
    k, m = 2, 8
    size = math.sqrt(k * m / (k + m))
    spread = unevenness(a, ~sinks) - unevenness(a, sinks)
    told = size * (logit_mass(a, sinks) + math.log(m / k) + spread)
    close(balance(a, sinks, ~sinks), told)


def test_mass_of_a_group_by_hand() -> None:
    a = torch.tensor([0.6, 0.1, 0.2, 0.1], dtype=torch.float64).log()
    close(logit_mass(a, mask(4, 0)).sigmoid(), 0.6)
    close(logit_mass(a, mask(4, 0), mask(4, 0, 2)).sigmoid(), 0.75)
    close(unevenness(a, mask(4, 1, 3)), 0.0)
    even_to_rest = 0.5 * math.log(0.5 / (2 / 3)) + 0.5 * math.log(0.5 / (1 / 3))
    close(unevenness(a, mask(4, 1, 2)), even_to_rest)
    assert torch.equal(rest_of(a, (mask(4, 0),), None), mask(4, 1, 2, 3))


def test_theorem_2_five_axioms_leave_one_distance() -> None:
    """A quadratic form that is symmetric in the content and blind to the sink.

    On content coordinates, any Gram matrix becomes a multiple of the centring one once
    it is averaged over all permutations of the content: the content's distance, up to
    scale. A sink direction in the kernel leaves no other part.
    """
    keys = 5
    root = torch.randn(keys - 1, keys - 1, generator=GENERATOR, dtype=torch.float64)
    gram = root @ root.mT
    centring = torch.eye(keys - 1, dtype=torch.float64) - 1 / (keys - 1)
    gram = centring @ gram @ centring
    orders = torch.cartesian_prod(*[torch.arange(keys - 1)] * (keys - 1))
    orders = orders[(orders.sort(1).values == torch.arange(keys - 1)).all(1)]
    assert len(orders) == math.factorial(keys - 1)
    mean = torch.stack([gram[o][:, o] for o in orders]).mean(0)
    scale = mean.trace() / centring.trace()
    close(mean, scale * centring)
    a, b = rows(20, keys), rows(20, keys)
    apart = (a - b)[:, 1:]
    form = torch.einsum("bi,ij,bj->b", apart, mean, apart)
    close(form, scale * content_distance(a, b, mask(keys, 0)).square())


def test_the_content_distance_has_the_five_axioms() -> None:
    a, b, c, bias = rows(9, 7), rows(9, 7), rows(9, 7), rows(7)
    sink = mask(7, 0)

    def f(x: Tensor, y: Tensor) -> Tensor:
        return content_distance(x, y, sink)

    close(f(a + bias, b + bias), f(a, b))
    close(f(-2.5 * a, -2.5 * b), 2.5 * f(a, b))
    sums, differences = a + b, a - b
    close(
        f(sums, c * 0).square() + f(differences, c * 0).square(),
        2 * f(a, c * 0).square() + 2 * f(b, c * 0).square(),
    )
    order = torch.cat([torch.zeros(1, dtype=torch.long), torch.randperm(6) + 1])
    close(f(a[:, order], b[:, order]), f(a, b))
    moved = a.clone()
    moved[:, 0] += 13
    close(f(moved, b), f(a, b))
    # and nothing else is in the kernel: only rows with equal contents are at distance 0
    assert (f(a, b) > 0).all()
    basis = contrasts(7)[1:]
    close(torch.linalg.vector_norm((clr(a - b) @ basis.mT), dim=-1), f(a, b))

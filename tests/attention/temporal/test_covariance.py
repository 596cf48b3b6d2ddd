"""The query path as a covariance, and what a sink leaves of it."""

import math

import pytest
import torch

from maa.attention.rows.geometry import log_closure
from maa.attention.temporal.covariance import (
    covariance,
    covariance_parts,
    order_shift,
)
from maa.attention.temporal.jacobian import paths
from maa.attention.temporal.layer import Layer, rows
from tests.attention.rows.helpers import close, mask
from tests.attention.temporal.helpers import STEPS, biases, layer, sequence

V, K = sequence(40, STEPS, 4), sequence(41, STEPS, 3)
LOGITS = sequence(42, 50, STEPS)


def test_a_covariance_by_hand() -> None:
    """Weights 1/4 and 3/4 of two keys: 3/16 times the product of the differences."""
    weights = torch.tensor([0.25, 0.75], dtype=torch.float64)
    found = covariance(weights, V[:2], K[:2])
    close(found, 3 / 16 * torch.outer(V[0] - V[1], K[0] - K[1]))


@pytest.mark.parametrize("name", biases())
@pytest.mark.parametrize("p", [1.0, 1.1, 2.0])
def test_the_query_path_is_a_covariance(name: str, p: float) -> None:
    one, x, bias = layer(43, p=p), sequence(44, STEPS, 5), biases()[name]
    row = rows(one, x, bias)
    v, k = row.values, row.keys
    gain = row.gain[0]
    kept = gain > 0  # rows with a key
    logits = (row.weights[0] / gain[:, None])[kept].log()
    moments = covariance(logits.exp(), v, k)
    shift = order_shift(logits, p, v, k)
    path = gain[kept, None, None] * (moments + shift) @ one.query[0] / math.sqrt(3)
    found = paths(one, x, bias).query
    close(found[kept], path)
    close(found[~kept], 0.0)
    if p == 1:
        close(shift, 0.0, 1e-14)
    else:
        assert shift.abs().max() > 1e-3


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_one_hot_rows_have_no_query_path(p: float) -> None:
    hidden = torch.full((STEPS, STEPS), -math.inf, dtype=torch.float64)
    order = torch.tensor([3, 0, 2, 5, 1, 1])
    bias = hidden.scatter(1, order[:, None], 0.0)
    close(paths(layer(45, 2, p=p), sequence(46, STEPS, 5), bias).query, 0.0)


def test_equal_values_have_no_query_path_at_p_1_alone() -> None:
    """With all values one vector softmax's output cannot move; a gain can."""
    x = sequence(47, STEPS, 5)
    one = layer(48)
    flat, bias = torch.zeros_like(one.value), torch.ones(1, 5, dtype=torch.float64)
    softmax, mass = (
        Layer(one.query, one.key, flat, value_bias=bias, p=p) for p in (1.0, 2.0)
    )
    close(paths(softmax, x).query, 0.0)
    assert paths(mass, x).query.abs().max() > 0.05


@pytest.mark.parametrize("keys", [(0,), (0, 4)])
def test_law_of_total_covariance(keys: tuple[int, ...]) -> None:
    parts = covariance_parts(LOGITS, mask(STEPS, *keys), V, K)
    close(parts.total, covariance(log_closure(LOGITS).exp(), V, K))
    if len(keys) == 1:
        close(parts.sinks, 0.0)
    share = log_closure(LOGITS).exp()[:, list(keys)].sum(-1)[:, None, None]
    content = log_closure(LOGITS, ~mask(STEPS, *keys)).exp()
    close(parts.content, (1 - share) * covariance(content, V, K))


def test_the_query_path_vanishes_with_what_the_sink_leaves() -> None:
    """Not before: it goes to 0 as fast as 1 - s, at p = 1 and beyond."""
    sink = mask(STEPS, 0)
    content, ratios = log_closure(LOGITS, ~sink)[:, 1:], []
    limit = covariance(content.exp(), V[1:], K[1:])
    v, k = (each[0] - content.exp() @ each[1:] for each in (V, K))
    limit = limit + v[:, :, None] * k[:, None, :]
    for left in (1e-2, 1e-5, 1e-8):
        first = torch.full((50, 1), math.log1p(-left), dtype=torch.float64)
        row = torch.cat([first, math.log(left) + content], 1)
        parts = covariance_parts(row, sink, V, K)
        ratios.append((parts.total / left - limit).abs().max().item())
        shift = order_shift(row, 2.0, V, K)
        assert shift.abs().max() < 50 * left
    assert ratios[1] < 1e-4 and ratios[2] < 1e-6


def test_the_order_adds_nothing_to_even_rows() -> None:
    close(order_shift(torch.zeros(3, STEPS, dtype=torch.float64), 2.0, V, K), 0.0)

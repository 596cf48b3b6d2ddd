"""Exact laws of the diagonal's regularisers."""

import itertools
import math

import pytest
import torch

from maa.attention.rows.entropy import entropy, entropy_parts
from maa.attention.rows.evidence import amplitude_elasticity, log_gain
from maa.attention.rows.geometry import distance, log_closure
from maa.attention.rows.split import content_distance, distance_parts
from maa.attention.temporal.diagonal import (
    dropout_mean,
    dropout_weights,
    entropy_after,
    log_gain_after,
    own_key,
    own_keys,
    own_share,
    penalty_bias,
    penalty_distance,
)
from maa.attention.temporal.jacobian import paths
from maa.attention.temporal.layer import rows
from tests.attention.rows.helpers import close
from tests.attention.temporal.helpers import STEPS, biases, layer, sequence

LOGITS = 2 * sequence(30, 4, STEPS, STEPS)
CAUSAL = LOGITS + biases()["causal"]
OWN = own_keys(STEPS)
PENALTIES = (-0.05, -1.0, -30.0, 2.0)


@pytest.mark.parametrize("b", PENALTIES)
def test_a_penalty_moves_one_number_of_a_row(b: float) -> None:
    after = LOGITS + penalty_bias(STEPS, b)
    share = log_closure(after).exp().diagonal(dim1=-2, dim2=-1)
    close(own_share(own_key(LOGITS), b), share)
    close(content_distance(LOGITS, after, OWN), 0.0)
    close(distance(LOGITS, after), penalty_distance(STEPS, b))
    parts = distance_parts(LOGITS, after, (OWN,))
    close(parts.balance[0].sqrt(), penalty_distance(STEPS, b))


def test_penalties_on_an_even_row_of_twelve() -> None:
    row = own_key(torch.zeros(12, 12, dtype=torch.float64))
    for b in (-0.05, -0.1, -1.0, -3.0):
        close(own_share(row, b), math.exp(b) / (11 + math.exp(b)))


def test_a_mask_is_the_drop_convention_with_the_own_key_as_sink() -> None:
    after = log_closure(LOGITS + penalty_bias(STEPS, -math.inf))
    close(after.exp(), log_closure(LOGITS, ~OWN).exp())
    far = log_closure(LOGITS + penalty_bias(STEPS, -60.0))
    close(far.exp(), after.exp(), 1e-12)


@pytest.mark.parametrize("b", [*PENALTIES, 0.0, -math.inf])
@pytest.mark.parametrize("p", [1.1, 2.0])
def test_entropy_and_gain_follow_from_the_row_before(b: float, p: float) -> None:
    for logits in (LOGITS, CAUSAL):
        row, after = own_key(logits, p), logits + penalty_bias(STEPS, b)
        kept = slice(1, None) if b == -math.inf else slice(None)  # row 0 of CAUSAL
        inside = after > -math.inf
        close(entropy_after(row, b)[:, kept], entropy(after, inside)[:, kept])
        close(log_gain_after(row, b, p)[:, kept], log_gain(after, p, inside)[:, kept])


def test_under_a_mask_entropy_and_gain_are_those_of_the_others() -> None:
    row = own_key(LOGITS, 2.0)
    close(entropy_after(row, -math.inf), entropy_parts(LOGITS, OWN).content)
    others = log_closure(LOGITS, ~OWN).exp().square().sum(-1).rsqrt()
    close(log_gain_after(row, -math.inf, 2.0).exp(), others)


def test_a_mask_makes_softmax_blind_to_repetition() -> None:
    """The elasticity of all others is the own share, which a penalty lowers to 0."""
    row, before = own_key(LOGITS), torch.inf
    for b in (0.0, -0.1, -1.0, -math.inf):
        found = amplitude_elasticity(LOGITS + penalty_bias(STEPS, b), 1.0, ~OWN)
        close(found, own_share(row, b), 1e-12)
        assert (found < before).all()
        before = found
    close(before, 0.0, 1e-12)


def test_dropout_is_a_mean_over_all_sets_of_positions() -> None:
    """Enumerated: of the weights, and of the Jacobian, which follow row by row."""
    size, rate = 4, 0.3
    one, x = layer(31, 2), sequence(32, size, 5)
    logits = sequence(33, size, size)
    weights, jacobian = torch.zeros_like(logits), 0.0
    for dropped in itertools.product((False, True), repeat=size):
        held = torch.tensor(dropped)
        chance = rate ** sum(dropped) * (1 - rate) ** (size - sum(dropped))
        bias = torch.zeros_like(logits).masked_fill(torch.diag(held), -math.inf)
        weights += chance * torch.softmax(logits + bias, -1)
        jacobian = jacobian + chance * paths(one, x, bias).total
    close(dropout_weights(logits, rate), weights)
    plain, mask = paths(one, x), paths(one, x, penalty_bias(size, -math.inf))
    close(dropout_mean(plain.total, mask.total, rate), jacobian)
    a = torch.softmax(logits, -1)
    own = a.diagonal()
    expected = (1 - rate) * a + rate * a / (1 - own[:, None])
    expected.diagonal().copy_((1 - rate) * own)
    close(weights, expected)


def test_heads_of_a_layer_obey_the_law() -> None:
    one, x = layer(34, 3), sequence(35, STEPS, 5)
    before, after = (
        rows(one, x, penalty_bias(STEPS, b)).softmax.diagonal(dim1=-2, dim2=-1)
        for b in (0.0, -0.7)
    )
    close(after.logit(), before.logit() - 0.7)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="lies in"):
        dropout_weights(LOGITS, 1.2)
    with pytest.raises(ValueError, match="finite p"):
        own_key(LOGITS, math.inf)
    with pytest.raises(ValueError, match=r"\(\.\.\., T, T\), got \[4, 6, 5\]"):
        own_key(LOGITS[..., :5])

"""The paper's bounds: where they hold, and where its reading fails."""

import math
from functools import cache

import pytest
import torch
from torch import Tensor

from maa.attention.temporal.bounds import QUANTITIES, compare, constants
from maa.attention.temporal.diagonal import penalty_bias
from maa.attention.temporal.jacobian import paths
from maa.attention.temporal.layer import Layer, rows
from maa.attention.temporal.norms import norms
from maa.attention.temporal.scaling import Setting, draw
from maa.attention.temporal.scaling import experiment as uncached
from tests.attention.rows.helpers import close
from tests.attention.temporal.helpers import biases, layer, sequence

experiment = cache(uncached)
MASK = Setting(penalty=-math.inf)
LONG = (8, 64, 512)


def scalar(query: float = 1.0, key: float = 1.0, residual: bool = True) -> Layer:
    """A layer of width 1 with W_V = 1."""
    weights = (torch.full((1, 1, 1), w, dtype=torch.float64) for w in (query, key, 1))
    return Layer(*weights, residual=residual)


def steps(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


@pytest.mark.parametrize(
    "setting",
    [Setting(), MASK, Setting(p=1.1, sharpness=2)],
)
def test_sound_bounds_hold_at_every_length(setting: Setting) -> None:
    table = experiment(setting, LONG, (0,)).dropna()
    assert set(table["quantity"]) >= set(QUANTITIES)
    assert (table["unsound"] == 0).all()


@pytest.mark.parametrize("name", biases())
@pytest.mark.parametrize("p", [1.0, 1.1, 2.0])
def test_sound_bounds_hold_for_heads_biases_and_sharp_rows(name: str, p: float) -> None:
    for seed in range(10):
        one = layer(seed, 1 + seed % 3, biased=True, p=p, residual=seed % 2 == 0)
        table = compare(one, 3 * sequence(seed, 2, 6, 5), biases()[name])
        assert (table["unsound"] == 0).all(), seed


@pytest.mark.parametrize("setting", [Setting(), MASK])
def test_unconditional_bounds_and_the_mean_off_the_diagonal_hold(
    setting: Setting,
) -> None:
    table = experiment(setting, LONG, (0,)).set_index("quantity")
    for quantity in ("value", "key", "off_diagonal"):
        assert (table.loc[quantity, "exceeds"] == 0).all(), quantity
    value = table.loc["value"]
    close(*(torch.tensor(value[name].to_numpy()) for name in ("value", "bound")))


def test_a_mask_does_not_remove_the_query_path() -> None:
    """It removes exactly the value and the key path of the own time step."""
    for seed in range(20):
        one, x = draw(Setting(), 12, seed)
        mask = penalty_bias(12, -math.inf)
        plain, masked = norms(one, x), norms(one, x, mask)
        close(masked.attended, 0.0, 0.0)
        assert 0.7 < masked.query.mean() / plain.query.mean() < 1.4
        found = paths(one, x, mask)
        own = found.total.diagonal(dim1=0, dim2=1).permute(2, 0, 1)
        close(own, found.query + torch.eye(6, dtype=torch.float64))


def test_the_own_weight_does_not_bound_the_query_path_by_hand() -> None:
    """Row 0 asks with q = 0 and attends evenly to x = 2 and -2, not to itself.

    Its covariance of values and keys is 4, so that J_00 = 1 + 4; the paper's bound is
    1 + (1 + 2 * 2 * 2) / 3 + 0 = 4.
    """
    one, x, mask = scalar(), steps(0, 2, -2), penalty_bias(3, -math.inf)
    row = rows(one, x, mask)
    close(row.softmax[0].diagonal(), 0.0)
    found = norms(one, x, mask)
    assert found.query[0].item() == pytest.approx(4)
    assert found.diagonal[0].item() == pytest.approx(5)
    given = constants(one, row)
    assert [float(c) for c in (given.value, given.key, given.query)] == [1, 8, 8]
    table = compare(one, x, mask).set_index("quantity")
    assert table.loc["query", "bound"] == 0
    assert table.loc["diagonal", "bound"] == pytest.approx(4)
    assert table.loc["diagonal", "exceeds"] >= 1 / 3


def test_the_factor_fails_without_a_mask_as_sequences_grow() -> None:
    table = experiment(Setting(), LONG, (0,)).set_index(["quantity", "T"])
    shares = table.loc["query", "exceeds"]
    assert shares[8] < shares[64] < shares[512]
    assert shares[512] > 0.9
    assert table.loc[("diagonal", 512), "exceeds"] > 0.5


def test_a_mean_over_time_steps_does_not_bound_one_of_them_by_hand() -> None:
    """Row 0 of 200 attends to step 1 alone: its block is all but W_V."""
    one = scalar(query=12, key=-1, residual=False)
    x = steps(1, -1, *[0] * 198)
    own = math.exp(-12) / (math.exp(12) + math.exp(-12) + 198)
    weight = math.exp(12) / (math.exp(12) + math.exp(-12) + 198)
    output = own - weight
    block = weight + weight * (-1 - output) * -12
    found = norms(one, x)
    assert found.total[0, 1].item() == pytest.approx(block)
    table = compare(one, x).set_index("quantity")
    bound = (1 + 2 * 12) / 200
    assert table.loc["off_diagonal_largest", "bound"] == pytest.approx(bound)
    assert block > 8 * bound
    assert found.total[0].mean() < bound
    assert table.loc["off_diagonal", "exceeds"] == 0


def test_the_conditional_value_bound_is_broken_by_every_masked_row() -> None:
    """T / (T - 1) times too small: the mask moves all value paths off the diagonal."""
    table = experiment(MASK, (8, 64), (0,)).set_index(["quantity", "T"])
    for length in (8, 64):
        line = table.loc[("off_diagonal_value", length)]
        assert line["exceeds"] == 1
        assert line["value"] / line["bound"] == pytest.approx(length / (length - 1))
        assert line["value"] == pytest.approx(line["sound"])


def test_a_row_attends_to_itself_beyond_the_bound_of_its_own_step() -> None:
    """1 / T is no bound on a_ii: a penalty above 0 is enough."""
    setting = Setting(penalty=6.0, sharpness=0.1)
    line = experiment(setting, (64,), (0,)).set_index("quantity")
    assert line.loc["diagonal_attention", "exceeds"] > 0.9


def test_one_time_step_has_no_off_diagonal() -> None:
    with pytest.raises(ValueError, match="2 time steps or more, got 1"):
        compare(scalar(), steps(1))

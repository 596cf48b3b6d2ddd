"""Regularisers of the diagonal: their exact laws, and what is refused."""

import math

import pytest
import torch

from maa.attention import lp_normalize, parse_operator
from maa.attention.aggregation.base import draw
from maa.errors import UserError

T, HEADS = 6, 3
SEEN = torch.ones(T, dtype=torch.bool)
OWN = torch.eye(T, dtype=torch.bool)[:, None]


def logits(seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(4, T, HEADS, T, generator=generator, dtype=torch.float64)


def rule(name: str) -> torch.nn.Module:
    return parse_operator(name).aggregator(HEADS, HEADS, HEADS)


def weights(name: str, rows: torch.Tensor, training: bool = False) -> torch.Tensor:
    module = rule(name).train(training)
    draw(module, torch.Generator().manual_seed(5))
    return module.weights(rows, SEEN, rows)


def own(rows: torch.Tensor) -> torch.Tensor:
    return rows[OWN.expand_as(rows)].view(rows.shape[:-1])


@pytest.mark.parametrize("strength", ["0.10", "3.00"])
def test_a_penalty_moves_the_logit_of_the_own_share_by_itself(strength):
    rows, by = logits(), float(strength)
    before, after = rows.softmax(-1), weights(f"diagonal-penalty{strength}", rows)
    torch.testing.assert_close(own(after).logit(), own(before).logit() - by)
    torch.testing.assert_close(after.sum(-1), torch.ones_like(after[..., 0]))
    # what is not the diagonal keeps its proportions, and so the distance is the law's
    free = ~OWN.expand_as(rows)
    ratio = torch.where(free, after / before, 0)
    torch.testing.assert_close(ratio.amax(-1), (ratio.sum(-1) / (T - 1)))
    shift = (after / before).log()
    apart = (shift - shift.mean(-1, keepdim=True)).norm(dim=-1)
    expected = torch.full_like(apart, math.sqrt((T - 1) / T) * by)
    torch.testing.assert_close(apart, expected)


def test_a_mask_drops_the_diagonal_and_renormalises():
    rows = logits()
    plain = rows.softmax(-1)
    expected = torch.where(OWN, 0, plain)
    expected = expected / expected.sum(-1, keepdim=True)
    torch.testing.assert_close(weights("diagonal-mask", rows), expected)
    limit = weights("diagonal-penalty9.99", 0.1 * rows)
    torch.testing.assert_close(
        limit, weights("diagonal-mask", 0.1 * rows), atol=1e-3, rtol=0
    )


def test_with_a_power_the_gain_is_that_of_the_rest():
    rows = logits()
    masked = weights("p2.00-diagonal-mask", rows)
    rest = torch.where(OWN, -math.inf, rows)
    torch.testing.assert_close(masked, lp_normalize(rest, 2.0))
    torch.testing.assert_close((masked**2).sum(-1), torch.ones_like(masked[..., 0]))


def test_logit_dropout_takes_one_set_of_positions_for_all_rows():
    rows = logits()
    plain = rows.softmax(-1)
    found = weights("diagonal-dropout0.50", rows, training=True)
    gone = own(found) == 0
    positions = gone.flatten(2).any(-1)
    assert (positions == positions[0]).all() and (gone == gone[:, :, :1]).all()
    assert 0 < positions[0].sum() < T
    kept = ~positions[0]
    torch.testing.assert_close(found[:, kept], plain[:, kept])
    dropped = torch.where(OWN, 0, plain)[:, ~kept]
    expected = dropped / dropped.sum(-1, keepdim=True)
    torch.testing.assert_close(found[:, ~kept], expected)
    torch.testing.assert_close(found.sum(-1), torch.ones_like(found[..., 0]))


def test_logit_dropout_has_the_mean_of_the_law():
    rows, module = logits(), rule("diagonal-dropout0.20").train()
    source, total = torch.Generator().manual_seed(1), torch.zeros_like(rows)
    draws = 4000
    for _ in range(draws):
        draw(module, source)
        total += module.weights(rows, SEEN, rows)
    plain = rows.softmax(-1)
    share = own(plain).unsqueeze(-1)
    expected = 0.8 * plain + 0.2 * plain / (1 - share)
    expected = torch.where(OWN, 0.8 * plain, expected)
    torch.testing.assert_close(total / draws, expected, atol=0.02, rtol=0)


def test_a_step_in_slices_meets_one_draw_and_the_next_step_another():
    rows, module = logits(), rule("diagonal-dropout0.50").train()
    source = torch.Generator().manual_seed(2)
    seen = []
    for _ in range(8):
        draw(module, source)
        first, second = (own(module.weights(rows, SEEN, rows)) == 0 for _ in range(2))
        assert (first == second).all()
        seen.append(tuple(first[0, :, 0].tolist()))
    assert len(set(seen)) > 2


def test_weight_dropout_drops_and_scales_single_weights():
    rows = torch.zeros(2000, T, HEADS, T, dtype=torch.float64)
    found = weights("diagonal-dropout-weights0.20", rows, training=True)
    values = own(found)
    assert sorted(values.unique().tolist()) == pytest.approx([0, 1 / T / 0.8])
    assert (values == 0).double().mean() == pytest.approx(0.2, abs=0.01)
    plain = torch.full_like(found, 1 / T)
    torch.testing.assert_close(torch.where(OWN, plain, found), plain)
    by_row = (values == 0).double().flatten(1)
    assert by_row.mean(1).min() > 0 or by_row.mean(1).std() > 0


@pytest.mark.parametrize("kind", ["dropout", "dropout-weights"])
def test_dropout_is_for_training_alone_and_has_a_stream_of_its_own(kind):
    rows, name = logits(), f"diagonal-{kind}0.20"
    torch.testing.assert_close(weights(name, rows), lp_normalize(rows, 1.0))
    torch.manual_seed(3)
    before = torch.get_rng_state()
    weights(name, rows, training=True)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_size_of_a_weak_penalty_on_even_rows():
    # the table of the effect at T = 12: .0833 to .0796, .0760, .0324 and .0045
    rows = torch.zeros(1, 12, 1, 12, dtype=torch.float64)
    seen = torch.ones(12, dtype=torch.bool)
    for strength, expected in (("0.05", 0.0796), ("0.10", 0.0760), ("1.00", 0.0324)):
        module = rule(f"diagonal-penalty{strength}")
        assert module.weights(rows, seen, rows)[0, 0, 0, 0] == pytest.approx(
            expected, abs=5e-5
        )


def test_rows_that_are_no_self_attention_are_refused():
    rows = torch.zeros(5, 2, HEADS, T)
    with pytest.raises(UserError, match="diagonal-mask treats a row's own key apart"):
        rule("diagonal-mask").weights(rows, SEEN, rows)


@pytest.mark.parametrize(
    "name",
    ["diagonal", "diagonal-dropout", "diagonal-mask0.10", "p0.50-diagonal-mask"],
)
def test_names_that_say_nothing_are_refused(name):
    with pytest.raises(UserError, match="a regulariser of the diagonal"):
        parse_operator(name)


def test_dropping_all_is_refused():
    with pytest.raises(UserError, match=r"probability 1.00; expected one below 1"):
        parse_operator("diagonal-dropout1.00")

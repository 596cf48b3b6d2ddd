"""Every operator against its formula, by hand, and what the controls must keep."""

import math

import pytest
import torch
from torch import Tensor, nn

from maa.attention import lp_gain, lp_normalize, parse_operator
from maa.attention.aggregation.base import anneal

HEADS, WIDTH, ASKED, KEYS = 2, 6, 5, 4
NAMES = [
    *("p1.00", "p1.10", "pinf", "p2.00to1.10", "p1.10-l2", "p1.10-uniform"),
    *("p1.10-length", "cpa-additive", "cpa-scaled", "nap", "affine", "sigmoid"),
]


def drawn(seed: int = 0, rows: int = 3) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits [rows, HEADS, KEYS], a mask, queries, and values [rows, KEYS, WIDTH]."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    mask = torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]]).bool()
    mask = mask[torch.arange(rows) % 3].unsqueeze(1)
    return (
        normal(rows, HEADS, KEYS),
        mask,
        normal(rows, ASKED),
        normal(rows, KEYS, WIDTH),
    )


def aggregate(
    module: nn.Module, logits: Tensor, mask: Tensor, query: Tensor, values: Tensor
) -> Tensor:
    """Apply an aggregator to plain values, without dropout."""
    heads = logits.shape[-2]

    def pool(weights: Tensor) -> Tensor:
        split = values.unflatten(-1, (heads, -1)).transpose(1, 2)
        return (weights.unsqueeze(-2) @ split).squeeze(-2).flatten(1)

    output: Tensor = module(logits, mask, query, pool=pool, drop=lambda w: w)
    return output


def made(name: str, heads: int = HEADS) -> nn.Module:
    return parse_operator(name).aggregator(heads, WIDTH, ASKED).double()


def softmax_output() -> Tensor:
    return aggregate(made("p1.00"), *drawn())


def test_softmax_and_mass_aware_attention_are_the_operators_own() -> None:
    logits, mask, query, _ = drawn()
    for name, p in (("p1.00", 1.0), ("p1.10", 1.1), ("pinf", math.inf)):
        found = made(name).weights(logits, mask, query)
        assert torch.equal(found, lp_normalize(logits, p, mask))


def test_a_schedule_moves_p_over_the_epochs_and_ends_exactly_there() -> None:
    module = made("p2.00to1.10")
    orders = [module.p]
    for epoch in range(4):
        anneal(nn.Sequential(module), epoch / 3)
        orders.append(module.p)
    assert orders == pytest.approx([1.1, 2.0, 1.7, 1.4, 1.1])
    assert orders[0] == orders[-1] == 1.1
    fixed = made("p1.10")
    anneal(fixed, 0.0)
    assert fixed.p == 1.1


def test_a_normalised_output_is_the_plain_one_over_its_length() -> None:
    for name in ("p1.00", "p1.30"):
        plain = aggregate(made(name), *drawn())
        found = aggregate(made(f"{name}-l2"), *drawn())
        expected = plain / plain.norm(dim=-1, keepdim=True)
        torch.testing.assert_close(found, expected)


def test_with_one_head_all_normalised_powers_are_the_same_bits() -> None:
    logits, mask, query, values = drawn()
    found = []
    for name in ("p1.00-l2", "p1.10-l2", "p2.00-l2"):
        asked = logits[:, :1].clone().requires_grad_()
        output = aggregate(made(name, heads=1), asked, mask, query, values)
        (gradient,) = torch.autograd.grad(output.cos().sum(), asked)
        found.append((output, gradient))
    for output, gradient in found[1:]:
        assert torch.equal(output, found[0][0])
        assert torch.equal(gradient, found[0][1])


def test_with_two_heads_normalised_powers_differ() -> None:
    outputs = [aggregate(made(f"{p}-l2"), *drawn()) for p in ("p1.00", "p2.00")]
    assert (outputs[0] - outputs[1]).abs().max() > 0.01


def test_the_uniform_scale_is_the_mean_gain_and_freezes() -> None:
    module = made("p1.50-uniform")
    logits, mask, query, _ = drawn()
    other = 3 * logits
    softmax = lp_normalize(logits, 1.0, mask)
    assert torch.equal(module.eval().weights(logits, mask, query), softmax)
    module.train()
    means = []
    for step, asked in enumerate((logits, other, other), start=1):
        means.append(lp_gain(asked, 1.5, mask).mean(0))
        found = module.weights(asked, mask, query)
        expected = torch.stack(means).mean(0).unsqueeze(-1)
        torch.testing.assert_close(found, lp_normalize(asked, 1.0, mask) * expected)
        assert module.batches.item() == step
    frozen = module.gain.clone()
    found = module.eval().weights(logits, mask, query)
    torch.testing.assert_close(found, softmax * frozen.unsqueeze(-1))


def test_a_row_without_keys_does_not_count_in_the_uniform_scale() -> None:
    logits, mask, query, _ = drawn()
    empty = torch.cat([mask, torch.zeros_like(mask[:1])])
    longer = torch.cat([logits, logits[:1]])
    modules = [made("p1.50-uniform"), made("p1.50-uniform")]
    modules[0].weights(logits, mask, query)
    modules[1].weights(longer, empty, query)
    torch.testing.assert_close(modules[0].gain, modules[1].gain)


def test_the_length_scale_is_the_bound_of_the_gain() -> None:
    logits, mask, query, _ = drawn()
    found = made("p1.10-length").weights(logits, mask, query).sum(-1)
    counts = torch.tensor([4.0, 3.0, 1.0], dtype=torch.float64)
    expected = (counts ** (1 - 1 / 1.1)).unsqueeze(1).expand(3, HEADS)
    torch.testing.assert_close(found, expected)
    assert (lp_gain(logits, 1.1, mask) <= expected + 1e-12).all()


def test_cpa_starts_as_published() -> None:
    _, mask, _, values = drawn()
    counts = mask.sum(-1).double()
    sums = (values * mask.squeeze(1).unsqueeze(-1)).sum(1)
    torch.testing.assert_close(
        aggregate(made("cpa-additive"), *drawn()), softmax_output() + sums
    )
    torch.testing.assert_close(
        aggregate(made("cpa-scaled"), *drawn()), softmax_output() * counts
    )


def test_cpa_learns_its_scale_by_channel() -> None:
    module = made("cpa-scaled")
    with torch.no_grad():
        module.b1.fill_(-2.0)
        module.b2.copy_(torch.arange(WIDTH))
    counts = drawn()[1].sum(-1).double()
    scale = (counts - 2).clamp(min=0) + torch.arange(WIDTH)
    torch.testing.assert_close(aggregate(module, *drawn()), softmax_output() * scale)


def test_normalised_pooling_standardises_the_valid_logits() -> None:
    module = made("nap")
    with torch.no_grad():
        module.slope[1] = 3.0
        module.offset[1] = 0.5
    logits, mask, query, _ = drawn()
    found = module.weights(logits, mask, query)
    row = logits[1, 1, 1:]
    expected = 3 * (row - row.mean()) / (row.std(unbiased=False) + 1e-3) + 0.5
    torch.testing.assert_close(found[1, 1, 1:], expected)
    assert found[1, 1, 0] == 0
    assert found[2, 0].tolist() == [0, 0, 0, 0], "one key deviates from nothing"


def test_affine_scaling_moves_mass_and_keeps_its_sum() -> None:
    module = made("affine")
    logits, mask, query, _ = drawn()
    strength = (0.1 * module.strength(query) + 0.5).clamp(0, 1)
    found = module.train().weights(logits, mask, query)
    mean = 0.1 * strength.mean(0)
    torch.testing.assert_close(module.mean, mean)
    torch.testing.assert_close(found.sum(-1), mean.expand(3, HEADS))
    one = strength[1, 0] * logits[1, 0, 1:].softmax(0) + (mean[0] - strength[1, 0]) / 3
    torch.testing.assert_close(found[1, 0, 1:], one)
    assert found[1, 0, 0] == 0
    before = module.mean.clone()
    module.eval().weights(logits, mask, query)
    assert torch.equal(module.mean, before)


def test_sigmoid_weights_are_not_normalised() -> None:
    logits, mask, query, _ = drawn()
    found = made("sigmoid").weights(logits, mask, query)
    expected = 1 / (1 + 3 * math.exp(-logits[1, 0, 2].item()))
    assert found[1, 0, 2].item() == pytest.approx(expected)
    assert found[1, 0, 0] == 0


@pytest.mark.parametrize("name", NAMES)
def test_padding_never_counts_and_gradients_are_finite(name: str) -> None:
    logits, mask, query, values = drawn()
    asked = logits.clone().requires_grad_()
    empty = mask.clone()
    empty[2] = False
    module = made(name).eval()
    output = aggregate(module, asked, empty, query, values)
    garbage = torch.where(empty, logits, 7.0)
    assert torch.equal(output, aggregate(module, garbage, empty, query, values))
    assert torch.equal(output[2], torch.zeros(WIDTH, dtype=torch.float64))
    output.square().sum().backward()
    assert asked.grad is not None and asked.grad.isfinite().all()
    assert (asked.grad[~empty.expand_as(logits)] == 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_building_draws_from_no_random_stream(name: str) -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    first, second = made(name), made(name)
    assert torch.equal(before, torch.random.get_rng_state())
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)

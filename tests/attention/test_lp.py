"""The paper's equations 1 to 6 and the numerics of the normaliser."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import entropy
from torch import Tensor

from maa.attention import g_p, log_norms, lp_gain, lp_normalize

ORDERS = [1.0, 1.02, 1.1, 1.3, 2.0, 7.5, math.inf]


def random_logits(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64) * 3


@st.composite
def masked_logits(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    n = draw(st.integers(1, 40))
    rows = draw(
        hnp.arrays(np.float64, (3, n), elements=st.floats(-60, 60, allow_nan=False))
    )
    mask = draw(hnp.arrays(np.bool_, (3, n)))
    return torch.from_numpy(rows), torch.from_numpy(mask)


@pytest.mark.parametrize("p", [1.0, 1.1, 2.0, 5.0])
def test_weights_follow_equation_3_computed_by_hand(p: float) -> None:
    logits = torch.tensor([0.0, math.log(2.0), math.log(4.0)], dtype=torch.float64)
    mass = np.array([0.25, 0.5, 1.0])
    expected = mass / (mass**p).sum() ** (1 / p)
    np.testing.assert_allclose(lp_normalize(logits, p).numpy(), expected, rtol=1e-14)


def test_p_inf_divides_by_the_largest() -> None:
    logits = torch.tensor([[0.0, math.log(2.0), math.log(4.0)]])
    torch.testing.assert_close(
        lp_normalize(logits, math.inf), torch.tensor([[0.25, 0.5, 1.0]])
    )


def test_a_huge_finite_p_is_as_good_as_inf() -> None:
    logits = random_logits(4, 9).float()
    limit = lp_normalize(logits, math.inf)
    for p in (1e30, 1e300):
        torch.testing.assert_close(lp_normalize(logits, p), limit)


def test_p_1_is_softmax_over_valid_keys() -> None:
    logits, mask = random_logits(5, 12), random_logits(5, 12, seed=1) > 0
    expected = torch.softmax(logits.masked_fill(~mask, -math.inf), -1)
    torch.testing.assert_close(lp_normalize(logits, 1.0, mask), expected)


@pytest.mark.parametrize("p", ORDERS)
def test_equation_4_weights_are_softmax_times_the_gain(p: float) -> None:
    logits, mask = random_logits(6, 15), random_logits(6, 15, seed=2) > -2
    alpha = torch.softmax(logits.masked_fill(~mask, -math.inf), -1)
    gain = 1 / torch.linalg.vector_norm(alpha, p, -1)
    torch.testing.assert_close(lp_gain(logits, p, mask), gain)
    torch.testing.assert_close(lp_normalize(logits, p, mask), gain[:, None] * alpha)


@settings(max_examples=150, deadline=None)
@given(masked_logits(), st.one_of(st.floats(1, 50), st.just(math.inf)))
def test_equation_5_bounds(rows: tuple[Tensor, Tensor], p: float) -> None:
    logits, mask = rows
    gain, weights = lp_gain(logits, p, mask), lp_normalize(logits, p, mask)
    valid = mask.sum(-1).clamp(min=1).double()
    assert (gain >= 1 - 1e-12).all()
    assert (gain <= valid ** (1 - 1 / p) * (1 + 1e-12)).all()
    total = torch.where(mask.any(-1), gain, 0.0)
    torch.testing.assert_close(weights.sum(-1), total)
    assert (weights[~mask] == 0).all()
    assert ((weights >= 0) & (weights <= 1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("p", "n", "gain"),
    [(1.1, 20, 20 ** (1 / 11)), (1.1, 50, 1.427), (1.3, 65, 2.62), (math.inf, 7, 7.0)],
)
def test_uniform_rows_reach_the_upper_bound(p: float, n: int, gain: float) -> None:
    result = lp_gain(torch.full((n,), -3.7, dtype=torch.float64), p).item()
    assert result == pytest.approx(gain, rel=2e-3)
    assert result == pytest.approx(n ** (1 - 1 / p), rel=1e-12)


def test_one_valid_key_has_no_gain() -> None:
    logits, mask = random_logits(1, 8), torch.zeros(1, 8, dtype=torch.bool)
    mask[0, 3] = True
    for p in ORDERS:
        assert lp_gain(logits, p, mask).item() == 1.0
        assert lp_normalize(logits, p, mask)[0, 3].item() == 1.0


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("copies", [2, 5])
def test_repetition_equations_2_and_6(p: float, copies: int) -> None:
    logits, values = random_logits(9), random_logits(9, 4, seed=3)
    once = lp_normalize(logits, p) @ values
    repeated = lp_normalize(logits.repeat(copies), p) @ values.repeat(copies, 1)
    torch.testing.assert_close(repeated, copies ** (1 - 1 / p) * once)


@pytest.mark.parametrize("p", [1.02, 1.1, 2.0, 7.5])
def test_gain_is_the_exponential_of_renyi_entropy(p: float) -> None:
    logits = random_logits(10)
    alpha = torch.softmax(logits, -1).numpy()
    renyi = np.log((alpha**p).sum()) / (1 - p)
    hill = (alpha**p).sum() ** (1 / (1 - p))
    gain = lp_gain(logits, p).item()
    assert gain == pytest.approx(np.exp((1 - 1 / p) * renyi), rel=1e-12)
    assert gain == pytest.approx(hill ** (1 - 1 / p), rel=1e-12)


def test_gain_near_p_1_grows_with_shannon_entropy() -> None:
    # H_p tends to Shannon's entropy, so d log g / d p at 1 is the entropy itself.
    logits, step = random_logits(10), 1e-6
    slope = math.log(lp_gain(logits, 1 + step).item()) / step
    assert slope == pytest.approx(entropy(torch.softmax(logits, -1).numpy()), rel=1e-4)


def test_log_norms_are_relative_to_the_maximum() -> None:
    logits = torch.tensor([[2.0, 2.0 + math.log(3.0)], [7.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True], [False, False]])
    first, second = log_norms(logits, 2.0, mask)
    by_hand = [math.log(1 + 1 / 3), 0.5 * math.log(1 + 1 / 9)]
    torch.testing.assert_close(
        torch.stack([first, second]).T,
        torch.tensor([by_hand, [0.0, 0.0]], dtype=torch.float64),
    )
    assert lp_gain(logits, 2.0, mask)[1].item() == 1.0
    assert log_norms(logits, math.inf)[1].tolist() == [0.0, 0.0]
    torch.testing.assert_close(*log_norms(logits, 1.0))


def test_the_alias_is_the_gain() -> None:
    assert g_p is lp_gain


def test_other_dimensions_than_the_last() -> None:
    logits, mask = random_logits(3, 7, 2), random_logits(3, 7, 2, seed=4) > 0
    moved = lp_normalize(logits.movedim(1, -1), 1.3, mask.movedim(1, -1))
    torch.testing.assert_close(lp_normalize(logits, 1.3, mask, 1), moved.movedim(-1, 1))
    gain = lp_gain(logits.movedim(1, -1), 1.3, mask.movedim(1, -1))
    torch.testing.assert_close(lp_gain(logits, 1.3, mask, dim=1), gain)


def test_a_broadcast_mask_equals_its_expansion() -> None:
    logits, mask = random_logits(4, 3, 6), random_logits(4, 1, 6, seed=5) > 0
    expanded = mask.expand(4, 3, 6)
    torch.testing.assert_close(
        lp_normalize(logits, 1.1, mask), lp_normalize(logits, 1.1, expanded)
    )


def test_padding_is_not_read() -> None:
    mask = torch.tensor([True, False, True, False])
    logits = torch.tensor([1.0, math.nan, 2.0, math.inf], requires_grad=True)
    weights = lp_normalize(logits, 1.1, mask)
    short = lp_normalize(torch.tensor([1.0, 2.0]), 1.1)
    torch.testing.assert_close(weights[mask], short)
    assert weights[~mask].tolist() == [0.0, 0.0]
    weights[0].backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad[~mask].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("p", ORDERS)
def test_a_row_without_a_valid_key_is_zero_with_finite_gradients(p: float) -> None:
    logits = random_logits(3, 5).requires_grad_()
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[1] = False
    weights = lp_normalize(logits, p, mask)
    gain = lp_gain(logits, p, mask)
    assert weights[1].tolist() == [0.0] * 5
    ((weights * random_logits(3, 5, seed=6)).sum() + gain.sum()).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad[1].tolist() == [0.0] * 5
    assert logits.grad[0].abs().max() > 0 or p == math.inf


def test_minus_infinity_is_an_absent_key() -> None:
    logits = torch.tensor([[0.5, -math.inf, 1.5], [-math.inf] * 3])
    weights = lp_normalize(logits, 1.2)
    torch.testing.assert_close(
        weights[0, ::2], lp_normalize(torch.tensor([0.5, 1.5]), 1.2)
    )
    assert weights[:, 1].tolist() == [0.0, 0.0]
    assert weights[1].tolist() == [0.0] * 3


def test_rows_without_columns_are_empty() -> None:
    logits = torch.zeros(2, 0)
    assert lp_normalize(logits, 1.1).shape == (2, 0)
    assert lp_gain(logits, 1.1).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("p", [1.0, 1.1, 2.0, 10.0, math.inf])
def test_logits_of_ten_thousand(dtype: torch.dtype, p: float) -> None:
    # Where a dtype rounds 1e4 (bfloat16 to 9984) it does so alike on both signs.
    rows = [[1e4, -1e4, 1e4], [-1e4, -1e4, -1e4], [9984.0, 9984.0, -9984.0]]
    logits = torch.tensor(rows, dtype=dtype, requires_grad=True)
    weights = lp_normalize(logits, p)
    two, three = 2 ** (-1 / p), 3 ** (-1 / p)
    expected = [[two, 0.0, two], [three] * 3, [two, two, 0.0]]
    torch.testing.assert_close(weights, torch.tensor(expected, dtype=dtype))
    assert weights.dtype == dtype
    (weights * torch.tensor([1.0, 2.0, 3.0], dtype=dtype)).sum().backward()
    assert logits.grad is not None
    assert logits.grad.dtype == dtype
    assert logits.grad.isfinite().all()
    gain = lp_gain(logits, p)
    expected_gain = [2 * two, 3 * three, 2 * two]
    torch.testing.assert_close(gain, torch.tensor(expected_gain, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_rounds_the_result_alone(dtype: torch.dtype) -> None:
    logits = random_logits(20, 50).to(dtype).requires_grad_()
    exact = logits.detach().double().requires_grad_()
    upstream = random_logits(20, 50, seed=1).to(dtype)
    for function in (lp_normalize, lp_gain):
        result, reference = function(logits, 1.3), function(exact, 1.3)
        torch.testing.assert_close(
            result.double(), reference, rtol=torch.finfo(dtype).eps / 1.9, atol=1e-7
        )
    (lp_normalize(logits, 1.3) * upstream).sum().backward()
    (lp_normalize(exact, 1.3) * upstream.double()).sum().backward()
    assert logits.grad is not None
    assert exact.grad is not None
    # The upstream gradient is rounded once more on its way in.
    error = (logits.grad.double() - exact.grad).abs().max()
    assert error < torch.finfo(dtype).eps * exact.grad.abs().max()


def test_a_shift_of_ten_thousand_costs_no_precision_beyond_the_logits_own() -> None:
    steps = torch.arange(0, 8, dtype=torch.float64) * 2.0**-9
    logits = (steps + 1e4).float()
    expected = lp_normalize(logits.double() - 1e4, 1.1)
    result = lp_normalize(logits, 1.1).double()
    torch.testing.assert_close(result, expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("p", ORDERS)
def test_float32_is_close_to_float64(p: float) -> None:
    logits = random_logits(50, 20) * 5
    exact, single = lp_normalize(logits, p), lp_normalize(logits.float(), p)
    torch.testing.assert_close(single.double(), exact, rtol=3e-5, atol=1e-30)


@pytest.mark.parametrize("p", [1.0, 1.1, 2.0, math.inf])
def test_gradients_and_their_gradients(p: float) -> None:
    logits = random_logits(4, 6).requires_grad_()
    mask = torch.ones(4, 6, dtype=torch.bool)
    mask[0, 2:] = False
    mask[1] = False
    mask[2, 4] = False

    def weights(a: Tensor) -> Tensor:
        return lp_normalize(a, p, mask)

    assert torch.autograd.gradcheck(weights, logits)
    assert torch.autograd.gradgradcheck(weights, logits)
    assert torch.autograd.gradcheck(lambda a: lp_normalize(a, p), logits)
    assert torch.autograd.gradcheck(lambda a: lp_normalize(a, p, mask, 0), logits)
    assert torch.autograd.gradcheck(lambda a: lp_gain(a, p, mask), logits)


def test_p_1_has_the_gradients_of_softmax() -> None:
    logits, upstream = random_logits(4, 6), random_logits(4, 6, seed=7)
    ours, theirs = (logits.clone().requires_grad_() for _ in range(2))
    (lp_normalize(ours, 1.0) * upstream).sum().backward()
    (torch.softmax(theirs, -1) * upstream).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_the_inputs_are_left_alone() -> None:
    logits, mask = random_logits(3, 4), torch.ones(3, 4, dtype=torch.bool)
    before = logits.clone()
    lp_normalize(logits, 1.1)
    lp_normalize(logits, 1.1, mask)
    lp_gain(logits, 1.1)
    assert torch.equal(logits, before)


@pytest.mark.parametrize("p", [0.99, 0.0, -1.0, math.nan, -math.inf])
def test_orders_outside_the_range_are_refused(p: float) -> None:
    for function in (lp_normalize, lp_gain, log_norms):
        with pytest.raises(ValueError, match=r"p must lie in \[1, inf\], got"):
            function(torch.zeros(3), p)


@pytest.mark.parametrize("p", ["1.1", None, True, torch.tensor(1.1)])
def test_orders_of_another_type_are_refused(p: object) -> None:
    with pytest.raises(TypeError, match="p must be a Python float"):
        lp_normalize(torch.zeros(3), p)  # type: ignore[arg-type]


def test_numbers_that_are_no_float_serve_as_orders() -> None:
    logits = random_logits(5)
    for p in (2, np.float32(2.0)):
        assert torch.equal(lp_normalize(logits, p), lp_normalize(logits, 2.0))


@pytest.mark.parametrize("mask", [torch.ones(3), torch.ones(3, dtype=torch.uint8)])
def test_masks_that_are_not_bool_are_refused(mask: Tensor) -> None:
    for function in (lp_normalize, lp_gain):
        with pytest.raises(TypeError, match="mask must be bool"):
            function(torch.zeros(2, 3), 1.1, mask)


@pytest.mark.parametrize("shape", [(4,), (3, 3), (1, 2, 3)])
def test_masks_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"cannot be broadcast to logits of shape \[2"):
        lp_normalize(torch.zeros(2, 3), 1.1, torch.ones(shape, dtype=torch.bool))


def test_logits_that_are_not_floating_are_refused() -> None:
    for function in (lp_normalize, lp_gain):
        with pytest.raises(TypeError, match=r"logits must be floating point, got"):
            function(torch.zeros(3, dtype=torch.int8), 1.1)
    with pytest.raises(ValueError, match="scalar"):
        lp_normalize(torch.tensor(1.0), 1.1)


@pytest.mark.parametrize(
    "device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
)
@pytest.mark.parametrize("p", [1.0, 1.1, 3.0])
def test_each_device_agrees_with_plain_autograd(device: str, p: float) -> None:
    logits, mask = random_logits(8, 20), random_logits(8, 20, seed=8) > 0
    upstream = random_logits(8, 20, seed=9)
    plain, ours = (logits.clone().requires_grad_() for _ in range(2))
    valid = plain.masked_fill(~mask, -math.inf)
    expected = (valid - torch.logsumexp(p * valid, -1, keepdim=True) / p).exp()
    (expected * upstream).sum().backward()
    weights = lp_normalize(ours.to(device), p, mask.to(device))
    (weights * upstream.to(device)).sum().backward()
    torch.testing.assert_close(weights.cpu(), expected)
    torch.testing.assert_close(ours.grad, plain.grad)

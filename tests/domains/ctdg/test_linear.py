"""The detour through a convolution is a linear map, forward and backward."""

import pytest
import torch
import torch.nn.functional as F

from maa.domains.ctdg.backbones.linear import ENOUGH, ROWS, Linear, linear_map, rounded


@pytest.mark.parametrize("rows", [0, 1, 48, ENOUGH, ENOUGH + 1, ENOUGH + 5 * ROWS])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("biased", [True, False])
def test_values_and_gradients_are_torchs(
    rows: int, dtype: torch.dtype, biased: bool
) -> None:
    torch.manual_seed(0)
    layer = Linear(24, 40, bias=biased).to(dtype)
    x = torch.randn(rows, 24, dtype=dtype, requires_grad=True)
    direction = torch.randn(rows, 40, dtype=dtype)
    outputs = layer(x), F.linear(x, layer.weight, layer.bias)
    torch.testing.assert_close(*outputs, atol=1e-5, rtol=1e-5)
    inputs = (x, *layer.parameters())
    gradients = [torch.autograd.grad(y, inputs, direction) for y in outputs]
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-5)


def test_rows_need_not_lie_side_by_side() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(24, ENOUGH).t(), torch.randn(8, 24)
    torch.testing.assert_close(
        linear_map(x, weight, None), F.linear(x, weight), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize(("rows", "expected"), [(0, 0), (1, 16), (16, 16), (17, 32)])
def test_rounding_goes_up(rows: int, expected: int) -> None:
    assert rounded(rows) == expected

"""Packing entries, and linear maps of them."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from maa.domains.ctdg.backbones.packed import ROWS, linear, pack_slots, unpack


def test_valid_entries_come_first_and_others_fill_up():
    valid = torch.tensor([[0, 1, 1], [0, 0, 0], [0, 0, 1]]).bool()
    assert pack_slots(valid).tolist() == [1, 2, 8, 0, 3, 4, 5, 6, 7]
    assert pack_slots(torch.zeros(2, 3, dtype=torch.bool)).tolist() == []


@pytest.mark.parametrize("number", [1, ROWS, ROWS + 1, 3 * ROWS])
def test_packed_matrices_come_in_few_sizes(number):
    torch.manual_seed(number)
    valid = torch.zeros(10, ROWS, dtype=torch.bool)
    where = torch.randperm(valid.numel())[:number]
    valid.view(-1)[where] = True
    slots = pack_slots(valid)
    assert len(slots) % ROWS == 0
    assert number <= len(slots) < number + ROWS
    assert slots[:number].tolist() == sorted(where.tolist())
    assert len(slots.unique()) == len(slots)


def test_unpacking_undoes_packing():
    torch.manual_seed(0)
    valid = torch.rand(7, 9) < 0.5
    values = torch.randn(7, 9, 4)
    slots = pack_slots(valid)
    back = unpack(values.flatten(0, 1)[slots], slots, valid)
    assert torch.equal(back[valid], values[valid])
    packed = torch.zeros(63, dtype=torch.bool)
    packed[slots] = True
    assert (back.flatten(0, 1)[~packed] == 0).all()


@pytest.mark.parametrize("rows", [0, 1, 48])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_linear_maps_and_their_gradients_are_torchs(rows, dtype):
    torch.manual_seed(0)
    layer = nn.Linear(24, 40).to(dtype)
    x = torch.randn(rows, 24, dtype=dtype, requires_grad=True)
    direction = torch.randn(rows, 40, dtype=dtype)
    inputs = (x, layer.weight, layer.bias)
    outputs = linear(x, layer), F.linear(*inputs)
    torch.testing.assert_close(*outputs)
    gradients = [torch.autograd.grad(y, inputs, direction) for y in outputs]
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-5)

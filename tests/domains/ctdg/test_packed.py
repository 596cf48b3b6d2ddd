"""Packing the valid entries of sequences, and laying them out again."""

import pytest
import torch

from maa.domains.ctdg.backbones.packed import ROWS, pack_slots, unpack


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

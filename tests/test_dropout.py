"""Dropout by random words: how much is dropped, and what is left as it was."""

import math

import pytest
import torch

from maa.dropout import Dropout, dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_share_that_is_dropped_and_the_scale_of_the_rest(p: float) -> None:
    torch.manual_seed(0)
    size = 400_001  # not a multiple of the four entries that share a word
    found = dropout(torch.ones(size), p, training=True)
    kept = found[found != 0]
    assert kept.unique().tolist() == pytest.approx([1 / (1 - p)], rel=1e-4)
    deviation = math.sqrt(size * p * (1 - p))
    assert abs(size - len(kept) - p * size) < 4 * deviation


def test_entries_that_share_a_word_are_dropped_independently() -> None:
    torch.manual_seed(0)
    kept = (dropout(torch.ones(100_000, 4), 0.5, training=True) != 0).double()
    correlation = torch.corrcoef(kept.t()) - torch.eye(4)
    assert correlation.abs().max() < 0.02
    assert (kept.mean(0) - 0.5).abs().max() < 0.01


def test_the_gradient_passes_where_the_entry_did() -> None:
    torch.manual_seed(0)
    x = torch.randn(7, 5, requires_grad=True)
    found = dropout(x, 0.3, training=True)
    found.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x, found)


def test_evaluation_and_zero_leave_the_very_tensor() -> None:
    x = torch.randn(3, 3)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
    assert Dropout(0.5).eval()(x) is x
    assert (Dropout(0.9)(x) == 0).any()


def test_a_seed_gives_the_same_entries_again() -> None:
    found = []
    for _ in range(2):
        torch.manual_seed(5)
        found.append(dropout(torch.ones(1000), 0.5, training=True))
    assert torch.equal(*found)

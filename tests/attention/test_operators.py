"""Operators by name."""

import dataclasses
import math

import pytest
import torch

from maa.attention import Operator, lp_normalize, parse_operator
from maa.errors import UserError


@pytest.mark.parametrize(
    ("name", "p"),
    [("p1.00", 1.0), ("p1.02", 1.02), ("p1.10", 1.1), ("p12.50", 12.5)],
)
def test_names_carry_the_order(name: str, p: float) -> None:
    assert parse_operator(name) == Operator(name, p)


def test_pinf_is_the_maximum() -> None:
    assert parse_operator("pinf").p == math.inf


@pytest.mark.parametrize(
    "name",
    [
        *("p1", "p1.1", "p1.100", "p0.90", "p01.10", "p-1.00", "P1.10", "1.10"),
        *("softmax", "", "p1.10 ", "p1,10", "pnan", "p1.\u0661\u0660", "p1.10-l2"),
    ],
)
def test_other_names_are_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(
        UserError, match="is unknown; expected 'p' and a number"
    ) as info:
        parse_operator(name)
    assert repr(name) in str(info.value)
    assert "\n" not in str(info.value)


def test_weights_are_normalised_by_the_operators_order() -> None:
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    mask = torch.arange(5) < 3
    weights = parse_operator("p1.30").weights(logits, mask)
    assert torch.equal(weights, lp_normalize(logits, 1.3, mask))
    softmax = parse_operator("p1.00").weights(logits)
    torch.testing.assert_close(softmax, logits.softmax(-1))


def test_an_operator_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse_operator("p1.10").p = 2.0  # type: ignore[misc]

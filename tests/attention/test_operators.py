"""Operators by name."""

import dataclasses
import math

import pytest

from maa.attention import Operator, parse_operator
from maa.errors import UserError


@pytest.mark.parametrize(
    ("name", "p"),
    [("p1.00", 1.0), ("p1.02", 1.02), ("p1.10", 1.1), ("p12.50", 12.5)],
)
def test_names_carry_the_order(name: str, p: float) -> None:
    assert parse_operator(name) == Operator(name, "norm", p)


@pytest.mark.parametrize(
    ("name", "kind", "p", "start"),
    [
        ("p2.00to1.10", "norm", 1.1, 2.0),
        ("p1.10-l2", "l2", 1.1, None),
        ("p1.10-uniform", "uniform", 1.1, None),
        ("p1.20-length", "length", 1.2, None),
        ("cpa-additive", "cpa_additive", 1.0, None),
        ("affine", "affine", 1.0, None),
    ],
)
def test_names_of_other_operators(
    name: str, kind: str, p: float, start: float | None
) -> None:
    assert parse_operator(name) == Operator(name, kind, p, start)


def test_pinf_is_the_maximum() -> None:
    assert parse_operator("pinf").p == math.inf


@pytest.mark.parametrize(
    "name",
    [
        *("p1", "p1.1", "p1.100", "p0.90", "p01.10", "p-1.00", "P1.10", "1.10"),
        *("softmax", "", "p1.10 ", "p1,10", "pnan", "p1.\u0661\u0660"),
        *(
            "p1.10-l3",
            "p2.00to1.1",
            "p2.00to",
            "p2.00to1.10-l2",
            "pinfto2.00",
            "cpa",
            "nap-l2",
        ),
    ],
)
def test_other_names_are_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(
        UserError, match="is unknown; expected 'p' and a number"
    ) as info:
        parse_operator(name)
    assert repr(name) in str(info.value)
    assert "\n" not in str(info.value)


def test_an_operator_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse_operator("p1.10").p = 2.0  # type: ignore[misc]

"""Rules on many numbers: what each verdict takes."""

import math

import pytest

from maa.claims.numbers import Number
from maa.claims.patterns import TEXTS, agrees, judge_numbers, pattern_text
from maa.claims.verdicts import (
    CONTRADICTED,
    DIRECTION_ONLY,
    NOT_REPRODUCED,
    REPRODUCED,
)

NAN = math.nan
SIGNS = {"name": "signs", "share": 0.75}


def pair(paper, found, low=NAN, high=NAN, **more):
    return Number(f"{paper} as {found}", paper, found, low, high, **more)


def verdict(rule, *numbers):
    return judge_numbers(rule, numbers).verdict


UP, DOWN = pair(0.1, 0.2, 0.1, 0.3), pair(0.1, -0.01, -0.03, 0.01)
OPPOSED = pair(0.1, -0.2, -0.3, -0.1)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([UP] * 4, REPRODUCED),
        ([UP] * 3 + [DOWN], REPRODUCED),
        ([UP] * 2 + [DOWN], DIRECTION_ONLY),
        ([UP] * 3 + [OPPOSED], DIRECTION_ONLY),
        ([UP] * 2 + [DOWN] * 2, NOT_REPRODUCED),
        ([UP] + [DOWN] * 3, NOT_REPRODUCED),
        ([UP] + [DOWN] * 2 + [OPPOSED], CONTRADICTED),
        ([UP, OPPOSED], NOT_REPRODUCED),
    ],
)
def test_signs(numbers, expected):
    assert verdict(SIGNS, *numbers) == expected


def test_signs_of_falling_numbers():
    assert verdict(SIGNS, pair(-0.1, -0.2, -0.3, -0.1)) == REPRODUCED
    assert verdict(SIGNS, pair(-0.1, 0.2, 0.1, 0.3)) == CONTRADICTED
    assert verdict(SIGNS, pair(-0.1, 0.2)) == NOT_REPRODUCED  # no interval says so


def test_signs_with_their_whole_intervals():
    rule = SIGNS | {"intervals": True}
    crossing = pair(0.1, 0.2, -0.1, 0.5)
    assert verdict(SIGNS, crossing) == REPRODUCED
    assert verdict(rule, crossing) == DIRECTION_ONLY
    assert verdict(rule, UP, UP, UP, crossing) == REPRODUCED
    assert verdict(rule, pair(-0.1, -0.2, -0.3, -0.1)) == REPRODUCED
    assert verdict(rule, pair(-0.1, -0.2, -0.3, 0.1)) == DIRECTION_ONLY
    assert verdict(rule, pair(0.1, 0.2)) == DIRECTION_ONLY  # no interval to show


def test_signs_of_small_numbers_are_not_asked():
    rule = SIGNS | {"clear": 0.05}
    small = pair(0.02, -0.2, -0.3, -0.1)
    assert verdict(rule, UP, small) == REPRODUCED
    assert agrees(rule, small) is None
    assert agrees(SIGNS, pair(0.0, 0.5)) is None


def test_numbers_that_were_not_run_are_counted_and_not_judged():
    finding = judge_numbers(SIGNS, [UP, pair(0.1, NAN)])
    assert finding.verdict == REPRODUCED
    assert finding.checks[-1].text == "only 1 of 2 numbers were run"
    assert not finding.checks[-1].asked


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((1, 2, 3), REPRODUCED),
        ((1, 3, 2), DIRECTION_ONLY),
        ((3, 1, 2), NOT_REPRODUCED),
        ((3, 2, 1), CONTRADICTED),
        ((2, 2, 2), CONTRADICTED),
    ],
)
def test_order(found, expected):
    numbers = [pair(paper, value) for paper, value in enumerate(found)]
    assert verdict({"name": "order"}, *numbers) == expected


def test_order_leaves_out_what_the_paper_has_equal():
    numbers = [pair(1, 5), pair(1, 4), pair(2, 6)]
    finding = judge_numbers({"name": "order"}, numbers)
    assert finding.verdict == REPRODUCED
    assert "2 of 2 pairs" in finding.reason


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((0.01, -0.02), REPRODUCED),
        ((0.01, -0.03), DIRECTION_ONLY),
        ((0.04, -0.03), NOT_REPRODUCED),
    ],
)
def test_small(found, expected):
    numbers = [pair(NAN, value, margin=0.02) for value in found]
    assert verdict({"name": "small"}, *numbers) == expected


def test_equal():
    rule = {"name": "equal", "tolerance": 1e-9}
    assert verdict(rule, pair(0, 0.0), pair(0, -1e-10)) == REPRODUCED
    assert verdict(rule, pair(0, 0.0), pair(0, -1e-6)) == CONTRADICTED


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ((1.1, 1.1), REPRODUCED),
        ((1.1, 1.2), DIRECTION_ONLY),
        ((1.1, 1.0), NOT_REPRODUCED),
        ((1.0, 1.0), CONTRADICTED),
    ],
)
def test_choice(chosen, expected):
    assert verdict({"name": "choice"}, *(pair(1.1, p) for p in chosen)) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((10.0, 20.0, 15.0, 9.98), REPRODUCED),
        ((10.0, 20.0, 15.0, 9.97), DIRECTION_ONLY),
        ((10.0, 9.0, 21.0, 22.0), NOT_REPRODUCED),
        ((9.0, 21.0), CONTRADICTED),
    ],
)
def test_range(found, expected):
    numbers = [pair(10.0, value, paper_high=20.0) for value in found]
    assert verdict({"name": "range", "slack": 0.02}, *numbers) == expected


def test_near():
    rule = {"name": "near", "deviations": 2}
    inside, outside = pair(3.0, 3.04, margin=0.05), pair(3.0, 3.06, margin=0.05)
    assert verdict(rule, inside, inside) == REPRODUCED
    assert verdict(rule, inside, outside) == DIRECTION_ONLY
    assert verdict(rule, outside, outside, inside) == NOT_REPRODUCED


def test_rounding():
    rule = {"name": "rounding"}
    assert verdict(rule, pair(0.5, 0.5004, margin=5e-4)) == REPRODUCED
    finding = judge_numbers(rule, [pair(0.5, 0.5006, margin=5e-4)])
    assert finding.verdict == CONTRADICTED
    assert "not 0.5 as 0.5006" in finding.reason


def test_texts_carry_their_parameters():
    assert set(TEXTS) == {
        *("signs", "order", "small", "equal", "choice", "range", "near", "rounding")
    }
    text = pattern_text(SIGNS | {"clear": 0.04})
    assert "at least 75 % of the numbers that are at least 0.04 in size have" in text
    assert "at most 25 % of them" in text
    strict = pattern_text({"name": "signs", "share": 1.0})
    assert "all of the numbers have" in strict and "none of them have" in strict
    whole = pattern_text(SIGNS | {"intervals": True})
    assert "the paper's sign, with their whole interval, and none" in whole
    assert "at most 1e-09" in pattern_text({"name": "equal", "tolerance": 1e-9})

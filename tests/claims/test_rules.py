import math

import pytest

from maa.claims.rules import judge, rule_text
from maa.claims.verdicts import (
    CONTRADICTED,
    DIRECTION_ONLY,
    NOT_REPRODUCED,
    REPRODUCED,
)

UP = {"name": "increase", "compare": "change", "factor": 2, "alpha": 0.05}
DOWN = {**UP, "name": "decrease"}
PAPER = {"change": 0.01, "percent": 2.0, "cells": 12, "moved": 11}
FOUND = {
    "change": 0.009,
    "percent": 1.8,
    "low": 0.004,
    "high": 0.014,
    "cells": 12,
    "improved": 12,
    "worsened": 0,
    "p_holm": 0.003,
    "family": 6,
}


def verdict(rule=UP, paper=PAPER, **changes):
    return judge(rule, paper, FOUND | changes).verdict


def test_all_conditions_met():
    assert verdict() == REPRODUCED
    assert verdict(improved=11) == REPRODUCED


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"improved": 10}, "10 of 12 cells go up (paper: 11 of 12)"),
        ({"low": -0.001}, "includes zero"),
        ({"change": 0.021}, "2.10 times the paper's"),
        ({"change": 0.004}, "0.40 times the paper's"),
        ({"p_holm": 0.06}, "p after Holm is 0.0600"),
    ],
)
def test_one_condition_missed_leaves_the_direction(changes, reason):
    finding = judge(UP, PAPER, FOUND | changes)
    assert finding.verdict == DIRECTION_ONLY
    assert [check.passed for check in finding.checks].count(False) == 1
    assert reason in finding.reason
    assert "goes up, but" in finding.reason


def test_the_wrong_sign_with_an_interval_across_zero_is_not_reproduced():
    assert verdict(change=-0.001, low=-0.004, high=0.002) == NOT_REPRODUCED
    assert verdict(change=0.0, low=0.0, high=0.0, improved=0) == NOT_REPRODUCED


def test_the_other_side_of_zero_contradicts():
    assert verdict(change=-0.009, low=-0.014, high=-0.001) == CONTRADICTED
    assert verdict(change=-0.009, low=-0.014, high=0.0) == NOT_REPRODUCED


@pytest.mark.parametrize(
    ("cells", "improved", "expected"),
    [
        (6, 6, REPRODUCED),
        (6, 5, DIRECTION_ONLY),  # 5/6 is less than 11/12
        (24, 22, REPRODUCED),
        (24, 21, DIRECTION_ONLY),
    ],
)
def test_the_share_of_cells_is_the_papers_or_more(cells, improved, expected):
    assert verdict(cells=cells, improved=improved) == expected


def test_significance_is_asked_only_where_it_can_be_reached():
    # Six cells, six endpoints: .1875 at best. Eight cells: 6 * 2/256 = .047 can.
    few = judge(UP, PAPER, FOUND | {"cells": 6, "improved": 6, "p_holm": 0.1875})
    assert few.verdict == REPRODUCED
    assert "significance was not asked" in few.reason
    assert "0.1875 at best" in few.reason
    assert verdict(cells=8, improved=8, p_holm=0.1) == DIRECTION_ONLY
    without = {key: value for key, value in UP.items() if key != "alpha"}
    assert verdict(rule=without, p_holm=1.0) == REPRODUCED


def test_a_decrease_mirrors_an_increase():
    mirrored = {
        "change": -0.009,
        "low": -0.014,
        "high": -0.004,
        "improved": 0,
        "worsened": 11,
    }
    paper = PAPER | {"change": -0.01}
    assert verdict(DOWN, paper, **mirrored) == REPRODUCED
    assert verdict(DOWN, paper) == CONTRADICTED
    assert verdict(DOWN, paper, **(mirrored | {"worsened": 10})) == DIRECTION_ONLY
    assert verdict(DOWN, paper, **(mirrored | {"high": 0.001})) == DIRECTION_ONLY


def test_percentages_are_compared_where_the_rule_says_so():
    percent = UP | {"compare": "percent"}
    assert verdict(percent, percent=4.1) == DIRECTION_ONLY
    assert verdict(percent, change=0.5, percent=3.9) == REPRODUCED
    assert verdict(percent, percent=math.nan) == DIRECTION_ONLY


@pytest.mark.parametrize(
    ("low", "high", "change", "expected"),
    [
        (-0.004, 0.008, 0.002, REPRODUCED),
        (-0.009, 0.009, 0.0, REPRODUCED),
        (-0.004, 0.012, 0.004, DIRECTION_ONLY),
        (0.004, 0.020, 0.012, NOT_REPRODUCED),
        (0.010, 0.020, 0.015, CONTRADICTED),
        (-0.020, -0.010, -0.015, CONTRADICTED),
    ],
)
def test_no_change_means_an_interval_within_the_margin(low, high, change, expected):
    rule = {"name": "unchanged", "margin": 0.009}
    assert verdict(rule, low=low, high=high, change=change) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (1e-13, REPRODUCED),
        (1e-12, REPRODUCED),
        (2e-12, CONTRADICTED),
        (math.nan, CONTRADICTED),
        (math.inf, CONTRADICTED),
    ],
)
def test_identities_hold_to_their_tolerance(error, expected):
    rule = {"name": "identity", "tolerance": 1e-12}
    assert judge(rule, {"statement": "a = b"}, {"error": error}).verdict == expected


def test_rule_texts_carry_their_parameters():
    text = rule_text(UP)
    assert "between 1/2 and 2 times" in text
    assert "p after Holm is below 0.05" in text
    assert "the mean change is up" in text
    assert "lies above zero" in text
    assert "lies below zero; the change" in rule_text(DOWN)
    assert "the relative change is" in rule_text(UP | {"compare": "percent"})
    assert "±0.009" in rule_text({"name": "unchanged", "margin": 0.009})
    assert "{" not in text

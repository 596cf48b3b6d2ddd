"""Rules for claims that consist of many numbers.

Each rule is stated twice side by side: as text for the reader (`TEXTS`), and as the
function that computes it.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from maa.claims.numbers import Number
from maa.claims.verdicts import (
    CONTRADICTED,
    DIRECTION_ONLY,
    NOT_REPRODUCED,
    REPRODUCED,
    Check,
    Finding,
    finding,
)

TEXTS = {
    "signs": (
        "Reproduced: {most} of the numbers{clear} have the paper's sign{intervals}, "
        "and none has its whole 95 % interval on the other side of zero. Direction "
        "only: more than half have the paper's sign, but not all of that holds. "
        "Contradicted: {few} of them have it, and one or more have their whole "
        "interval on the other side. Not reproduced: anything else."
    ),
    "order": (
        "Reproduced: every two of the numbers stand in the paper's order. Direction "
        "only: more than half of the pairs do. Contradicted: none does. Not "
        "reproduced: anything else."
    ),
    "small": (
        "Reproduced: every difference lies within the margin stated beside it. "
        "Direction only: at least half do. Not reproduced: anything else."
    ),
    "equal": (
        "Reproduced: every difference is at most {tolerance:g}. Contradicted: one is "
        "larger."
    ),
    "choice": (
        "Reproduced: every fold chooses the paper's power. Direction only: every fold "
        "chooses a power above 1. Contradicted: every fold chooses p = 1. Not "
        "reproduced: anything else."
    ),
    "range": (
        "Reproduced: every value lies within the paper's range, up to {slack} for "
        "rounding. Direction only: at least three quarters do. Contradicted: none "
        "does. Not reproduced: anything else."
    ),
    "near": (
        "Reproduced: every number lies within {deviations} times the paper's standard "
        "deviation of the paper's. Direction only: at least half do. Not reproduced: "
        "anything else."
    ),
    "rounding": (
        "Reproduced: every two numbers agree as far as their printed digits allow. "
        "Contradicted: two differ by more."
    ),
}


def pattern_text(rule: Mapping[str, Any]) -> str:
    """Return the rule as a text with its parameters filled in."""
    clear = rule.get("clear", 0)
    share = rule.get("share", 1)
    words = {
        "clear": f" that are at least {clear} in size" if clear else "",
        "intervals": ", with their whole interval" if rule.get("intervals") else "",
        "most": "all" if share == 1 else f"at least {100 * share:g} %",
        "few": "none" if share == 1 else f"at most {100 * (1 - share):g} %",
    }
    return TEXTS[rule["name"]].format(**{**rule, **words})


def judge_numbers(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    """Apply a rule to the numbers that were run, of which there must be one.

    Args:
        rule: ``name`` and parameters, as in the claims file.
        numbers: all numbers of a claim.
    """
    ran = [number for number in numbers if number.ran]
    judges: dict[str, Callable[..., Finding]] = {
        "signs": _judge_signs,
        "order": _judge_order,
        "small": _judge_small,
        "equal": _judge_equal,
        "choice": _judge_choice,
        "range": _judge_range,
        "near": _judge_near,
        "rounding": _judge_rounding,
    }
    found = judges[rule["name"]](rule, ran)
    if len(ran) == len(numbers):
        return found
    part = Check(
        f"only {len(ran)} of {len(numbers)} numbers were run", passed=True, asked=False
    )
    return Finding(found.verdict, found.reason, (*found.checks, part))


def agrees(rule: Mapping[str, Any], number: Number) -> bool | None:
    """Return whether one number meets its rule; None where the rule leaves it out."""
    if not number.ran:
        return None
    if rule["name"] == "signs":
        if not _clear(rule, number):
            return None
        return bool(np.sign(number.found) == np.sign(number.paper))
    tests: dict[str, Callable[[], bool]] = {
        "small": lambda: abs(number.found) <= number.margin,
        "equal": lambda: abs(number.found) <= rule["tolerance"],
        "choice": lambda: number.found == number.paper,
        "range": lambda: _inside(rule, number),
        "near": lambda: abs(number.found - number.paper) <= number.margin,
        "rounding": lambda: abs(number.found - number.paper) <= number.margin,
    }
    return tests[rule["name"]]() if rule["name"] in tests else None


def _judge_signs(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    judged = [number for number in numbers if _clear(rule, number)]
    right = sum(bool(agrees(rule, number)) for number in judged)
    against = [number.name for number in judged if _opposed(number)]
    # Rounded, so that 17 of 20 is a share of .85 whatever its binary form.
    share = round(right / len(judged), 9) if judged else 0.0
    checks: tuple[Check, ...] = (
        Check(
            f"{right} of {len(judged)} numbers have the paper's sign",
            share >= rule["share"],
        ),
        Check(
            f"the interval lies on the other side in {', '.join(against)}"
            if against
            else "no interval lies on the other side of zero",
            not against,
        ),
    )
    if rule.get("intervals"):
        checks = (*checks, _intervals(rule, judged))
    if all(check.passed for check in checks):
        return finding(REPRODUCED, checks)
    if share > 0.5:
        return finding(DIRECTION_ONLY, checks)
    opposite = bool(against) and share <= round(1 - rule["share"], 9)
    return finding(CONTRADICTED if opposite else NOT_REPRODUCED, checks)


def _intervals(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Check:
    sides = [
        number.low > 0 if number.paper > 0 else number.high < 0 for number in numbers
    ]
    text = f"{sum(sides)} of {len(sides)} intervals lie on the paper's side of zero"
    return Check(text, sum(sides) >= rule["share"] * len(sides) - 1e-9)


def _clear(rule: Mapping[str, Any], number: Number) -> bool:
    return number.paper != 0 and abs(number.paper) >= rule.get("clear", 0)


def _opposed(number: Number) -> bool:
    if number.paper > 0:
        return bool(number.high < 0)  # false where there is no interval
    return bool(number.low > 0)


def _judge_order(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    pairs = [
        (one, two)
        for one, two in itertools.combinations(numbers, 2)
        if one.paper != two.paper
    ]
    wrong = [
        f"{one.name} and {two.name}"
        for one, two in pairs
        if (one.found - two.found) * (one.paper - two.paper) <= 0
    ]
    right = len(pairs) - len(wrong)
    text = f"{right} of {len(pairs)} pairs stand in the paper's order"
    if wrong:
        text += f", and not {'; '.join(wrong)}"
    checks = (Check(text, not wrong and bool(pairs)),)
    if checks[0].passed:
        return finding(REPRODUCED, checks)
    if 2 * right > len(pairs):
        return finding(DIRECTION_ONLY, checks)
    return finding(CONTRADICTED if pairs and not right else NOT_REPRODUCED, checks)


def _judge_small(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    large = [number for number in numbers if not agrees(rule, number)]
    small = len(numbers) - len(large)
    names = "".join(
        f"; {number.name} is {number.found:+.5f} (allowed: ±{number.margin})"
        for number in large
    )
    text = f"{small} of {len(numbers)} differences are within their margin{names}"
    checks = (Check(text, not large),)
    if not large:
        return finding(REPRODUCED, checks)
    half = 2 * small >= len(numbers)
    return finding(DIRECTION_ONLY if half else NOT_REPRODUCED, checks)


def _judge_equal(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    largest = max(abs(number.found) for number in numbers)
    text = f"the largest difference is {largest:.2g} (allowed: {rule['tolerance']:g})"
    passed = bool(largest <= rule["tolerance"])
    return finding(REPRODUCED if passed else CONTRADICTED, (Check(text, passed),))


def _judge_choice(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    same = sum(bool(agrees(rule, number)) for number in numbers)
    chosen = ", ".join(f"{number.name}: {number.found:g}" for number in numbers)
    checks = (
        Check(
            f"{same} of {len(numbers)} folds choose p = {numbers[0].paper:g} "
            f"({chosen})",
            same == len(numbers),
        ),
    )
    if checks[0].passed:
        return finding(REPRODUCED, checks)
    if all(number.found > 1 for number in numbers):
        return finding(DIRECTION_ONLY, checks)
    ones = all(number.found == 1 for number in numbers)
    return finding(CONTRADICTED if ones else NOT_REPRODUCED, checks)


def _judge_range(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    outside = [number for number in numbers if not _inside(rule, number)]
    inside = len(numbers) - len(outside)
    names = "".join(f"; {number.name} is {number.found:.2f}" for number in outside)
    text = f"{inside} of {len(numbers)} values lie in the paper's range{names}"
    checks = (Check(text, not outside),)
    if not outside:
        return finding(REPRODUCED, checks)
    if 4 * inside >= 3 * len(numbers):
        return finding(DIRECTION_ONLY, checks)
    return finding(CONTRADICTED if not inside else NOT_REPRODUCED, checks)


def _judge_near(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    near = sum(bool(agrees(rule, number)) for number in numbers)
    text = f"{near} of {len(numbers)} numbers are near the paper's"
    checks = (Check(text, near == len(numbers)),)
    if checks[0].passed:
        return finding(REPRODUCED, checks)
    half = 2 * near >= len(numbers)
    return finding(DIRECTION_ONLY if half else NOT_REPRODUCED, checks)


def _inside(rule: Mapping[str, Any], number: Number) -> bool:
    slack = float(rule["slack"]) + 1e-9  # binary forms of printed digits
    return number.paper - slack <= number.found <= number.paper_high + slack


def _judge_rounding(rule: Mapping[str, Any], numbers: Sequence[Number]) -> Finding:
    odd = [number.name for number in numbers if not agrees(rule, number)]
    text = f"{len(numbers) - len(odd)} of {len(numbers)} printed numbers agree"
    if odd:
        text += f", and not {', '.join(odd)}"
    checks = (Check(text, not odd),)
    return finding(CONTRADICTED if odd else REPRODUCED, checks)

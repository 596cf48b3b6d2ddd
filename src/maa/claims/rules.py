"""Rules for one effect or one error. Written once; claims only parametrise.

Each rule is stated twice side by side: as text for the reader (`RULES`), and as the
function that computes it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from maa.claims.verdicts import (
    CONTRADICTED,
    DIRECTION_ONLY,
    NOT_REPRODUCED,
    REPRODUCED,
    Check,
    Finding,
    finding,
)
from maa.inference.significance import smallest_p

_MOVE = (
    "Reproduced: the mean change is {way}; at least the paper's share of cells go "
    "{way}; the 95 % interval lies {side} zero; the {what} is between 1/{factor} and "
    "{factor} times the paper's{significant}. Direction only: the mean change is "
    "{way}, but not all of that holds. Contradicted: the whole interval lies {other} "
    "zero. Not reproduced: anything else."
)
_SIGNIFICANT = (
    "; and p after Holm is below {alpha} (not asked where so few cells cannot reach it)"
)
RULES = {
    "increase": _MOVE,
    "decrease": _MOVE,
    "unchanged": (
        "Reproduced: the whole 95 % interval of the change lies within ±{margin}. "
        "Direction only: the mean change does, but its interval does not. "
        "Contradicted: the whole interval lies outside of ±{margin}. Not reproduced: "
        "anything else."
    ),
    "identity": (
        "Reproduced: the largest error is at most {tolerance:g}. Contradicted: it is "
        "larger, or not a number."
    ),
}


def rule_text(rule: Mapping[str, Any]) -> str:
    """Return the rule as a text with its parameters filled in."""
    up = rule["name"] == "increase"
    words = {
        "what": _what(rule),
        "way": "up" if up else "down",
        "side": "above" if up else "below",
        "other": "below" if up else "above",
        "significant": _SIGNIFICANT.format(**rule) if "alpha" in rule else "",
    }
    return RULES[rule["name"]].format(**words, **rule)


def judge(
    rule: Mapping[str, Any], paper: Mapping[str, Any], found: Mapping[str, Any]
) -> Finding:
    """Apply a rule.

    Args:
        rule: ``name`` and parameters, as in the claims file.
        paper: the paper's numbers: ``change`` or ``percent``, ``cells``, ``moved``.
        found: a row of the inference tables; for identities ``error``.
    """
    judges: dict[str, Callable[..., Finding]] = {
        "increase": _judge_move,
        "decrease": _judge_move,
        "unchanged": _judge_unchanged,
        "identity": _judge_identity,
    }
    return judges[rule["name"]](rule, paper, found)


def _judge_move(
    rule: Mapping[str, Any], paper: Mapping[str, Any], found: Mapping[str, Any]
) -> Finding:
    sign = 1 if rule["name"] == "increase" else -1
    ends = sorted((sign * found["low"], sign * found["high"]))
    checks = (
        _direction(sign, found),
        _share(sign, paper, found),
        _clear_of_zero(ends[0] > 0, found),
        _size(rule, paper, found),
        *_significance(rule, found),
    )
    if ends[1] < 0:
        verdict = CONTRADICTED
    elif all(check.passed for check in checks):
        verdict = REPRODUCED
    else:
        verdict = DIRECTION_ONLY if checks[0].passed else NOT_REPRODUCED
    return finding(verdict, checks)


def _direction(sign: int, found: Mapping[str, Any]) -> Check:
    passed = sign * found["change"] > 0
    way = "up" if found["change"] > 0 else "down" if found["change"] < 0 else "nowhere"
    return Check(f"the mean change {found['change']:+.5f} goes {way}", passed)


def _share(sign: int, paper: Mapping[str, Any], found: Mapping[str, Any]) -> Check:
    moved = found["improved"] if sign > 0 else found["worsened"]
    # Compared as whole numbers: 11 of 12 asks for 6 of 6, and for 22 of 24.
    passed = moved * paper["cells"] >= paper["moved"] * found["cells"]
    way = "up" if sign > 0 else "down"
    return Check(
        f"{moved} of {found['cells']} cells go {way} (paper: {paper['moved']} of "
        f"{paper['cells']})",
        bool(passed),
    )


def _clear_of_zero(passed: bool, found: Mapping[str, Any]) -> Check:
    low, high = found["low"], found["high"]
    place = "excludes" if low > 0 or high < 0 else "includes"
    return Check(f"the interval [{low:+.5f}, {high:+.5f}] {place} zero", bool(passed))


def _size(
    rule: Mapping[str, Any], paper: Mapping[str, Any], found: Mapping[str, Any]
) -> Check:
    key = rule["compare"]
    ratio = found[key] / paper[key]
    passed = 1 / rule["factor"] <= ratio <= rule["factor"]
    return Check(f"the {_what(rule)} is {ratio:.2f} times the paper's", bool(passed))


def _what(rule: Mapping[str, Any]) -> str:
    return "relative change" if rule.get("compare") == "percent" else "change"


def _significance(
    rule: Mapping[str, Any], found: Mapping[str, Any]
) -> tuple[Check, ...]:
    if "alpha" not in rule:
        return ()
    floor = smallest_p(int(found["cells"]), int(found["family"]))
    if floor >= rule["alpha"]:
        text = (
            f"significance was not asked: with {found['cells']} cells p after Holm is "
            f"{floor:.4f} at best"
        )
        return (Check(text, passed=True, asked=False),)
    text = f"p after Holm is {found['p_holm']:.4f} (asked: below {rule['alpha']})"
    return (Check(text, bool(found["p_holm"] < rule["alpha"])),)


def _judge_unchanged(
    rule: Mapping[str, Any], paper: Mapping[str, Any], found: Mapping[str, Any]
) -> Finding:
    margin, low, high = rule["margin"], found["low"], found["high"]
    mean_inside = abs(found["change"]) <= margin
    all_inside = -margin <= low and high <= margin
    outside = low > margin or high < -margin
    where = "within" if mean_inside else "outside of"
    span = "within" if all_inside else "outside of" if outside else "not all within"
    checks = (
        Check(
            f"the mean change {found['change']:+.5f} is {where} ±{margin}",
            bool(mean_inside),
        ),
        Check(
            f"the interval [{low:+.5f}, {high:+.5f}] is {span} ±{margin}",
            bool(all_inside),
        ),
    )
    if outside:
        return finding(CONTRADICTED, checks)
    if all_inside:
        return finding(REPRODUCED, checks)
    return finding(DIRECTION_ONLY if mean_inside else NOT_REPRODUCED, checks)


def _judge_identity(
    rule: Mapping[str, Any], paper: Mapping[str, Any], found: Mapping[str, Any]
) -> Finding:
    passed = bool(found["error"] <= rule["tolerance"])  # false for NaN
    text = f"the largest error is {found['error']:.2g} (allowed: {rule['tolerance']:g})"
    return finding(REPRODUCED if passed else CONTRADICTED, (Check(text, passed),))

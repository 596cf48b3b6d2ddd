"""The paper's numbers and ours as lines of text."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from maa.claims.numbers import Number
from maa.claims.patterns import agrees


def paper_text(claim: Mapping[str, Any]) -> str:
    """Return the paper's numbers of a claim as one line."""
    if claim["kind"] == "pattern":
        return f"{len(claim['numbers'])} numbers"
    paper = claim["paper"]
    if "statement" in paper:
        return str(paper["statement"])
    up = claim["rule"]["name"] != "decrease"
    parts = [_change_text(paper)]
    parts.append(f"{paper['moved']} of {paper['cells']} cells {'up' if up else 'down'}")
    if "p_holm" in paper:
        parts.append(f"p after Holm {paper['p_holm']:.4f}")
    return ", ".join(parts)


def found_text(
    claim: Mapping[str, Any], found: Mapping[str, Any], numbers: Sequence[Number]
) -> str:
    """Return what was measured as one line, in the form of `paper_text`."""
    if numbers:
        return _numbers_text(claim["rule"], numbers)
    if not found:
        return "nothing was measured"
    if "error" in found:
        return f"largest error {found['error']:.2g}"
    up = claim["rule"]["name"] != "decrease"
    moved = found["improved"] if up else found["worsened"]
    return (
        f"{_change_text(found)}, 95 % interval [{found['low']:+.5f}, "
        f"{found['high']:+.5f}], {moved} of {found['cells']} cells "
        f"{'up' if up else 'down'}, p after Holm {found['p_holm']:.4f}"
    )


def number_texts(number: Number) -> dict[str, str]:
    """Return a number of the paper, ours and its interval as texts, "" for none."""
    return {
        "name": number.name,
        "paper": _paper(number),
        "found": _digits(number.found),
        "interval": ""
        if np.isnan(number.low)
        else f"[{_digits(number.low)}, {_digits(number.high)}]",
    }


def _paper(number: Number) -> str:
    if np.isinf(number.paper):
        return f"{number.paper_high:g} at most"
    if np.isinf(number.paper_high):
        return f"{number.paper:g} at least"
    if np.isnan(number.paper):
        return "" if np.isnan(number.margin) else f"within ±{number.margin:g}"
    if not np.isnan(number.paper_high):
        return f"{number.paper:.2f} to {number.paper_high:.2f}"
    if number.direction:
        return "above" if number.paper > 0 else "below"
    return f"{round(number.paper, 6):+g}"  # as many digits as are printed


def _digits(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:+.5f}"


def _numbers_text(rule: Mapping[str, Any], numbers: Sequence[Number]) -> str:
    ran = [number for number in numbers if number.ran]
    if not ran:
        return "nothing was measured"
    text = f"{len(ran)} of {len(numbers)} numbers were run"
    verdicts = [agrees(rule, number) for number in ran]
    judged = [verdict for verdict in verdicts if verdict is not None]
    if judged:
        text += f", {sum(judged)} of {len(judged)} agree"
    return text


def _change_text(numbers: Mapping[str, Any]) -> str:
    text = f"{numbers['change']:+.5f}"
    percent = numbers.get("percent", np.nan)
    return text if np.isnan(percent) else f"{text} ({percent:+.2f} %)"

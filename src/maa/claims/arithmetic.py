"""Do the paper's printed numbers agree with each other? Computed from the book alone.

Each check takes claims of the book and yields pairs of numbers that must agree as far
as their printed digits allow: ``paper`` as printed, ``found`` as computed from others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import ttest_ind_from_stats

from maa.claims.numbers import Number, entries, paper_value
from maa.inference.significance import holm

_Claim = Mapping[str, Any]
_PATTERNS = 2**12  # sign patterns of twelve cells


def arithmetic(
    check: str, of: Sequence[_Claim], against: Sequence[_Claim]
) -> tuple[Number, ...]:
    """Return the pairs of one check.

    Args:
        check: a key of `CHECKS`.
        of: the claims whose numbers are computed with.
        against: the claims whose numbers they must give.
    """
    return tuple(CHECKS[check](of, against))


def _mean_of_all(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """The mean of all single changes is the change of the mean."""
    values = [paper_value(entry) for claim in of for entry in entries(claim)]
    for claim in against:
        yield _pair(
            claim["source"], claim["paper"]["change"], float(np.mean(values)), 0.005
        )


def _mean_of_models(
    of: Sequence[_Claim], against: Sequence[_Claim]
) -> Iterator[Number]:
    """The mean over models of a statistic's changes is the statistic's change."""
    for claim in against:
        values = [
            paper_value(entry)
            for claims in of
            for entry in entries(claims)
            if entry["target"] == claim["target"]
        ]
        yield _pair(
            claim["source"], claim["paper"]["change"], float(np.mean(values)), 0.005
        )


def _arms(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """Treatment minus baseline is the change."""
    for claim in of:
        paper = claim["paper"]
        change = paper["treatment"] - paper["baseline"]
        yield _pair(claim["source"], paper["change"], change, 1.5e-5)


def _percentages(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """Percentages are ratios of means."""
    for claim in of:
        if "numbers" not in claim:
            paper = claim["paper"]
            ratio = 100 * paper["change"] / paper["baseline"]
            yield _pair(claim["source"], paper["percent"], ratio, 0.01)
            continue
        for entry in entries(claim):
            if "percent" in entry:
                ratio = 100 * paper_value(entry) / entry["paper"]["from"]
                yield _pair(entry["name"], entry["percent"], ratio, 0.01)


def _same(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """Numbers of one name in two places are the same, up to the last digit."""
    printed = {e["name"]: paper_value(e) for claim in of for e in entries(claim)}
    for claim in against:
        for entry in entries(claim):
            if entry["name"] in printed:
                found = printed[entry["name"]]
                yield _pair(entry["name"], paper_value(entry), found, 1.5e-5)


def _rounded_levels(
    of: Sequence[_Claim], against: Sequence[_Claim]
) -> Iterator[Number]:
    """Levels in a figure are those of the table, to three digits."""
    levels = {claim["endpoint"]: claim["paper"] for claim in of}
    for claim in against:
        for entry in entries(claim):
            found = levels[entry["endpoint"]][entry["value"]]
            yield _pair(entry["name"], paper_value(entry), found, 0.0005 + 1e-9)


def _differences(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """What is printed as a difference of two operators is the difference of both."""
    printed = {
        (e["backbone"], e["endpoint"], e["treatment"] == "p1.10"): paper_value(e)
        for claim in of
        for e in entries(claim)
        if "against" not in e
    }
    for claim in of:
        for entry in entries(claim):
            if "against" in entry:
                place = entry["backbone"], entry["endpoint"]
                found = printed[*place, True] - printed[*place, False]
                yield _pair(entry["name"], paper_value(entry), found, 1.5e-5)


def _exact_test(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """Twelve cells have 4,096 sign patterns: p is a whole number of them over 4,096."""
    for claim in of:
        p = claim["paper"]["p"]
        patterns = round(p * _PATTERNS) / _PATTERNS
        yield _pair(f"p of {claim['source']}", p, patterns, 1e-6)


def _welch(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """Are a table's gaps larger than its noise? Welch's test, Holm over all gaps."""
    cells = {entry["fact"]: entry for claim in of for entry in entries(claim)}
    seeds = of[0]["seeds"]
    found = []
    for fact, entry in cells.items():
        if fact.startswith("level.diagonal"):
            other = cells[f"level.none.{fact.rpartition('.')[2]}"]
            test = ttest_ind_from_stats(
                *(entry["paper"], entry["sd"], seeds),
                *(other["paper"], other["sd"], seeds),
                equal_var=False,
            )
            found.append((entry["name"], float(test.pvalue)))
    corrected = holm([p for _, p in found])
    for (name, _), p in zip(found, corrected, strict=True):
        yield Number(f"Corrected p, {name}", 0.0, float(p), paper_high=0.05)


def _largest_fall(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """The largest fall of an error in a table, percent, is what is said of it."""
    cells = {e["fact"]: e["paper"] for claim in of for e in entries(claim)}
    falls = [
        100 * (1 - value / cells[f"level.none.{fact.rpartition('.')[2]}"])
        for fact, value in cells.items()
        if fact.startswith("level.diagonal")
    ]
    for claim in against:
        for entry in entries(claim):
            yield _pair(entry["name"], entry["low"], max(falls), 0.05)


def _holm(of: Sequence[_Claim], against: Sequence[_Claim]) -> Iterator[Number]:
    """Holm's correction over the family gives the corrected p-values."""
    exact = [round(claim["paper"]["p"] * _PATTERNS) / _PATTERNS for claim in of]
    for claim, corrected in zip(of, holm(exact), strict=True):
        printed = claim["paper"]["p_holm"]
        yield _pair(f"Holm p of {claim['source']}", printed, corrected, 1e-6)


CHECKS: dict[str, Callable[..., Iterator[Number]]] = {
    "mean_of_all": _mean_of_all,
    "mean_of_models": _mean_of_models,
    "arms": _arms,
    "percentages": _percentages,
    "same": _same,
    "rounded_levels": _rounded_levels,
    "differences": _differences,
    "exact_test": _exact_test,
    "holm": _holm,
    "welch": _welch,
    "largest_fall": _largest_fall,
}


def _pair(name: str, printed: float, computed: float, margin: float) -> Number:
    return Number(name, float(printed), float(computed), margin=margin)

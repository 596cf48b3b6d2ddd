"""The paper's numbers against each other: that errors in them would be seen."""

import copy
from pathlib import Path

import pytest

from maa.claims.arithmetic import arithmetic
from maa.claims.book import load_book
from maa.claims.patterns import judge_numbers

ROOT = Path(__file__).parents[2]
BOOK = load_book(
    ROOT / "config/claims.yaml", ROOT / "workflow/schemas/claims.schema.yaml"
)
CLAIMS = {claim["id"]: claim for claim in BOOK["claims"]}
CHECKS = [
    claim
    for claim in BOOK["claims"]
    if claim["kind"] == "arithmetic" and claim["section"] == "arithmetic"
]


def run(check, claims):
    of, against = (
        [claims[name] for name in check.get(key, [])] for key in ("of", "against")
    )
    numbers = arithmetic(check["check"], of, against)
    return judge_numbers(check["rule"], numbers), numbers


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check["id"])
def test_the_papers_numbers_agree(check):
    finding, numbers = run(check, CLAIMS)
    assert numbers
    assert finding.verdict == "reproduced"


def _shift_row(claim):
    for entry in claim["numbers"]:
        if entry["target"] == "density":
            entry["paper"] += 0.02


def _shift_all(claim):
    for entry in claim["numbers"]:
        entry["paper"] += 0.01


MISPRINTS = {
    "X1": ("C4d", _shift_all),
    "X2": ("C4d", _shift_row),
    "X3": ("C5", lambda claim: claim["paper"].update(treatment=0.57621)),
    "X4": ("C6b", lambda claim: claim["numbers"][0].update(percent=5.65)),
    "X5": ("C3", lambda claim: claim["paper"].update(p=0.0343)),
    "X6": ("C3b", lambda claim: claim["paper"].update(p_holm=0.209)),
    "X7": ("C7a", lambda claim: claim["numbers"][0].update(paper=0.00372)),
    "X8": ("C3c", lambda claim: claim["numbers"][3].update(paper=0.435)),
    "X9": ("C8b", lambda claim: claim["numbers"][2].update(paper=0.00843)),
}


def test_every_check_has_its_misprint():
    assert set(MISPRINTS) == {check["id"] for check in CHECKS}


@pytest.mark.parametrize("name", MISPRINTS)
def test_a_misprint_is_found(name):
    claims = copy.deepcopy(CLAIMS)
    where, change = MISPRINTS[name]
    change(claims[where])
    finding, _ = run(CLAIMS[name], claims)
    assert finding.verdict == "contradicted"


def test_no_gap_of_the_traffic_table_is_beyond_its_noise():
    finding, numbers = run(CLAIMS["J2"], CLAIMS)
    assert finding.verdict == "contradicted" and len(numbers) == 27
    # By hand, Welch's t for dropout against none at MAE 6: (3.415 - 3.443) over
    # sqrt((.010^2 + .006^2) / 4) = -4.80 on 4.91 degrees of freedom, p = .0051; 27
    # times that is what Holm leaves of the smallest.
    smallest = min(numbers, key=lambda number: number.found)
    assert smallest.name == "Corrected p, Dropout, MAE 6"
    assert smallest.found == pytest.approx(27 * 0.0051, rel=0.03)


def test_a_gap_beyond_its_noise_would_be_seen():
    claims = copy.deepcopy(CLAIMS)
    for entry in claims["J1"]["numbers"]:
        if entry["fact"].startswith("level.diagonal"):
            entry["paper"] *= 0.5
    finding, _ = run(CLAIMS["J2"], claims)
    assert finding.verdict == "reproduced"


def test_the_summary_says_more_than_its_table():
    finding, (number,) = run(CLAIMS["J3"], CLAIMS)
    assert finding.verdict == "contradicted"
    assert number.found == pytest.approx(100 * (1 - 3.940 / 3.989))
    claims = copy.deepcopy(CLAIMS)
    claims["J3b"]["numbers"][0].update(low=1.23, high=1.23)
    assert run(CLAIMS["J3"], claims)[0].verdict == "reproduced"

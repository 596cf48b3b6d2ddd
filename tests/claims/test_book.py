"""The book of claims: what it states, and what its schema refuses."""

import copy
from pathlib import Path

import pytest
import yaml

from maa.claims.book import load_book
from maa.claims.identities import CHECKS
from maa.errors import UserError
from maa.inference.endpoints import endpoints_of
from tests.factories import PROBES, TARGETS

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "workflow/schemas/claims.schema.yaml"


@pytest.fixture(scope="module")
def book():
    return load_book(ROOT / "config/claims.yaml", SCHEMA)


def by_id(book, name):
    return next(claim for claim in book["claims"] if claim["id"] == name)


def load_changed(book, tmp_path, change):
    changed = copy.deepcopy(book)
    change(changed)
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump(changed), encoding="utf-8")
    return load_book(path, SCHEMA)


def test_every_identity_and_claim_is_stated(book):
    ids = [claim["id"] for claim in book["claims"]]
    assert ids == [
        *(f"I{n}" for n in range(1, 8)),
        "C1",
        "C2",
        "C3",
        "C4a",
        "C4b",
        "C5",
    ]
    checks = [c["check"] for c in book["claims"] if c["kind"] == "identity"]
    assert sorted(checks) == sorted(CHECKS)


def test_claims_name_quantities_that_inference_makes(book):
    names = {endpoint.name for endpoint in endpoints_of("ctdg") if endpoint.primary}
    for claim in book["claims"]:
        if claim["kind"] == "aggregate":
            assert claim["endpoint"] in names
        if claim["kind"] == "statistic":
            assert claim["endpoint"] in PROBES
            assert claim["target"] in TARGETS


def test_the_papers_grid_has_twelve_cells(book):
    grid = book["paper"]["grids"]["ctdg"]
    assert len(grid["datasets"]) * len(grid["backbones"]) == 12


def test_the_papers_changes_fit_its_percentages(book):
    # Table 3 prints the baselines: .85985, .40020, .52526, .54111.
    baselines = {"C1": 0.85985, "C3": 0.40020, "C4a": 0.52526, "C5": 0.54111}
    for name, baseline in baselines.items():
        paper = by_id(book, name)["paper"]
        percent = 100 * paper["change"] / baseline
        assert percent == pytest.approx(paper["percent"], abs=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b["claims"][7]["rule"].update(factor=0.5), "claims.7.rule"),
        (lambda b: b["claims"][7]["rule"].update(name="grows"), "claims.7.rule"),
        (lambda b: b["claims"][7]["paper"].pop("moved"), "'moved' is a required"),
        (lambda b: b["claims"][9]["paper"].pop("percent"), "'percent' is a required"),
        (lambda b: b["claims"][7].update(verdict="reproduced"), "'verdict' was unexp"),
        (lambda b: b["claims"][8].pop("target"), "'target' is a required"),
        (lambda b: b["claims"][0].update(check="luck"), "an identity known to"),
        (lambda b: b["claims"][0]["rule"].update(tolerance="1e-10"), "tolerance"),
        (lambda b: b["claims"].append(b["claims"][0]), "the claim 'I1' twice"),
        (lambda b: b["claims"][7].update(domain="tkg"), "'tkg' has no grid"),
        (lambda b: b.pop("notes"), "'notes' is a required"),
    ],
)
def test_a_wrong_book_is_refused_with_the_key(book, tmp_path, change, message):
    with pytest.raises(UserError, match=message):
        load_changed(book, tmp_path, change)


def test_an_unchanged_copy_is_accepted(book, tmp_path):
    assert load_changed(book, tmp_path, lambda b: None) == book

"""The book of claims: what it states, and what its schema refuses."""

import copy
from pathlib import Path

import pytest
import yaml

from maa.claims import arithmetic, identities
from maa.claims.book import load_book
from maa.claims.numbers import entries, numbers_of
from maa.claims.scope import published_cells
from maa.errors import UserError
from maa.figures.catalogue import CATALOGUE
from maa.inference.endpoints import endpoints_of
from tests.figures.tables_of_inference import PROBES, TARGETS, contrasts

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
    ids = {claim["id"] for claim in book["claims"]}
    assert ids >= {f"I{n}" for n in range(1, 8)} | {f"X{n}" for n in range(1, 10)}
    assert ids >= {"C1", "C2", "C3", "C4a", "C4b", "C5", "C6a", "C7a", "C8a", "T11"}
    for kind, known in (
        ("identity", identities.CHECKS),
        ("arithmetic", arithmetic.CHECKS),
    ):
        checks = [c["check"] for c in book["claims"] if c["kind"] == kind]
        assert sorted(checks) == sorted(known)


def test_figures_and_tables_are_printed_whole(book):
    numbers = [entry for claim in book["claims"] for entry in claim.get("numbers", [])]
    assert len(by_id(book, "C4d")["numbers"]) == 8 * 4  # Fig. 4: statistics by models
    assert len([n for n in numbers if "percent" in n]) == 15  # Fig. 8
    assert len(by_id(book, "T11")["numbers"]) == 8  # Table 11
    rows = [c for c in book["claims"] if c["kind"] == "aggregate"]
    assert len(rows) == 6  # Table 3
    assert len([c for c in book["claims"] if c["kind"] == "statistic"]) == 4  # Table 4


def test_every_exhibit_can_be_made(book):
    names = {exhibit["name"]: exhibit["folder"] for exhibit in book["exhibits"]}
    assert names == {name: f"{e['kind']}s" for name, e in CATALOGUE.items()}


def test_claims_name_quantities_that_inference_makes(book):
    names = {endpoint.name for endpoint in endpoints_of("ctdg") if endpoint.primary}
    for claim in book["claims"]:
        if claim["kind"] == "aggregate":
            assert claim["endpoint"] in names
        if claim["kind"] == "statistic":
            assert claim["endpoint"] in PROBES
            assert claim["target"] in TARGETS
        if claim["kind"] == "support":
            assert {entry["target"] for entry in claim["numbers"]} == set(TARGETS)


def test_every_number_is_found_in_a_whole_study(book):
    patterns = [claim for claim in book["claims"] if claim["kind"] == "pattern"]
    for claim in patterns:
        for number in numbers_of(claim, contrasts()):
            assert number.ran, f"{claim['id']}: {number.name}"
        for entry in entries(claim):
            assert "paper" in entry or "margin" in entry


def test_the_papers_grid_has_twelve_cells(book):
    grid = book["paper"]["grids"]["ctdg"]
    assert len(published_cells(grid, "core")) == 12
    assert len(published_cells(grid, "controls")) == 4
    assert published_cells(grid, "controls", ["tgat"]) == {("mooc", "tgat")}


def on(name, change):
    """Return a change of one claim of the book."""
    return lambda book: change(by_id(book, name))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (on("C1", lambda c: c["rule"].update(factor=0.5)), r"claims\.0\.rule"),
        (on("C1", lambda c: c["rule"].update(name="grows")), r"claims\.0\.rule"),
        (on("C1", lambda c: c["paper"].pop("moved")), "'moved' is a required"),
        (on("C3", lambda c: c["paper"].pop("percent")), "'percent' is a required"),
        (on("C1", lambda c: c.update(verdict="reproduced")), "'verdict' was unexp"),
        (on("C2", lambda c: c.pop("target")), "'target' is a required"),
        (on("I1", lambda c: c.update(check="luck")), "an identity known to"),
        (on("I1", lambda c: c["rule"].update(tolerance="1e-10")), "tolerance"),
        (on("X1", lambda c: c.update(check="luck")), "a check known to"),
        (
            on("X1", lambda c: c.update(of=["C99"])),
            "claim X1: of names the claim 'C99'",
        ),
        (on("C6e", lambda c: c["numbers"][0].pop("margin")), "'margin' is a required"),
        (on("C6a", lambda c: c["numbers"][0].pop("paper")), "'paper' is a required"),
        (on("C6a", lambda c: c["numbers"][0].update(power=2)), "'power' was unexp"),
        (on("C6a", lambda c: c["common"].update(group="all")), r"common\.group"),
        (on("C6a", lambda c: c["rule"].update(share=0.4)), r"rule"),
        (
            on("C6a", lambda c: c["numbers"].append(c["numbers"][0])),
            "two numbers are called 'AUC, p = 1.02'",
        ),
        (on("S1", lambda c: c.update(variant="best")), "variant"),
        (on("C1", lambda c: c.update(section="luck")), "no section 'luck'"),
        (lambda b: b["claims"].append(b["claims"][0]), "the claim 'C1' twice"),
        (on("C1", lambda c: c.update(domain="tkg")), "'tkg' has no grid"),
        (lambda b: b.pop("notes"), "'notes' is a required"),
    ],
)
def test_a_wrong_book_is_refused_with_the_key(book, tmp_path, change, message):
    with pytest.raises(UserError, match=message):
        load_changed(book, tmp_path, change)


def test_an_unchanged_copy_is_accepted(book, tmp_path):
    assert load_changed(book, tmp_path, lambda b: None) == book

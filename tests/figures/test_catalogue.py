"""The catalogue: which figures a study can fill, known without loading any."""

import subprocess
import sys
from pathlib import Path

import pytest

from maa.figures.catalogue import CATALOGUE, TABLES, drawable, needs
from maa.figures.load import load
from maa.study import COURSES, EVERYWHERE
from tests.figures.tables_of_audits import audit_tables
from tests.figures.tables_of_inference import all_tables, groups
from tests.figures.tables_of_traffic import traffic_tables

FOLDER = Path(__file__).parents[2] / "src" / "maa" / "figures"


def test_every_module_that_draws_is_in_the_catalogue():
    drawing = {
        path.stem
        for path in FOLDER.glob("*.py")
        if "\ndef draw(" in path.read_text(encoding="utf-8")
    }
    assert drawing == set(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_module_takes_its_needs_from_the_catalogue(name):
    module = load(name)
    assert needs(name) == module.NEEDS
    assert hasattr(module, "html") == (CATALOGUE[name]["kind"] == "table")


def test_tables_are_those_of_inference_and_of_audits():
    made = {*all_tables(), *audit_tables(), *traffic_tables()}
    assert set(TABLES) == made


def test_the_smallest_study_draws_what_it_can():
    demo = {"core": ["p1.00", "p1.10"]}
    figures = ["fig1", "fig2", "fig3", "fig4", "trace", "curves", "fig_jacobian"]
    assert drawable("figure", demo) == figures
    assert drawable("table", demo) == ["table3", "table4", "table_checks"]


def test_a_whole_study_draws_everything():
    sets = {name: operators for name, (_, operators) in groups().items()}
    sets |= {f"audits-{table}": () for table in (*EVERYWHERE, *COURSES)}
    sets |= {"audits-pruning": (), "audits-switching": ()}
    drawn = {
        name
        for domain in ("ctdg", "rows", "traffic")
        for kind in ("figure", "table")
        for name in drawable(kind, sets, domain)
    }
    assert drawn == set(CATALOGUE)


def test_operators_count_in_any_set():
    sets = {"core": ["p1.00", "p1.10"], "controls": ["p1.10-l2", "p1.00-l2"]}
    assert "fig9" in drawable("figure", sets)
    assert "fig8" not in drawable("figure", sets)
    assert "official" in drawable("figure", sets | {"official": []})


def test_planning_loads_nothing_heavy():
    text = (
        "import sys, maa.figures.catalogue; "
        "print([m for m in ('numpy', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_exhibit_has_a_caption_in_the_report():
    report = FOLDER.parents[2] / "workflow" / "report"
    for name, entry in CATALOGUE.items():
        text = (report / f"{entry['kind']}.rst").read_text(encoding="utf-8")
        assert f'.{entry["kind"]} == "{name}"' in text

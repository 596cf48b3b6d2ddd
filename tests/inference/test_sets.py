import copy

import pytest

from maa.errors import UserError
from maa.inference.collect import expand
from maa.inference.sets import all_runs, sets_from
from tests.factories import STUDY, make_study


def test_a_set_is_a_grid_or_some_cells():
    core, controls, official = sets_from({"ctdg": STUDY})
    assert [core.group, controls.group, official.group] == [*STUDY]
    assert len(core.cells) == 12
    assert ("wikipedia", "tgat") in core.cells
    assert controls.cells[0] == ("enron", "craft")
    assert len(core.runs()) == 12 * 7 * 3
    assert len(controls.runs(["p1.00", "p1.10"])) == 4 * 2 * 3


def test_runs_that_sets_share_are_named_once():
    runs = list(all_runs(sets_from({"ctdg": STUDY})))
    # Controls add five operators on four cells, official two on one.
    assert len(runs) == 12 * 7 * 3 + 4 * 5 * 3 + 1 * 2 * 3
    assert len(set(runs)) == len(runs)


def test_sets_name_the_files_of_their_runs():
    sets = {"ctdg": {"core": STUDY["official"]}}
    paths = [str(path) for path in expand("runs", sets)]
    assert len(paths) == 2 * 2 * 3
    assert "runs/ctdg/wikipedia/tgat-official/p1.10/7/scores.parquet" in paths


def test_a_set_picks_its_own_measurements():
    table = make_study()
    controls = sets_from({"ctdg": STUDY})[1]
    picked = controls.pick(table)
    cells = set(zip(picked["dataset"], picked["backbone"], strict=True))
    assert cells == set(controls.cells)
    assert set(picked["operator"]) == set(controls.operators)
    # Twelve cells of the core were run with p1.10, and four of them are picked.
    assert len(picked.query("operator == 'p1.10' and measure == 'auc_unseen'")) == 12


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("extra",), {}, "'extra'.*expected some of 'core'"),
        (("core", "seeds"), [], "list seeds of the set 'core'"),
        (("core", "seeds"), [7, 7], "none twice"),
        (("core", "cells"), [], r"has \['backbones', 'cells'"),
        (("controls", "datasets"), ["uci"], "either datasets and backbones or cells"),
        (("controls",), None, "set 'controls' of the domain 'ctdg' has None"),
    ],
)
def test_bad_sets_are_named(path, value, message):
    study = copy.deepcopy(STUDY)
    inner = study if len(path) == 1 else study[path[0]]
    inner[path[-1]] = value
    with pytest.raises(UserError, match=message):
        sets_from({"ctdg": study})

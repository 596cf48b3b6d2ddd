"""The two scripts as ordinary commands, from run files to the tables."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from maa.errors import UserError
from maa.inference.collect import (
    expand,
    gather,
    gather_rows,
    read_run_file,
    run_key,
)
from maa.inference.plan import plan_from, power_of
from tests.factories import (
    BACKBONES,
    DATASETS,
    PLAN,
    make_measurements,
    make_study,
    write_run_files,
)

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
CORE = {
    "datasets": ["enron", "wikipedia"],
    "backbones": ["craft", "tgat"],
    "operators": ["p1.00", "p1.05", "p1.10"],
    "seeds": [7, 17],
}
CONTROLS = {
    "cells": [{"dataset": "enron", "backbone": "tgat"}],
    "operators": ["p1.00", "p1.05", "p1.10", "p1.10-uniform"],
    "seeds": [7, 17],
}
SETS = {"ctdg": {"core": CORE, "controls": CONTROLS}}
SETTINGS = PLAN | {"draws": 100, "sets": SETS}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    table = make_measurements({("auc_unseen", ""): 0.01}, seeds=(7, 17))
    return root, table, write_run_files(table, root)


def command(script, *arguments):
    return subprocess.run(
        [sys.executable, SCRIPTS / script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_run_key_is_read_from_the_path():
    key = run_key("results/runs/ctdg/mooc/tgat/p1.10/17/probe.parquet")
    assert key == {
        "domain": "ctdg",
        "dataset": "mooc",
        "backbone": "tgat",
        "operator": "p1.10",
        "seed": 17,
    }
    for path in ("17/probe.parquet", "a/ctdg/mooc/tgat/p1.10/last/probe.parquet"):
        with pytest.raises(UserError, match="not the path of a run file"):
            run_key(path)


def test_gather_returns_what_the_runs_hold(runs):
    _, table, paths = runs
    order = ["domain", "dataset", "backbone", "operator", "seed", "measure", "target"]
    expected = table.sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(gather(reversed(paths)), expected)
    with pytest.raises(UserError, match="given twice"):
        gather([*paths, paths[0]])
    with pytest.raises(UserError, match="no run files"):
        gather([])


def test_files_of_other_kinds_are_refused(runs):
    _, _, paths = runs
    with pytest.raises(UserError, match="expected one of probe"):
        read_run_file(paths[0].with_name("training.parquet"))
    with pytest.raises(UserError, match="is missing"):
        read_run_file("ctdg/mooc/tgat/p1.10/99/probe.parquet")


def test_a_file_without_its_column_is_named(tmp_path):
    path = tmp_path / "ctdg/mooc/tgat/p1.10/7/scores.parquet"
    path.parent.mkdir(parents=True)
    pd.DataFrame({"measure": ["auc_unseen"]}).to_parquet(path)
    with pytest.raises(UserError, match=r"scores\.parquet lacks the column 'value'"):
        read_run_file(path)


def test_a_study_names_the_same_files(runs):
    root, _, paths = runs
    core = {
        "datasets": DATASETS,
        "backbones": BACKBONES,
        "operators": ["p1.00", "p1.10"],
        "seeds": [7, 17],
    }
    assert sorted(expand(root, {"ctdg": {"core": core}})) == sorted(paths)
    del core["seeds"]
    with pytest.raises(UserError, match="expected the lists operators and seeds"):
        list(expand(root, {"ctdg": {"core": core}}))


def test_traces_carry_the_keys_of_their_runs(tmp_path):
    trace = pd.DataFrame(
        {
            "point": ["attention", "z"],
            "order": [0, 1],
            "measure": "norm",
            "target": "",
            "value": [1.5, 2.5],
        }
    )
    paths = [
        tmp_path / f"ctdg/mooc/tgat/{operator}/7/trace.parquet"
        for operator in ("p1.00", "p1.10")
    ]
    for scale, path in enumerate(paths, start=1):
        path.parent.mkdir(parents=True)
        trace.assign(value=trace["value"] * scale).to_parquet(path)
    found = gather_rows(paths)
    assert found["operator"].tolist() == ["p1.00", "p1.00", "p1.10", "p1.10"]
    assert found["value"].tolist() == [1.5, 2.5, 3.0, 5.0]
    assert set(found["seed"]) == {7}
    trace.drop(columns="order").to_parquet(paths[0])
    with pytest.raises(UserError, match=r"trace\.parquet lacks the column 'order'"):
        gather_rows(paths)
    with pytest.raises(UserError, match="no run files"):
        gather_rows([])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": "many"}, "'draws' is 'many'; expected a whole number"),
        ({"draws": 0}, "expected 1 or more"),
        ({"baseline": 1.0}, "expected an operator name"),
        ({"level": 0.9}, "have the keys .*'level'"),
        ({"sets": []}, "expected a mapping"),
        ({"sets": {"ctdg": {"controls": CONTROLS}}}, "expected 'core' among them"),
        ({"selection": {"grid": ["p1.00"]}}, "selection settings have the keys"),
        (
            {"selection": {"grid": ["p1.00", "nap"], "utility_tolerance": 0}},
            "'nap' is not a power",
        ),
        (
            {"selection": {"grid": ["p1.00"], "utility_tolerance": -1}},
            "'utility_tolerance' is -1",
        ),
    ],
)
def test_bad_settings_are_named(change, message):
    with pytest.raises(UserError, match=message):
        plan_from(SETTINGS | change)


def test_a_grid_of_powers_is_sorted_by_power():
    selection = {"grid": ["p1.10", "p1.00", "p1.02"], "utility_tolerance": 0}
    plan = plan_from(SETTINGS | {"selection": selection})
    assert plan.selection.grid == ("p1.00", "p1.02", "p1.10")
    assert power_of("p1.02") == 1.02


def test_parts_and_inputs_make_the_names_of_measures(tmp_path):
    table = make_study(sets={"core": CORE})
    paths = write_run_files(table, tmp_path)
    found = set(gather(paths)["measure"])
    assert {"validation_r2_linear_z", "validation_auc", "r2_linear_zn"} < found
    assert found == set(table["measure"])


TABLES = {
    "infer.py": ["cells", "aggregate", "statistics", "mixed", "precision"],
    "contrast.py": ["contrasts", "contrast-cells", "shares"],
    "select_power.py": ["selection", "selection-effects"],
}


def infer(script, measurements, folder):
    outputs = {name: folder / f"{name}.parquet" for name in TABLES[script]}
    flags = [part for name, path in outputs.items() for part in (f"--{name}", path)]
    settings = ["--settings", json.dumps(SETTINGS)]
    done = command(script, "--measurements", measurements, *settings, *flags)
    return done, outputs


def test_from_files_to_all_tables(tmp_path):
    planted = {("p1.10", "auc_unseen", ""): 0.01}
    runs = tmp_path / "runs"
    write_run_files(make_study(planted, sets=SETS["ctdg"]), runs)
    measurements = tmp_path / "measurements.parquet"
    settings = json.dumps({"sets": SETS})
    done = command(
        "collect.py", "--root", runs, "--settings", settings, "--output", measurements
    )
    assert done.returncode == 0, done.stderr
    tables = {}
    for script in TABLES:
        done, outputs = infer(script, measurements, tmp_path)
        assert done.returncode == 0, done.stderr
        tables |= {name: pd.read_parquet(path) for name, path in outputs.items()}
    auc = tables["aggregate"].set_index("endpoint").loc["auc"]
    assert (auc["improved"], auc["cells"]) == (4, 4)
    assert auc["change"] == pytest.approx(0.01, abs=0.001)
    assert len(tables["statistics"]) == 5 * 8  # five probes on test queries
    assert len(tables["mixed"]) == len(tables["precision"])
    assert set(tables["contrasts"]["group"]) == {"core", "controls"}
    assert set(tables["shares"]["control"]) == {"uniform", "log_n"}
    assert tables["selection"].groupby(["variant", "fold"])["chosen"].sum().eq(1).all()
    assert len(tables["selection-effects"]) == 3 * 4
    names = [tmp_path / f"{name}.parquet" for name in TABLES["contrast.py"]]
    first = [path.read_bytes() for path in names]
    infer("contrast.py", measurements, tmp_path)
    assert [path.read_bytes() for path in names] == first


@pytest.mark.parametrize("script", TABLES)
def test_what_is_missing_is_named_in_one_sentence(script, tmp_path):
    missing = tmp_path / "measurements.parquet"
    done, _ = infer(script, missing, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {missing} is missing")
    assert "Traceback" not in done.stderr

"""The two scripts as ordinary commands, from run files to the tables."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from maa.errors import UserError
from maa.inference.collect import expand, gather, read_run_file, run_key
from maa.inference.plan import plan_from
from tests.factories import BACKBONES, DATASETS, make_measurements, write_run_files

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
SETTINGS = {"baseline": "p1.00", "treatment": "p1.10", "draws": 100, "seed": 0}


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


def test_a_grid_names_the_same_files(runs):
    root, _, paths = runs
    grid = {
        "domain": "ctdg",
        "datasets": DATASETS,
        "backbones": BACKBONES,
        "operators": ["p1.00", "p1.10"],
        "seeds": [7, 17],
    }
    assert sorted(expand(root, [grid])) == sorted(paths)
    del grid["seeds"]
    with pytest.raises(UserError, match=r"lacks \['seeds'\]"):
        list(expand(root, [grid]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": "many"}, "'draws' is 'many'; expected a whole number"),
        ({"draws": 0}, "expected 1 or more"),
        ({"baseline": 1.0}, "expected an operator name"),
        ({"level": 0.9}, "have the keys .*'level'"),
    ],
)
def test_bad_settings_are_named(change, message):
    with pytest.raises(UserError, match=message):
        plan_from(SETTINGS | change)


def test_collect_and_infer_from_files_to_tables(runs, tmp_path):
    _, _, paths = runs
    measurements = tmp_path / "measurements.parquet"
    done = command("collect.py", *paths, "--output", measurements)
    assert done.returncode == 0, done.stderr
    outputs = {
        n: tmp_path / f"{n}.parquet" for n in ("cells", "aggregate", "statistics")
    }
    flags = [part for name, path in outputs.items() for part in (f"--{name}", path)]
    settings = ["--settings", json.dumps(SETTINGS)]
    done = command("infer.py", "--measurements", measurements, *settings, *flags)
    assert done.returncode == 0, done.stderr
    aggregate = pd.read_parquet(outputs["aggregate"]).set_index("endpoint")
    assert aggregate.loc["auc", "p_holm"] == pytest.approx(12 / 4096)
    assert len(pd.read_parquet(outputs["statistics"])) == 32
    first = outputs["aggregate"].read_bytes()
    command("infer.py", "--measurements", measurements, *settings, *flags)
    assert outputs["aggregate"].read_bytes() == first


def test_infer_names_what_is_missing_in_one_sentence(tmp_path):
    flags = ["--cells", "c", "--aggregate", "a", "--statistics", "s"]
    settings = ["--settings", json.dumps(SETTINGS)]
    missing = tmp_path / "measurements.parquet"
    done = command("infer.py", "--measurements", missing, *settings, *flags)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {missing} is missing")
    assert "Traceback" not in done.stderr

"""The scripts, run as commands."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from maa.probes.recovery import PLAN, ProbeData, measure_recovery
from maa.probes.settings import ProbeSettings

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"

Files = Callable[..., tuple[Path, Path]]


def command(
    script: str, files: tuple[Path, Path], *arguments: str | Path, blas_threads: int = 1
) -> subprocess.CompletedProcess[str]:
    representation, targets = files
    source = SCRIPTS.parents[1] / "src"
    environment = {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": str(blas_threads)}
    return subprocess.run(
        [
            *(sys.executable, SCRIPTS / script),
            *("--representation", representation, "--targets", targets),
            *arguments,
        ],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_probe_writes_what_the_library_measures(
    data: ProbeData, files: Files, tmp_path: Path
) -> None:
    paths = files(data, "test", "validation")
    outputs = [tmp_path / "one.parquet", tmp_path / "two"]
    options = ["--settings", '{"trees": 8, "joint": false}', "--seed", "7"]
    for threads, output in enumerate(outputs, start=1):
        done = command(
            *("probe.py", paths, *options, "--threads", str(threads)),
            *("--output", output),
            blas_threads=threads,
        )
        assert done.returncode == 0, done.stderr
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    settings = ProbeSettings(trees=8, joint=False)
    parts = [measure_recovery(data, settings, 7, 1, part) for part in PLAN]
    expected = pd.concat(parts, ignore_index=True)
    pd.testing.assert_frame_equal(pd.read_parquet(outputs[0]), expected)


def test_calibration_reads_validation_queries_alone(
    data: ProbeData, files: Files, tmp_path: Path
) -> None:
    output = tmp_path / "trees.csv"
    grid = ["--grid", '{"trees": [2, 4]}', "--output", output]
    done = command("calibrate_trees.py", files(data, "validation"), *grid)
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(output)["trees"].tolist() == [2, 2, 4, 4]
    assert "mean_r2" in done.stdout
    failed = command("calibrate_trees.py", files(data, "test"), *grid)
    assert failed.returncode == 1
    assert "no matrix 'validation_z'" in failed.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('{"trees": 0}', "error: probe setting trees is 0; expected a whole number"),
        ('{"tree": 9}', "error: probe setting 'tree' is unknown"),
    ],
)
def test_a_users_error_is_one_sentence(
    data: ProbeData, files: Files, tmp_path: Path, options: str, message: str
) -> None:
    output = tmp_path / "probe.parquet"
    arguments = ["--settings", options, "--seed", "7", "--output", output]
    done = command("probe.py", files(data, "test"), *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert not output.exists()

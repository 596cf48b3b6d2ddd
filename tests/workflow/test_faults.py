"""Crashes on this machine: whatever happens, the same command finishes the work."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from maa.files import read_tensors
from tests.workflow.conftest import Study, plant
from tests.workflow.small import MINI

RUNS = [f"results/runs/ctdg/planted/craft/p{p}/7" for p in ("1.00", "1.10")]
MODELS = [f"{run}/model.safetensors" for run in RUNS]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The smallest study, with its data prepared and nothing trained."""
    study = plant(tmp_path_factory.mktemp("begun") / "tree", MINI)
    study.snakemake("--", "data")
    return study


@pytest.fixture
def fresh(begun: Study, tmp_path: Path) -> Iterator[Study]:
    root = tmp_path / "tree"
    shutil.copytree(begun.root, root)
    yield Study(root, root / "tiny.yaml")
    for left in trainings(root):  # where a test has failed
        left.kill()


def start(study: Study, *options: str) -> subprocess.Popen[bytes]:
    """Start Snakemake, and return when both models are being trained."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    process = subprocess.Popen(
        [*command, "--configfile", str(study.config), *options, "--", *MODELS],
        cwd=study.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: len(trainings(study.root)) == 2)
    return process


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def trainings(root: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            mine = len(words) > 1 and words[1].endswith("/train.py")
            if mine and process.cwd() == str(root):
                found.append(process)
        except psutil.Error:
            continue
    return found


def unlock(study: Study) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "workflow/scripts/unlock.py"],
        cwd=study.root,
        env=os.environ | {"PYTHONPATH": str(study.root / "src")},
        capture_output=True,
        text=True,
    )


def finish(study: Study) -> None:
    """Give the command again; all models are there, and nothing half-written."""
    study.snakemake("--", *MODELS)
    for model in MODELS:
        assert read_tensors(study.root / model)[1]["backbone"] == "craft"
    assert not list((study.root / "results").rglob("*.part*"))
    assert "Nothing to be done" in study.snakemake("--dry-run", "--", *MODELS)


def test_after_snakemake_is_killed(fresh: Study) -> None:
    process = start(fresh)
    held = trainings(fresh.root)
    for training in held:
        training.suspend()
    assert unlock(fresh).returncode == 1  # while it runs
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    assert not any((fresh.root / model).exists() for model in MODELS)
    assert "LockException" in fresh.attempt("--", *MODELS).stdout
    done = unlock(fresh)
    assert done.returncode == 0, done.stderr
    assert "is free" in done.stdout
    assert not any(training.is_running() for training in held)
    finish(fresh)


def test_after_a_job_is_killed_the_others_go_on(fresh: Study) -> None:
    process = start(fresh)
    trainings(fresh.root)[0].kill()
    assert process.wait(120) == 1
    assert sum((fresh.root / model).exists() for model in MODELS) == 1
    (trained,) = [model for model in MODELS if (fresh.root / model).exists()]
    before = (fresh.root / trained).stat().st_mtime_ns
    finish(fresh)
    assert (fresh.root / trained).stat().st_mtime_ns == before


def test_two_copies_of_one_training_at_once(fresh: Study) -> None:
    """As a cluster can start them; the later one replaces the same bytes."""
    planned = fresh.snakemake("--dry-run", "--printshellcmds", "--", MODELS[0])
    (command,) = [
        line.partition("Shell command: ")[2].rpartition(" > ")[0]
        for line in planned.splitlines()
        if "Shell command: " in line and "train.py" in line
    ]
    environment = os.environ | {
        "MAA_SCRIPTS": str(fresh.root / "workflow/scripts"),
        "PYTHONPATH": str(fresh.root / "src"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    both = [
        subprocess.Popen(["bash", "-c", command], cwd=fresh.root, env=environment)
        for _ in range(2)
    ]
    assert [process.wait(120) for process in both] == [0, 0]
    doubled = (fresh.root / MODELS[0]).read_bytes()
    shutil.rmtree(fresh.root / "results")
    fresh.snakemake("--", MODELS[0])
    assert (fresh.root / MODELS[0]).read_bytes() == doubled


@pytest.fixture
def full_disk(fresh: Study) -> Iterator[Path]:
    """The runs' folder on a disk of 16 KiB."""
    folder = fresh.root / "results/runs"
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root alone")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_sentence(fresh: Study, full_disk: Path) -> None:
    failed = fresh.attempt("--", *MODELS)
    assert failed.returncode == 1
    log = (fresh.root / "logs/train/ctdg/planted/craft/p1.00/7.log").read_text()
    assert "Traceback" not in log
    (sentence,) = [line for line in log.splitlines() if line.startswith("error: ")]
    assert "No space left on device" in sentence and "free some space" in sentence
    assert not any((fresh.root / model).exists() for model in MODELS)
    more = ["mount", "-o", "remount,size=64m", str(full_disk)]
    subprocess.run(more, check=True)
    finish(fresh)


def test_output_may_appear_late(fresh: Study) -> None:
    """As on a network's file system: for some seconds after the job has ended."""
    fresh.edit(
        "workflow/scripts/train.py",
        "    write_table(arguments.curve, fitted.curve)\n",
        "    write_table(arguments.curve, fitted.curve)\n"
        "    import subprocess\n"
        '    late = arguments.curve.with_suffix(".late")\n'
        "    arguments.curve.rename(late)\n"
        '    move = ["sh", "-c", f"sleep 3; mv {late} {arguments.curve}"]\n'
        "    subprocess.Popen(move, start_new_session=True)\n",
    )
    finish(fresh)


def test_elsewhere_with_spaces_without_stdin_or_network(
    begun: Study, tmp_path: Path
) -> None:
    root = tmp_path / "a tree with spaces"
    shutil.copytree(begun.root, root)
    folder = tmp_path / "another folder"
    folder.mkdir()
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    command += ["--snakefile", str(root / "Snakefile")]
    command += ["--configfile", str(root / "tiny.yaml")]
    targets = [f"{RUNS[0]}/probe.parquet", "results/figures/fig2.pdf"]
    cut = ["unshare", "--net"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*cut, "bash", "-c", 'exec "$@" 0<&-', "bash", *command, "--", *targets],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert all((folder / target).exists() for target in targets)

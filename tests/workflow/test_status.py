"""A workflow's state is read from its logs: running, killed, or at its end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maa.errors import UserError
from maa.progress import describe, newest_log, parse

SNAKEFILE = """
rule all:
    input: "a.txt", "b.txt", "c.txt"

rule make:
    output: "{name}.txt"
    log: "logs/{name}.log"
    shell:
        '''
        echo "begun {wildcards.name}" > {log}
        if [ {wildcards.name} = b ]; then echo "error: no luck" >> {log}; false; fi
        while [ {wildcards.name} = c ] && [ -e hold ]; do sleep 0.1; done
        touch {output}
        '''
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Three jobs: one finishes, one fails, one waits as long as `hold` is there."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "hold").touch()
    return tmp_path


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "snakemake", "--cores", "3", "--keep-going"]
    return subprocess.Popen(
        [*command, "--retries", "1"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_until_one_waits(folder: Path) -> None:
    for _ in range(600):
        if list((folder / ".snakemake/log").glob("*")):
            progress = parse(newest_log(folder).read_text())
            if len(progress.running) == len(progress.failed) == 1:
                return
        time.sleep(0.1)
    pytest.fail("the toy workflow did not get to its waiting job")


def counts(lines: list[str], rule: str) -> list[int]:
    """Done, running, failed, left, planned."""
    row = next(line for line in lines if line.split()[:1] == [rule])
    return [int(value) for value in row.split()[1:]]


def test_while_it_runs_and_at_its_end(toy: Path) -> None:
    process = start(toy)
    try:
        wait_until_one_waits(toy)
        lines = describe(toy)
        assert lines[0].startswith(f"running (process {process.pid}); begun 20")
        assert counts(lines, "make") == [1, 1, 1, 0, 3]
        at = lines.index("running:")
        assert lines[at : at + 3] == ["running:", "  make c", "    begun c"]
        at = lines.index("failed:")
        assert lines[at + 1 :] == ["  make b", "    error: no luck"]
    finally:
        (toy / "hold").unlink()
    assert process.wait(60) == 1
    lines = describe(toy)
    assert lines[0].startswith("ended with failures")
    assert counts(lines, "make") == [2, 0, 1, 0, 3]
    assert "running:" not in lines


def test_after_a_kill(toy: Path) -> None:
    process = start(toy)
    try:
        wait_until_one_waits(toy)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        (toy / "hold").unlink()
    process.wait(60)
    lines = describe(toy)
    assert lines[0].startswith("killed: no process on this machine")
    assert "make unlock" in lines[0]
    assert counts(lines, "make") == [1, 0, 1, 1, 3]
    assert "running:" not in lines


def test_a_log_cut_anywhere_is_read(toy: Path) -> None:
    process = start(toy)
    (toy / "hold").unlink()
    process.wait(60)
    log = newest_log(toy).read_text()
    for end in range(0, len(log), 7):
        progress = parse(log[:end])
        assert sum(progress.finished.values()) <= 2
        assert len(progress.running) + len(progress.failed) <= 3


def test_a_log_of_another_host_is_not_called_dead(toy: Path) -> None:
    folder = toy / ".snakemake/log"
    folder.mkdir(parents=True)
    text = "  Date: 2026-01-01 00:00:00\n  Host: login-1.example\n"
    (folder / "2026-01-01T000000.snakemake.log").write_text(text)
    assert describe(toy)[0].startswith("running or killed on login-1.example")


def test_a_folder_without_a_workflow_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no workflow has run in"):
        describe(tmp_path)

"""What a workflow leaves behind when it is killed, and how to end it.

A killed Snakemake leaves its lock on the folder, and jobs that go on: processes of this
machine, or jobs of SLURM. A second Snakemake would start the same jobs beside them.
Nobody's work is lost by ending them, since a step renames its results when they are
whole.
"""

import contextlib
import os
import platform
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from maa.errors import UserError
from maa.progress import newest_log, parse

SLURM_PREFIX = "maa_"
"""How the names of submitted jobs begin (`slurm-jobname-prefix` of the profile)."""
PILOT = "maa-pilot"
"""The name of a pilot (`pilot.sbatch`)."""


@dataclass(frozen=True)
class SlurmJob:
    """A job in SLURM's queue: number, name, state, and the folder that it works in."""

    number: str
    name: str
    state: str
    folder: str


def check_nobody_works(root: Path, anywhere: bool = False) -> None:
    """Check that no workflow runs in a folder.

    Args:
        root: the folder that Snakemake runs in.
        anywhere: take a workflow that was begun on another machine to be dead.

    Raises:
        UserError: if one runs, or may run.
    """
    for job in slurm_jobs(root):
        if job.name == PILOT and job.state == "RUNNING":
            raise UserError(
                f"a pilot still works in {root} (SLURM job {job.number}); wait for it "
                f"or stop it with scancel {job.number}"
            )
    for process in _processes(root):
        if _is_main(process):
            raise UserError(
                f"a workflow still runs in {root} (process {process.pid}); wait for it "
                f"or stop it with kill -TERM {process.pid}, which lets its jobs finish"
            )
    host = _begun_on(root)
    if host not in ("", platform.node()) and not anywhere:
        raise UserError(
            f"the latest workflow in {root} was begun on {host}, which cannot be asked "
            "from here; do this there, or say --anywhere if nothing runs there any more"
        )


def end_processes(root: Path, patience: float = 10) -> int:
    """End the processes that jobs of this folder left on this machine.

    Args:
        root: the folder that Snakemake ran in.
        patience: seconds until they are killed.

    Returns:
        How many there were.
    """
    found = [process for process in _processes(root) if not _is_main(process)]
    _send(signal.SIGTERM, found)
    _, alive = psutil.wait_procs(found, patience)
    _send(signal.SIGKILL, alive)
    psutil.wait_procs(alive, patience)
    return len(found)


def cancel_slurm_jobs(root: Path, patience: float = 60) -> list[str]:
    """Cancel the jobs that a workflow of this folder has in SLURM's queue.

    Args:
        root: the folder that Snakemake ran in.
        patience: seconds to wait until they are gone.

    Returns:
        Their numbers.

    Raises:
        UserError: if some are still there after that.
    """
    numbers = [job.number for job in _submitted(root)]
    if not numbers:
        return []
    _slurm("scancel", *numbers)
    deadline = time.monotonic() + patience
    while left := [job.number for job in _submitted(root)]:
        if time.monotonic() > deadline:
            raise UserError(
                f"SLURM still has the jobs {', '.join(left)} of {root}, {patience:.0f} "
                "s after they were cancelled; try again when squeue shows none of them"
            )
        time.sleep(0.5)
    return numbers


def slurm_jobs(root: Path) -> list[SlurmJob]:
    """Return the user's jobs in SLURM's queue that work in a folder, but for our own.

    Raises:
        UserError: if the folder's workflows have used SLURM, and it does not answer.
    """
    if not _has_used_slurm(root):
        return []
    rows = _slurm("squeue", "--noheader", "--me", "--format=%i|%j|%T|%Z").splitlines()
    jobs = [SlurmJob(*row.split("|", 3)) for row in rows]
    own = os.environ.get("SLURM_JOB_ID")
    return [
        job
        for job in jobs
        if job.number != own and Path(job.folder).resolve() == root.resolve()
    ]


def _has_used_slurm(root: Path) -> bool:
    return (root / ".snakemake" / "slurm_logs").exists() or any(
        root.glob(f"{PILOT}-*.log")
    )


def _submitted(root: Path) -> list[SlurmJob]:
    return [job for job in slurm_jobs(root) if job.name.startswith(SLURM_PREFIX)]


def _slurm(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise UserError(
            f"{command[0]} is not installed here, but workflows of this folder have "
            "used SLURM; do this on a machine of the cluster"
        ) from error
    except subprocess.CalledProcessError as error:
        raise UserError(
            f"{command[0]} failed ({' '.join(error.stderr.split())}); try again when "
            "SLURM answers"
        ) from error
    return done.stdout


def _begun_on(root: Path) -> str:
    """Return the machine on which a workflow began that has not ended, or ''."""
    try:
        log = newest_log(root)
    except UserError:
        return ""
    progress = parse(log.read_text(errors="replace"))
    return "" if progress.over else progress.host


def _processes(root: Path) -> Iterator[psutil.Process]:
    """Yield workflows of a folder and their jobs, but for our own ancestors.

    Jobs inside SLURM are SLURM's to end.
    """
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    scripts = str(root.resolve() / "workflow" / "scripts")
    for process in psutil.process_iter():
        try:
            if process.pid in own or process.cwd() != str(root.resolve()):
                continue
            environment = process.environ()
            inside = environment.get("SLURM_JOB_ID") != os.environ.get("SLURM_JOB_ID")
            if _is_main(process) or (
                environment.get("MAA_SCRIPTS") == scripts and not inside
            ):
                yield process
        except psutil.Error:
            continue


def _is_main(process: psutil.Process) -> bool:
    """Return whether a process is a Snakemake, and not one that runs a single job."""
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    named = any(Path(word).name == "snakemake" for word in words[:4])
    return named and "--mode" not in words


def _send(number: signal.Signals, processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)

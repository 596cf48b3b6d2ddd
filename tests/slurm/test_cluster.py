"""The workflow on a real SLURM, through the real plugin and inside a pilot."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.slurm.conftest import Cluster, ClusterStudy, wait_for

MEASURED = "results/measurements.parquet"
GPU = {"train", "represent", "behave"}
CPU = {"probe"}
ONCE = {"prepare", "targets"}


def test_each_job_gets_what_it_needs_and_no_more(submitted: ClusterStudy) -> None:
    submitted.run("--", MEASURED)
    jobs = submitted.cluster.jobs(submitted.root)
    wanted = {rule: 2 for rule in GPU | CPU} | {rule: 1 for rule in ONCE}
    assert Counter(job.rule for job in jobs) == wanted
    for job in jobs:
        place = ("gpu", 1) if job.rule in GPU else ("cpu", 0)
        assert (job.partition, job.gpus) == place, job
        assert job.state == "COMPLETED"
    # What the cluster made is what this machine would make: nothing is left to do.
    output = submitted.study.snakemake("--dry-run", "--", MEASURED)
    assert "Nothing to be done" in output


def test_a_pilot_runs_all_in_one_job(submitted: ClusterStudy) -> None:
    cluster, root = submitted.cluster, submitted.root
    number = pilot(submitted)
    # Its time is nearly over when the first training begins: it stops, and comes back.
    wait_for("training", lambda: submitted.training(7))
    cluster("scancel", "--signal=USR1", "--batch", number)
    log = root / f"maa-pilot-{number}.log"
    wait_for("end of the first turn", lambda: "queued again" in log.read_text())
    wait_for("place in the queue", lambda: state(cluster, number) == "PENDING")
    # SLURM waits two minutes, and takes a job of the same second for the old one.
    time.sleep(3)
    cluster("scontrol", "update", f"jobid={number}", "StartTime=now")
    wait_for("end", lambda: state(cluster, number) not in ("PENDING", "RUNNING"), 300)
    assert state(cluster, number) == "COMPLETED", log.read_text()
    assert (root / MEASURED).exists()
    assert {job.number for job in cluster.jobs(root)} == {number}
    text = log.read_text()
    for rule in GPU | CPU:
        assert text.count(f"localrule {rule}:") == 2, text


def test_a_second_pilot_takes_over_only_when_the_first_is_gone(
    submitted: ClusterStudy,
) -> None:
    number = pilot(submitted)
    wait_for("training", lambda: submitted.training(7))
    try:
        done = unlock(submitted)
        assert done.returncode == 1
        assert f"scancel {number}" in done.stderr
    finally:
        submitted.cluster("scancel", "--signal=KILL", "--full", number)
    wait_for("its end", lambda: state(submitted.cluster, number) != "RUNNING")
    second = pilot(submitted)
    waiting = ("PENDING", "RUNNING")
    wait_for("end", lambda: state(submitted.cluster, second) not in waiting, 300)
    log = (submitted.root / f"maa-pilot-{second}.log").read_text()
    assert state(submitted.cluster, second) == "COMPLETED", log
    assert (submitted.root / MEASURED).exists()


def pilot(submitted: ClusterStudy) -> str:
    """Queue a pilot for the study; return its number."""
    bin_folder = Path(sys.executable).parent
    return submitted.cluster(
        *("sbatch", "--parsable", f"--chdir={submitted.root}"),
        *("--cpus-per-task=2", "--mem=4000", f"--export=ALL,MAA_BIN={bin_folder}"),
        str(submitted.root / "workflow/profiles/slurm/pilot.sbatch"),
        *("--configfile", str(submitted.study.config), "--", MEASURED),
    )


def state(cluster: Cluster, number: str) -> str:
    found = cluster("squeue", "--noheader", "--states=all", "-j", number, "-o", "%T")
    return found.split()[-1] if found else ""


def unlock(submitted: ClusterStudy) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "workflow/scripts/unlock.py"],
        cwd=submitted.root,
        env=submitted.cluster.environment | {"PYTHONPATH": str(submitted.root / "src")},
        capture_output=True,
        text=True,
        timeout=120,
    )

"""What goes wrong on a cluster, and that the work is finished all the same."""

import os
import signal
from collections import Counter
from collections.abc import Iterator

import psutil
import pytest

from tests.slurm.conftest import Cluster, ClusterStudy, Job, wait_for
from tests.slurm.test_cluster import unlock

RUN = "results/runs/ctdg/planted/craft/p1.00"
CANCELLED, TOO_LARGE, TOO_LONG, LOST, FINE = 7, 17, 29, 41, 53
SEEDS = (CANCELLED, TOO_LARGE, TOO_LONG, LOST, FINE)


@pytest.fixture
def failing_status(cluster: Cluster) -> Iterator[None]:
    """Have the next two questions for the state of jobs fail, however they are put."""
    originals, counters = {}, {}
    for name in ("sacct", "squeue"):
        tool = cluster.root / "bin" / name
        originals[tool] = tool.read_text()
        counters[name] = cluster.root / f"failures-of-{name}"
        counters[name].write_text("")
        tool.write_text(
            f"""#!/bin/sh
if [ -z "$MAA_TEST_ASKS" ] && [ $(wc -c < {counters[name]}) -lt 2 ]; then
    printf x >> {counters[name]}
    echo "{name}: error: slurm_persist_conn_open: Connection refused" >&2
    exit 1
fi
{originals[tool].splitlines()[1]}
"""
        )
    yield
    for tool, text in originals.items():
        tool.write_text(text)
    assert "xx" in [counter.read_text() for counter in counters.values()]


def test_five_trainings_four_faults(
    submitted: ClusterStudy, failing_status: None
) -> None:
    """Cancelled, out of memory, out of time, and on a node that goes down."""
    submitted.study.configure(
        lambda config: config["domains"]["ctdg"].update(seeds=list(SEEDS))
    )
    first = "attempt == 1 and wildcards.seed =="
    submitted.study.edit(
        "workflow/profiles/slurm/config.yaml",
        '    mem_mb: "attempt * 8000"\n    runtime: "attempt * 120"',
        f"""    mem_mb: "300 if {first} '{TOO_LARGE}' else 4000"\n"""
        f"""    runtime: "1 if {first} '{TOO_LONG}' else 30\"""",
    )
    cluster = submitted.cluster
    models = [f"{RUN}/{seed}/model.safetensors" for seed in SEEDS]
    process = submitted.start("--jobs", "8", "--", *models)
    try:
        held = {seed: hold(submitted, seed) for seed in (TOO_LONG, LOST, CANCELLED)}
        cluster("scancel", submitted.job_of(held[CANCELLED]))
        wait_for("end of its time", lambda: "TIMEOUT" in states(submitted)[TOO_LONG])
        down = cluster("squeue", "-h", "-o", "%N", "-j", submitted.job_of(held[LOST]))
        cluster("scontrol", "update", f"nodename={down}", "state=down", "reason=test")
        assert process.wait(200) == 0, submitted.log()
    finally:
        for one in submitted_processes(submitted):
            one.kill()
        if process.poll() is None:
            process.kill()
    found, jobs = states(submitted), trainings(submitted)
    assert found[FINE][-1] == "COMPLETED"
    assert found[CANCELLED][0] == "CANCELLED" and found[CANCELLED][-1] == "COMPLETED"
    assert found[TOO_LARGE][0] == "FAILED" and found[TOO_LARGE][-1] == "COMPLETED"
    assert found[TOO_LONG][0] == "TIMEOUT" and found[TOO_LONG][-1] == "COMPLETED"
    assert found[LOST][0] == "NODE_FAIL" and found[LOST][-1] == "COMPLETED"
    assert all(Counter(some)["COMPLETED"] == 1 for some in found.values()), found
    # What was too little is more the second time.
    assert {job.memory for job in jobs[TOO_LARGE][:1]} == {"300M"}
    assert {job.memory for job in jobs[TOO_LARGE][1:]} == {"4000M"}
    minutes = [int(job.minutes) for job in jobs[TOO_LONG]]
    assert minutes[0] == 1 and set(minutes[1:]) == {30}
    assert jobs[LOST][0].node == down


def trainings(submitted: ClusterStudy) -> dict[int, list[Job]]:
    """Return the jobs of each seed's training, in order of submission."""
    found: dict[int, list[Job]] = {seed: [] for seed in SEEDS}
    jobs = submitted.cluster.jobs(submitted.root)
    for job in sorted(jobs, key=lambda job: int(job.number)):
        if job.rule == "train":
            found[int(job.comment.split("_")[-1])].append(job)
    return found


def states(submitted: ClusterStudy) -> dict[int, list[str]]:
    """Return how they ended."""
    return {
        seed: [job.state.split()[0] for job in jobs]
        for seed, jobs in trainings(submitted).items()
    }


def test_after_a_kill_two_commands_finish_the_work(submitted: ClusterStudy) -> None:
    targets = [f"{RUN}/7/probe.parquet", f"{RUN}/7/scores.parquet"]
    process = submitted.start("--", *targets)
    held = hold(submitted, 7)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    number = submitted.job_of(held)
    done = unlock(submitted)
    assert done.returncode == 0, done.stderr
    wait_for("end of what was left", lambda: not held.is_running())
    submitted.run("--", *targets)
    assert all((submitted.root / target).exists() for target in targets)
    jobs = submitted.cluster.jobs(submitted.root)
    assert {job.state.split()[0] for job in jobs if job.number == number} == {
        "CANCELLED"
    }
    finished = Counter(
        (job.comment, job.state) for job in jobs if job.state == "COMPLETED"
    )
    assert set(finished.values()) == {1}, finished
    assert "Nothing to be done" in submitted.study.snakemake("-n", "--", *targets)


def hold(submitted: ClusterStudy, seed: int) -> psutil.Process:
    """Stop a training as soon as it is there, so that it cannot end."""
    found = wait_for(f"training of {seed}", lambda: submitted.training(seed))
    for process in found:
        process.suspend()
    return found[0]


def submitted_processes(submitted: ClusterStudy) -> list[psutil.Process]:
    """Return what still trains, as processes do on a node that is down."""
    return [one for seed in SEEDS for one in submitted.training(seed)]

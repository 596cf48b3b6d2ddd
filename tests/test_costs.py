"""Costs are read from dry runs and benchmarks, and follow the work."""

from pathlib import Path

import numpy as np
import pytest

from maa.costs.estimate import estimate
from maa.costs.jobs import Measured, Planned, measured_jobs, planned_jobs
from maa.costs.text import describe
from maa.costs.work import events_of, work
from maa.errors import UserError

DRY_RUN = """
rule train:
    input: data/prepared/ctdg/uci/stream.safetensors
    output: results/runs/ctdg/uci/tgat/p1.10/7/model.safetensors, \
results/runs/ctdg/uci/tgat/p1.10/7/training.parquet
    log: logs/train/ctdg/uci/tgat/p1.10/7.log
    jobid: 612
    benchmark: results/benchmarks/train/ctdg/uci/tgat/p1.10/7.tsv
    wildcards: domain=ctdg, dataset=uci, backbone=tgat, operator=p1.10, seed=7
    resources: tmpdir=/tmp

Shell command: python "$MAA_SCRIPTS/train.py" --settings '{"device": "cuda", \
"epochs": 10}' --threads 2 > logs/train/ctdg/uci/tgat/p1.10/7.log 2>&1
This was a dry-run (flag -n).
"""
RUN = "ctdg/uci/tgat/p1.10/7"


def run(
    dataset: str, backbone: str, epochs: int = 10, seconds: float = 0.0
) -> tuple[Planned, Measured]:
    key = f"ctdg/{dataset}/{backbone}/p1.00/7"
    settings = {"epochs": epochs, "device": "cpu"}
    return (
        Planned("train", key, settings, 1, (f"results/runs/{key}/model",)),
        Measured("train", key, settings, 1, seconds, 400.0),
    )


def test_a_dry_run_tells_jobs_settings_threads_and_outputs() -> None:
    (job,) = planned_jobs(DRY_RUN)
    assert (job.rule, job.key, job.threads) == ("train", RUN, 2)
    assert (job.dataset, job.backbone, job.gpu) == ("ctdg/uci", "tgat", True)
    assert job.settings == {"device": "cuda", "epochs": 10}
    assert [Path(path).name for path in job.outputs] == [
        "model.safetensors",
        "training.parquet",
    ]


def test_what_is_no_dry_run_is_one_sentence() -> None:
    with pytest.raises(UserError, match="not a finished dry run"):
        planned_jobs("Building DAG of jobs...")


def test_benchmarks_of_both_forms_are_read(tmp_path: Path) -> None:
    plain = tmp_path / "results/benchmarks/train" / f"{RUN}.tsv"
    plain.parent.mkdir(parents=True)
    plain.write_text("s\tmax_rss\n12.5\tNA\n")
    params = {"settings": '{"epochs": 3}'}
    extended = tmp_path / "results/benchmarks/infer.tsv"
    extended.write_text(f"s\tmax_rss\tparams\n2.0\t350.5\t{params}\n")
    infer, train = measured_jobs(tmp_path)
    assert (train.key, train.seconds, train.settings) == (RUN, 12.5, {})
    assert np.isnan(train.memory)
    assert (infer.rule, infer.key, infer.settings) == ("infer", "", {"epochs": 3})
    assert infer.memory == 350.5


def test_work_is_events_times_epochs_and_trees() -> None:
    events = {"ctdg/uci": 1000}
    planned, _ = run("uci", "tgat", epochs=3)
    assert work(planned, events) == 3000
    probe = Planned("probe", RUN, {"forest": True, "trees": 14})
    assert work(probe, events) == 15_000
    linear = Planned("probe", RUN, {"forest": False, "trees": 14})
    assert work(linear, events) == 1000
    unknown = Measured("train", RUN, {})
    assert work(unknown, events, like=planned) == 3000


def test_start_and_rates_are_found_from_two_sizes_and_two_backbones() -> None:
    # seconds = 2 + 3 (tgat) or 8 (dygformer) a thousand events
    events = {"ctdg/small": 1000, "ctdg/large": 5000, "ctdg/new": 9000}
    measured = [
        run("small", "tgat", 1, 5.0)[1],
        run("small", "dygformer", 1, 10.0)[1],
        run("large", "tgat", 1, 17.0)[1],
    ]
    planned = [run("new", "tgat", 1)[0], run("new", "dygformer", 1)[0]]
    (found,) = estimate(planned, measured, events, Path())
    assert found.cpu_hours * 3600 == pytest.approx((2 + 27) + (2 + 72), rel=1e-3)
    assert found.gpu_hours == 0 and found.memory == 400
    assert found.source == "3 measured"


def test_a_measured_cell_counts_as_measured() -> None:
    events = {"ctdg/uci": 1000, "ctdg/enron": 1000}
    measured = [run("uci", "tgat", 1, s)[1] for s in (7.0, 8.0, 90.0)]
    (found,) = estimate([run("uci", "tgat", 1)[0]], measured, events, Path())
    assert found.cpu_hours * 3600 == pytest.approx(8.0)


def test_a_backbone_that_never_ran_is_said(tmp_path: Path) -> None:
    events = {"ctdg/uci": 1000}
    measured = [run("uci", "tgat", 1, 5.0)[1], run("uci", "craft", 1, 9.0)[1]]
    (found,) = estimate([run("uci", "graphmixer", 1)[0]], measured, events, tmp_path)
    assert found.source == "2 measured; never graphmixer: taken as the slowest"
    assert found.cpu_hours * 3600 == pytest.approx(9.0, rel=0.01)


def test_bytes_are_those_of_the_files_that_are_there(tmp_path: Path) -> None:
    planned, measured = run("uci", "tgat", 1, 5.0)
    other, _ = run("uci", "tgat", 2)
    (file,) = planned.outputs
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_bytes(b"x" * 1000)
    (found,) = estimate([planned, planned], [measured], {"ctdg/uci": 50}, tmp_path)
    assert found.disk == 2000
    (found,) = estimate([other], [measured], {"ctdg/uci": 50}, tmp_path)
    assert 1000 < found.disk <= 2000


def test_events_are_counted_or_looked_up(tmp_path: Path) -> None:
    registry = {"ctdg": {"uci": {"counts": {"events": 59835}}}}
    window = Planned("prepare", "ctdg/uci", {"window": 1500})
    train, _ = run("uci", "tgat")
    assert events_of([window, train], [], registry, tmp_path) == {"ctdg/uci": 1500}
    assert events_of([train], [], registry, tmp_path) == {"ctdg/uci": 59835}
    summary = tmp_path / "data/prepared/ctdg/uci/summary.json"
    summary.parent.mkdir(parents=True)
    summary.write_text('{"events": 32768}')
    assert events_of([train], [], registry, tmp_path) == {"ctdg/uci": 32768}


def test_the_text_says_what_it_does_not_know() -> None:
    planned, measured = run("uci", "tgat", 1, 3600.0)
    other = Planned("probe", RUN, {})
    estimates = estimate([planned, other], [measured], {"ctdg/uci": 50}, Path())
    lines = describe(estimates, cores=2)
    assert lines[1].split()[:3] == ["train", "1", "1.00"]
    assert lines[2].endswith("not measured yet")
    assert any(line.endswith("the sum lacks: probe.") for line in lines)
    assert lines[-1] == "On 2 cores: about 30 minutes, 0.8 GB memory."
    assert describe([], cores=2) == ["nothing to do"]


def test_a_measurement_of_a_sensor_is_an_event(tmp_path: Path) -> None:
    registry = {
        "traffic": {
            "week": {"counts": {"sensors": 207, "steps": 2016}},
            "roads": {"generated": {"sensors": 6, "days": 14}},
        }
    }
    jobs = [
        Planned("prepare", f"traffic/{name}", {"stride": 24})
        for name in ("week", "roads")
    ]
    found = events_of(jobs, [], registry, tmp_path)
    assert found == {"traffic/week": 207 * 2016, "traffic/roads": 6 * 14 * 288}

"""What a study will cost before it runs, from the benchmarks of jobs that have run.

A job takes a start and then a rate times its work:

    seconds = start + rate * work

with one start a rule and one rate a rule and backbone. Work is the number of events
that the job reads, times its epochs or trees where it has some. Both are fitted to all
benchmarks of the rule by non-negative least squares on relative errors; a cell (data
set and backbone) that has been measured with the same work counts as measured. Bytes on
disk are estimated in the same way.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from maa.costs.jobs import Job, Measured, Planned
from maa.costs.work import work


@dataclass(frozen=True)
class Estimate:
    """What the planned jobs of one rule will take.

    Attributes:
        rule: the rule.
        jobs: how many jobs.
        cpu_hours: hours of CPU: wall time times threads.
        gpu_hours: hours that a GPU is held.
        memory: the most MB that one job holds, nan if unknown.
        disk: bytes of all outputs.
        source: what the estimate rests on, in words.
    """

    rule: str
    jobs: int
    cpu_hours: float
    gpu_hours: float
    memory: float
    disk: float
    source: str


def estimate(
    planned: Sequence[Planned],
    measured: Sequence[Measured],
    events: Mapping[str, int],
    root: Path,
) -> list[Estimate]:
    """Estimate each rule's cost.

    Args:
        planned: the jobs of a dry run.
        measured: the jobs that have run.
        events: events of each domain and data set, as in ``ctdg/uci``.
        root: the folder in which the measured jobs ran, for the sizes of their files.
    """
    rules = dict.fromkeys(job.rule for job in planned)
    return [
        _of_rule(
            [job for job in planned if job.rule == rule],
            [job for job in measured if job.rule == rule],
            events,
            root,
        )
        for rule in rules
    ]


def _of_rule(
    planned: Sequence[Planned],
    measured: Sequence[Measured],
    events: Mapping[str, int],
    root: Path,
) -> Estimate:
    rule = planned[0].rule
    if not measured:
        nothing = float("nan")
        return Estimate(
            rule, len(planned), nothing, nothing, nothing, nothing, "not measured yet"
        )

    def amount(job: Job) -> float:
        return work(job, events, planned[0])

    times = _predict(planned, measured, [job.seconds for job in measured], amount)
    sizes = [_bytes(job, planned[0], root) for job in measured]
    known = [i for i, size in enumerate(sizes) if size is not None]
    disk = np.full(len(planned), np.nan)
    if known:
        some = [measured[i] for i in known]
        disk = _predict(planned, some, [float(sizes[i] or 0) for i in known], amount)
    threads = np.array([job.threads for job in planned])
    gpus = np.array([job.gpu for job in planned])
    memory = [job.memory for job in measured if not np.isnan(job.memory)]
    return Estimate(
        rule,
        len(planned),
        float((times * threads).sum() / 3600),
        float((times * gpus).sum() / 3600),
        max(memory, default=float("nan")),
        float(disk.sum()),
        _source(planned, measured),
    )


def _predict(
    planned: Sequence[Planned],
    measured: Sequence[Measured],
    values: Sequence[float],
    amount: Callable[[Job], float],
) -> NDArray[np.float64]:
    """Return a value for each planned job: its cell's median, or the fitted line."""
    cells: dict[tuple[str, float], list[float]] = {}
    for done, value in zip(measured, values, strict=True):
        cells.setdefault((_cell(done), amount(done)), []).append(value)
    start, rates = _line(measured, values, amount)
    slowest = max(rates.values())
    predicted = []
    for job in planned:
        known = cells.get((_cell(job), amount(job)))
        rate = rates.get(job.backbone, slowest)
        line = start + rate * amount(job)
        predicted.append(float(np.median(known)) if known else line)
    return np.array(predicted)


def _cell(job: Job) -> str:
    return f"{job.dataset}/{job.backbone}" if job.backbone else job.key


def _line(
    measured: Sequence[Measured],
    values: Sequence[float],
    amount: Callable[[Job], float],
) -> tuple[float, dict[str, float]]:
    """Fit the start and each backbone's rate to relative errors, none below zero.

    One size alone cannot tell a start from a rate: half of the shortest job is then
    taken for the start, which a faint row of the system says.
    """
    backbones = sorted({job.backbone for job in measured})
    amounts = np.array([amount(job) for job in measured])
    target = np.maximum(np.array(values), 1e-9)
    unit = amounts.max()
    rows = np.zeros((len(measured) + 1, 1 + len(backbones)))
    rows[:-1, 0] = 1 / target
    for row, job in enumerate(measured):
        rows[row, 1 + backbones.index(job.backbone)] = amounts[row] / unit / target[row]
    right = np.ones(len(measured) + 1)
    faint = 1e-3
    rows[-1, 0], right[-1] = faint / (target.min() / 2), faint
    solution, _ = nnls(rows, right)
    rates = dict(zip(backbones, solution[1:] / unit, strict=True))
    return float(solution[0]), {name: float(rate) for name, rate in rates.items()}


def _bytes(job: Measured, example: Planned, root: Path) -> int | None:
    """Return the size of a measured job's files, None if one of them is gone."""
    paths = [root / path.replace(example.key, job.key) for path in example.outputs]
    return (
        sum(p.stat().st_size for p in paths) if all(map(Path.exists, paths)) else None
    )


def _source(planned: Iterable[Job], measured: Sequence[Job]) -> str:
    """Say what an estimate rests on, and what it has not seen."""
    text = f"{len(measured)} measured"
    unseen = {job.backbone for job in planned} - {job.backbone for job in measured}
    if unseen:
        text += f"; never {', '.join(sorted(unseen))}: taken as the slowest"
    devices = {job.settings.get("device") for job in measured if job.settings}
    if any(job.gpu for job in planned) and devices == {"cpu"}:
        text += "; measured on CPUs"
    return text

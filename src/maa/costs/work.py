"""How much a job has to do: events, times epochs or trees."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maa.costs.jobs import Job, Measured, Planned


def work(job: Job, events: Mapping[str, int], like: Job | None = None) -> float:
    """Return a job's work: events, times epochs, times trees where a forest grows.

    Args:
        job: the job.
        events: events of each domain and data set that a study uses of it.
        like: a job of the same rule whose settings stand for unknown ones.
    """
    settings = job.settings or (like.settings if like else {})
    amount = float(events.get(job.dataset, 1))
    if "epochs" in settings:
        amount *= settings["epochs"]
    if settings.get("forest"):
        amount *= 1 + settings["trees"]
    return amount


def events_of(
    planned: Sequence[Planned],
    measured: Sequence[Measured],
    registry: Mapping[str, Any],
    root: Path,
) -> dict[str, int]:
    """Return how many events of each data set jobs read, as in ``{"ctdg/uci": 32768}``.

    What has been prepared is counted; what is yet to be prepared has the registry's
    number of events, or the window that is planned for it. For sensors that measure at
    steps, each measurement is an event.
    """
    windows = {
        job.dataset: int(job.settings.get("window", 2**62))
        for job in planned
        if job.rule == "prepare"
    }
    found = {}
    for name in sorted({job.dataset for job in [*planned, *measured]}):
        domain, _, dataset = name.partition("/")
        summary = root / "data" / "prepared" / name / "summary.json"
        entry = registry.get(domain, {}).get(dataset)
        if entry and (name in windows or not summary.exists()):
            counts = entry.get("counts") or entry["generated"]
            found[name] = min(_size(counts), windows.get(name, 2**62))
        elif summary.exists():
            found[name] = _size(json.loads(summary.read_text()))
    return found


def _size(counts: Mapping[str, Any]) -> int:
    """Return a data set's events, or the measurements of its sensors."""
    if "events" in counts:
        return int(counts["events"])
    days = counts.get("days", 0)
    return int(counts["sensors"]) * int(counts.get("steps", 288 * days))

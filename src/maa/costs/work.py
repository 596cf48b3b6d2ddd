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
    number of events, or the window that is planned for it.
    """
    windows = {
        job.dataset: int(job.settings["window"])
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
            found[name] = min(int(counts["events"]), windows.get(name, 2**62))
        elif summary.exists():
            found[name] = int(json.loads(summary.read_text())["events"])
    return found

"""Estimated costs as lines of text."""

from collections.abc import Sequence

import numpy as np

from maa.costs.estimate import Estimate


def describe(estimates: Sequence[Estimate], cores: int) -> list[str]:
    """Return one line a rule, their sum, and the time on one machine.

    Args:
        estimates: one a rule.
        cores: how many jobs run at a time.
    """
    if not estimates:
        return ["nothing to do"]
    total = Estimate(
        "total",
        sum(each.jobs for each in estimates),
        _sum([each.cpu_hours for each in estimates]),
        _sum([each.gpu_hours for each in estimates]),
        max([each.memory for each in estimates if each.memory > 0], default=np.nan),
        _sum([each.disk for each in estimates]),
        "",
    )
    width = max(len(each.rule) for each in estimates)
    head = ("jobs", "CPU h", "GPU h", "MB", "GB disk")
    title = f"{'rule':<{width}}" + "".join(f"{name:>9}" for name in head)
    lines = [f"{title}  estimated from"]
    lines += [_row(each, width) for each in [*estimates, total]]
    unknown = [each.rule for each in estimates if np.isnan(each.cpu_hours)]
    if unknown:
        rules = ", ".join(unknown)
        lines += [
            "",
            f"No earlier run tells what these take, and the sum lacks: {rules}.",
        ]
    if len(unknown) < len(estimates):
        minutes = total.cpu_hours * 60 / cores
        memory = total.memory * cores / 1000
        lines += [
            "",
            f"On {cores} cores: about {minutes:.0f} minutes, {memory:.1f} GB memory.",
        ]
    return lines


def _sum(values: Sequence[float]) -> float:
    return float(np.nansum(values))


def _row(each: Estimate, width: int) -> str:
    cells = [f"{each.rule:<{width}}{each.jobs:>9}"]
    cells += [_number(each.cpu_hours, 2), _number(each.gpu_hours, 2)]
    cells += [_number(each.memory, 0), _number(each.disk / 1e9, 3)]
    return f"{''.join(cells)}  {each.source}".rstrip()


def _number(value: float, digits: int) -> str:
    return f"{'-':>9}" if np.isnan(value) else f"{value:>9.{digits}f}"

"""What a job ran on, as one line of its log."""

import json
import os
import platform
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
import torch

_MARK = "machine: "


def describe() -> dict[str, Any]:
    """Return processor, cores, memory (GB), GPU, platform, Python and PyTorch."""
    gpus = [
        torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())
    ]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "gpus": gpus,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def report() -> None:
    """Print the machine as the line that `machines` looks for."""
    print(_MARK + json.dumps(describe(), sort_keys=True), flush=True)


def machines(logs: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the machines that logs name, each with ``jobs``, how many of them.

    Logs without such a line are counted under a machine without properties.
    """
    found: Counter[str] = Counter()
    for log in logs:
        with log.open(errors="replace") as file:
            lines = (line for line in file if line.startswith(_MARK))
            found[next(lines, _MARK + "{}").removeprefix(_MARK).strip()] += 1
    return [json.loads(text) | {"jobs": count} for text, count in sorted(found.items())]


def _processor() -> str:
    """Return the processor's name; Linux alone tells it in full."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.processor()).strip()

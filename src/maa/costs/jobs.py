"""Jobs that are planned and jobs that have run, read from what Snakemake writes."""

import ast
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from maa.dry_run import finished

_BLOCK = re.compile(r"^(?:local)?rule (\w+):\n((?:    .*\n)+)", re.MULTILINE)
_COMMAND = re.compile(r"\s*^Shell command: (python .*)$", re.MULTILINE)
_BENCHMARKS = "results/benchmarks"


@dataclass(frozen=True)
class Job:
    """A job, planned or measured.

    Attributes:
        rule: its rule.
        key: its wildcards as they stand in paths, as in ``ctdg/uci/tgat/p1.10/7``.
        settings: the settings that its script gets.
        threads: CPU threads.
    """

    rule: str
    key: str
    settings: Mapping[str, Any]
    threads: int = 1

    @property
    def dataset(self) -> str:
        """The job's domain and data set, or ''."""
        return "/".join(self.key.split("/")[:2])

    @property
    def backbone(self) -> str:
        """The job's backbone, or ''."""
        return (self.key.split("/") + [""] * 3)[2]

    @property
    def gpu(self) -> bool:
        """Whether it runs on a GPU."""
        return self.settings.get("device") == "cuda"


@dataclass(frozen=True)
class Planned(Job):
    """A job that a dry run lists, with the files that it would write."""

    outputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured(Job):
    """A job that has run: seconds of wall time, and the most memory in MB (or nan)."""

    seconds: float = 0.0
    memory: float = float("nan")


def planned_jobs(dry_run: str) -> list[Planned]:
    """Read the output of ``snakemake --dry-run --printshellcmds``.

    Raises:
        UserError: if it is not the output of a dry run that came to its end.
    """
    finished(dry_run, "snakemake --dry-run --printshellcmds")
    jobs = []
    for block in _BLOCK.finditer(dry_run):
        command = _COMMAND.match(dry_run, block.end())
        if command:
            jobs.append(_planned(block[1], block[2], shlex.split(command[1])))
    return jobs


def _planned(rule: str, block: str, command: Sequence[str]) -> Planned:
    fields = dict(re.findall(r"^    (\w+): (.*)$", block, re.MULTILINE))
    options = dict(pairwise(command))
    return Planned(
        rule,
        "/".join(re.findall(r"=([^,]*)", fields.get("wildcards", ""))),
        json.loads(options.get("--settings", "{}")),
        int(options.get("--threads", 1)),
        tuple(fields.get("output", "").split(", ")),
    )


def measured_jobs(root: Path) -> list[Measured]:
    """Read all benchmarks under a study's folder.

    Settings are in benchmarks of Snakemake's extended form, which the profiles ask
    for; others count as made with the settings that are planned now.
    """
    found = []
    for path in sorted((root / _BENCHMARKS).rglob("*.tsv")):
        relative = path.relative_to(root / _BENCHMARKS)
        lines = path.read_text().splitlines()
        if len(lines) < 2:
            continue
        row = dict(zip(lines[0].split("\t"), lines[-1].split("\t"), strict=False))
        memory = row.get("max_rss", "NA")
        params = ast.literal_eval(row.get("params", "{}"))
        found.append(
            Measured(
                rule=relative.parts[0].removesuffix(".tsv"),
                key="/".join(relative.parts[1:]).removesuffix(".tsv"),
                settings=json.loads(params.get("settings", "{}")),
                seconds=float(row["s"]),
                memory=float("nan") if memory in ("NA", "-") else float(memory),
            )
        )
    return found

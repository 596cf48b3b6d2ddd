"""How far a workflow is, read from the log that Snakemake keeps of it.

The log says what was planned, begun, finished and failed; the log of each job says
where the job is. Nothing is asked of the running process, so a dead one is read alike.
"""

import platform
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import psutil

from maa.errors import UserError

_STATS = re.compile(r"^Job stats:\n.*\n[- ]+\n((?:\w+ +\d+\n)+)", re.MULTILINE)
_EVENT = re.compile(
    r"^(?:local)?rule (?P<begun>\w+):$"
    r"|^Finished jobid: (?P<finished>\d+) "
    r"|^Error in rule (?P<failed>\w+)(?:, jobid: \d+)?:$"
    r"|^Trying to restart job (?P<again>\d+)\.$",
    re.MULTILINE,
)
_FIELD = re.compile(r"^    (jobid|log|wildcards): (.*?)(?: \(check log file.*)?$")


@dataclass(frozen=True)
class Job:
    """A job that was begun: its rule, wildcards as text, and log file ('' if none)."""

    rule: str
    wildcards: str
    log: str

    def last_line(self, root: Path) -> str:
        """Return the last line of the job's own log, or '' while there is none."""
        try:
            lines = (root / self.log).read_text(errors="replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


@dataclass
class Progress:
    """What a workflow's log tells.

    Attributes:
        planned: jobs of each rule.
        finished: finished jobs of each rule.
        running: begun and neither finished nor failed, by Snakemake's job number.
        failed: failed and not begun again.
        started: when Snakemake began, as the log has it.
        host: the machine that it runs on.
        over: whether the log was closed, by success or by failure.
    """

    planned: dict[str, int]
    finished: Counter[str] = field(default_factory=Counter)
    running: dict[str, Job] = field(default_factory=dict)
    failed: dict[str, Job] = field(default_factory=dict)
    started: str = ""
    host: str = ""
    over: bool = False

    def left(self, rule: str) -> int:
        """Return how many jobs of a rule are neither finished, running nor failed."""
        begun = [*self.running.values(), *self.failed.values()]
        busy = sum(job.rule == rule for job in begun)
        return self.planned.get(rule, 0) - self.finished[rule] - busy


def parse(log: str) -> Progress:
    """Read a log, whole or cut anywhere."""
    stats = _STATS.search(log)
    rows = stats.group(1).split() if stats else []
    planned = dict(zip(rows[::2], map(int, rows[1::2]), strict=True))
    planned.pop("total", None)
    progress = Progress(planned, over=log.count("\nComplete log(s): ") > 0)
    progress.started, progress.host = _header(log, "Date"), _header(log, "Host")
    for event in _EVENT.finditer(log):
        _apply(progress, event, log)
    if progress.over:
        progress.running.clear()
    return progress


def _header(log: str, name: str) -> str:
    found = re.search(rf"^  {name}: (.*)$", log, re.MULTILINE)
    return found.group(1) if found else ""


def _apply(progress: Progress, event: re.Match[str], log: str) -> None:
    """Take one event of the log into account."""
    if event["finished"]:
        job = progress.running.pop(event["finished"], None)
        if job:
            progress.finished[job.rule] += 1
        return
    if event["again"]:
        progress.failed.pop(event["again"], None)
        return
    fields = _fields(log, event.end())
    number = fields.get("jobid")
    if number is None:  # the log was cut within this block
        return
    if event["begun"]:
        progress.failed.pop(number, None)
        progress.running[number] = Job(
            event["begun"], fields.get("wildcards", ""), fields.get("log", "")
        )
    elif number in progress.running:
        progress.failed[number] = progress.running.pop(number)


def _fields(log: str, start: int) -> dict[str, str]:
    """Return the indented fields that follow a position."""
    found = {}
    for line in log[start + 1 : start + 20_000].split("\n"):
        if not line.startswith("    "):
            break
        match = _FIELD.match(line)
        if match:
            found[match[1]] = match[2]
    return found


def newest_log(root: Path) -> Path:
    """Return the log of the latest workflow that ran in a folder.

    Raises:
        UserError: if none did.
    """
    logs = sorted((root / ".snakemake" / "log").glob("*.snakemake.log"))
    if not logs:
        raise UserError(
            f"no workflow has run in {root.resolve()}; start one (make reproduce "
            "CONFIG=FILE), or give the folder of another by --folder"
        )
    return logs[-1]


def process_of(log: Path) -> int | None:
    """Return the process on this machine that holds a log open, or None."""
    wanted = log.resolve()
    for process in psutil.process_iter():
        try:
            if any(Path(file.path) == wanted for file in process.open_files()):
                return int(process.pid)
        except psutil.Error:
            continue
    return None


def describe(root: Path, now: datetime | None = None) -> list[str]:
    """Describe the latest workflow of a folder, in lines.

    Args:
        root: the folder that Snakemake ran in.
        now: the time to count from; this moment if None.
    """
    log = newest_log(root)
    progress = parse(log.read_text(errors="replace"))
    process = None if progress.over else process_of(log)
    lines = [_state(progress, log, process, now or datetime.now()), ""]
    if _dead(progress, process):
        progress.running.clear()
    lines += _table(progress)
    for title, jobs in (("running", progress.running), ("failed", progress.failed)):
        if jobs:
            lines += ["", f"{title}:"]
            lines += [line for job in jobs.values() for line in _job(job, root)]
    return lines


def _dead(progress: Progress, process: int | None) -> bool:
    return process is None and progress.host == platform.node()


def _state(progress: Progress, log: Path, process: int | None, now: datetime) -> str:
    """Return the first line: whether it runs, and since when."""
    since = f"begun {progress.started}"
    silent = int(now.timestamp() - log.stat().st_mtime)
    if progress.over:
        ended = "with failures" if progress.failed else "with nothing left to do"
        if not progress.failed and any(
            progress.left(rule) for rule in progress.planned
        ):
            ended = "before its end"
        return f"ended {ended}; {since}; log {log}"
    if process is not None:
        return f"running (process {process}); {since}; log {log}"
    if _dead(progress, process):
        return (
            f"killed: no process on this machine writes its log any more; {since}; "
            f"run make unlock, then the same command again; log {log}"
        )
    return (
        f"running or killed on {progress.host}, which cannot be asked from here; its "
        f"log last grew {silent} s ago; {since}; log {log}"
    )


def _table(progress: Progress) -> list[str]:
    """Return the counts by rule, in the order of the plan."""
    if not progress.planned:
        return ["nothing was to be done, or nothing is planned yet"]
    rows = {rule: _counts(progress, rule) for rule in progress.planned if rule != "all"}
    rows["total"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    width = max(map(len, rows))
    head = ("done", "running", "failed", "left", "of")
    return [f"{'rule':<{width}}" + "".join(f"{name:>9}" for name in head)] + [
        f"{rule:<{width}}" + "".join(f"{count:>9}" for count in counts)
        for rule, counts in rows.items()
    ]


def _counts(progress: Progress, rule: str) -> list[int]:
    """Return the jobs of a rule that are done, running, failed, left, and planned."""
    states = [progress.running, progress.failed]
    begun = [sum(job.rule == rule for job in jobs.values()) for jobs in states]
    done, planned = progress.finished[rule], progress.planned[rule]
    return [done, *begun, progress.left(rule), planned]


def _job(job: Job, root: Path) -> list[str]:
    """Return a job's name and the last line of its log."""
    values = re.findall(r"\w+=([^,]+)", job.wildcards)
    name = " ".join([job.rule, "/".join(values)]).strip()
    last = job.last_line(root)
    return [f"  {name}", f"    {last}" if last else "    (nothing in its log yet)"]

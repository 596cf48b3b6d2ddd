"""A real SLURM on this machine, and small studies that are run on it."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.workflow.conftest import Study, plant
from tests.workflow.small import MINI

HERE = Path(__file__).resolve().parent
FIELDS = ["JobIDRaw", "State", "Partition", "AllocTRES", "TimelimitRaw", "NodeList"]
FIELDS += ["Comment", "WorkDir"]


@dataclass(frozen=True)
class Job:
    """What SLURM's accounts say of a job."""

    number: str
    state: str
    partition: str
    resources: str
    minutes: str
    node: str
    comment: str
    folder: str

    @property
    def rule(self) -> str:
        """Its rule; '' until it has ended, which is when its comment is kept."""
        found = re.match(r"(?:rule_)?(\w+?)(?:_wildcards_.*)?$", self.comment)
        return found[1] if found else ""

    @property
    def gpus(self) -> int:
        found = re.search(r"gres/gpu=(\d+)", self.resources)
        return int(found[1]) if found else 0

    @property
    def memory(self) -> str:
        """What it was given, as in ``4000M``."""
        found = re.search(r"mem=(\w+)", self.resources)
        return found[1] if found else ""


@dataclass(frozen=True)
class Cluster:
    """A running SLURM: four nodes, two of them with four GPUs each."""

    root: Path
    environment: dict[str, str]

    def __call__(self, *command: str) -> str:
        """Run one of SLURM's commands and return what it prints."""
        done = subprocess.run(
            command,
            env=self.environment | {"MAA_TEST_ASKS": "1"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def jobs(self, folder: Path) -> list[Job]:
        """Return all jobs ever submitted from a folder, those that run included."""
        rows = self(
            "sacct", "-X", "-n", "-P", "-S", "now-1days", "-o", ",".join(FIELDS)
        )
        jobs = [Job(*row.split("|")) for row in rows.splitlines()]
        return [job for job in jobs if job.folder == str(folder)]


def wait_for(
    what: str, condition: Callable[[], object], seconds: float = 120
) -> object:
    """Return the first true value of a condition, looked at five times a second."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.2)
    pytest.fail(f"no {what} within {seconds} s")


@dataclass
class ClusterStudy:
    """A study whose jobs are submitted to the cluster."""

    study: Study
    cluster: Cluster

    @property
    def root(self) -> Path:
        return self.study.root

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start Snakemake with the project's own profile."""
        command = [sys.executable, str(HERE / "quick_snakemake.py")]
        command += ["--workflow-profile", "workflow/profiles/slurm"]
        command += ["--configfile", str(self.study.config), "--latency-wait", "10"]
        with (self.root / "main.log").open("a") as log:
            return subprocess.Popen(
                [*command, "--jobs", "4", *options],
                cwd=self.root,
                env=self.cluster.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def run(self, *options: str, seconds: float = 400) -> None:
        """Run Snakemake to its end, which must be a good one."""
        process = self.start(*options)
        try:
            code = process.wait(seconds)
        finally:
            if process.poll() is None:
                process.kill()
        assert code == 0, self.log()

    def log(self) -> str:
        return (self.root / "main.log").read_text()

    def training(self, seed: int) -> list[psutil.Process]:
        """Return the processes that train the run of a seed now."""
        found = []
        for process in psutil.process_iter():
            try:
                words = process.cmdline()
                if (
                    len(words) > 1
                    and words[1].endswith("/train.py")
                    and process.cwd() == str(self.root)
                    and f"seed={seed}" in words[words.index("--run") + 1].split(",")
                ):
                    found.append(process)
            except (psutil.Error, ValueError):
                continue
        return found

    def job_of(self, process: psutil.Process) -> str:
        return process.environ()["SLURM_JOB_ID"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The cluster, up for the whole session; skips where SLURM is not installed."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    for tool in ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd"):
        if not shutil.which(tool, path=path):
            pytest.skip(
                f"SLURM's tests need {tool}: apt-get install --no-install-recommends "
                "slurmctld slurmd slurm-client munge slurmdbd mariadb-server-core "
                "mariadb-client-core"
            )
    # Short, since sockets lie below it.
    root = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SLURM_", "SBATCH_")) and name != "PYTHONPATH"
    }
    try:
        # Where tests run in several processes, each has ports of its own.
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        options = ["--accounting", "--mem", "64000"]
        options += ["--port-base", str(16800 + 100 * worker)]
        # Two that start at once are too slow for each other's patience.
        with Path(tempfile.gettempdir(), "maa-slurm.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            subprocess.run([HERE / "start-slurm", root, *options], check=True)
        yield Cluster(
            root,
            kept
            | {
                "SLURM_CONF": f"{root}/etc/slurm.conf",
                "PATH": f"{root}/bin:{kept['PATH']}",
            },
        )
    finally:
        subprocess.run([HERE / "stop-slurm", root], check=False)
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def submitted(cluster: Cluster, tmp_path: Path) -> ClusterStudy:
    """The smallest study, not run yet."""
    return ClusterStudy(plant(tmp_path / "tree", MINI), cluster)

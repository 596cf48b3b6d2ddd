"""How well `make plan` foretells what a study on real data costs.

    MAA_DATA_MIRROR=FOLDER python benchmarks/plan.py

Runs the demo and one run on wikipedia, plans all others of wikipedia from their
benchmarks, then runs those and compares hours of CPU: the estimate should be within
30 % of what they took. Nothing else should run on the machine meanwhile.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from maa.config import load
from maa.costs.estimate import estimate
from maa.costs.jobs import measured_jobs, planned_jobs
from maa.costs.work import events_of

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 0.3
ALREADY = "wikipedia/tgat/p1.00/7"
NONE = {"datasets": [], "backbones": [], "operators": [], "seeds": []}
WIKIPEDIA = {
    "domains": {
        "ctdg": {
            "datasets": ["wikipedia"],
            "controls": {"cells": [], "operators": []},
            "official": NONE,
        }
    }
}


def snakemake(folder: Path, *options: str) -> str:
    """Run Snakemake in a folder and return what it prints."""
    command = [sys.executable, "-m", "snakemake", "--directory", str(folder)]
    command += ["--snakefile", str(ROOT / "Snakefile"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def main() -> None:
    """Run, plan, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", default="2", help="jobs at a time (%(default)s)")
    cores = ("--cores", parser.parse_args().cores)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "wikipedia.yaml"
        config.write_text(yaml.safe_dump(WIKIPEDIA))
        study = ("--configfile", str(config))
        snakemake(folder, *cores)
        run = f"results/runs/ctdg/{ALREADY}"
        files = [f"{run}/{file}.parquet" for file in ("probe", "scores", "trace")]
        snakemake(folder, *cores, *study, "--", *files)

        planned = planned_jobs(
            snakemake(folder, *cores, *study, "--dry-run", "--printshellcmds")
        )
        measured = measured_jobs(folder)
        events = events_of(
            planned, measured, load(ROOT / "config/datasets.yaml"), folder
        )
        estimates = {
            each.rule: each.cpu_hours
            for each in estimate(planned, measured, events, folder)
        }
        snakemake(folder, *cores, *study)
        threads = {(job.rule, job.key): job.threads for job in planned}
        took = dict.fromkeys(estimates, 0.0)
        for job in measured_jobs(folder):
            if (job.rule, job.key) in threads:
                hours = job.seconds / 3600 * threads[job.rule, job.key]
                took[job.rule] += hours
    for rule, hours in estimates.items():
        print(f"{rule:18} estimated {hours * 60:6.2f} min, took {took[rule] * 60:6.2f}")
    ratio = sum(estimates.values()) / sum(took.values())
    print(f"{'all':18} estimated {ratio:.2f} times what it took")
    if abs(ratio - 1) > LIMIT:
        raise SystemExit(f"error: more than {LIMIT:.0%} off")


if __name__ == "__main__":
    main()

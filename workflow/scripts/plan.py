"""Say what a study will cost before it runs, from the benchmarks of earlier runs.

Reads the output of ``snakemake --dry-run --printshellcmds`` from standard input and the
benchmarks that earlier jobs left. Prints, for each rule, its jobs, hours of CPU and
GPU, memory and disk, and what the estimate rests on.
"""

import argparse
import os
import sys
from pathlib import Path

from maa.cli import run
from maa.config import load
from maa.costs.estimate import estimate
from maa.costs.jobs import measured_jobs, planned_jobs
from maa.costs.text import describe
from maa.costs.work import events_of


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--registry", type=Path, required=True, help="the registry of data sets"
    )
    parser.add_argument(
        "--measured",
        type=Path,
        default=Path(),
        help="the folder of earlier runs (default: this one)",
    )
    parser.add_argument(
        "--cores", default="all", help="jobs at a time (default: the machine's cores)"
    )
    return parser.parse_args()


def main() -> None:
    """Read, estimate and print."""
    arguments = parse()
    planned = planned_jobs(sys.stdin.read())
    measured = measured_jobs(arguments.measured)
    events = events_of(planned, measured, load(arguments.registry), arguments.measured)
    estimates = estimate(planned, measured, events, arguments.measured)
    all_cores = arguments.cores == "all"
    cores = (os.cpu_count() or 1) if all_cores else int(arguments.cores)
    print("\n".join(describe(estimates, cores)))


if __name__ == "__main__":
    run(main)

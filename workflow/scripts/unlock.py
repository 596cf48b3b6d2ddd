"""Free a folder after its workflow was killed, so that the same command goes on.

Ends the jobs that the workflow left running, on this machine or in SLURM, and takes
Snakemake's lock away. Refuses while a workflow runs there.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from maa.cli import run
from maa.errors import UserError
from maa.leftovers import cancel_slurm_jobs, check_nobody_works, end_processes


def main() -> None:
    """Check, end what is left, unlock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        help="the folder that Snakemake ran in (default: this one)",
    )
    parser.add_argument(
        "--anywhere",
        action="store_true",
        help="also if the workflow was begun on another machine",
    )
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    check_nobody_works(folder, arguments.anywhere)
    cancelled = cancel_slurm_jobs(folder)
    ended = end_processes(folder)
    unlock = [sys.executable, "-m", "snakemake", "--cores", "1", "--unlock"]
    done = subprocess.run(unlock, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"snakemake --unlock failed: {done.stderr.strip()}")
    print(f"ended {ended} processes and {len(cancelled)} SLURM jobs; {folder} is free")


if __name__ == "__main__":
    run(main)

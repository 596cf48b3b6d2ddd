"""Say how far the latest workflow of a folder is, whether it still runs or not.

Reads Snakemake's own log and the logs of the jobs. Prints whether it runs, how many
jobs of each rule are done, running, failed and left, and the last line that each
running or failed job wrote.
"""

import argparse
from pathlib import Path

from maa.cli import run
from maa.progress import describe


def main() -> None:
    """Read the logs and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        help="the folder that Snakemake runs in (default: this one)",
    )
    print("\n".join(describe(parser.parse_args().folder)))


if __name__ == "__main__":
    run(main)

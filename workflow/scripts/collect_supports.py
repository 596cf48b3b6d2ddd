"""Gather how many queries each target is defined for (paper, Table 11).

Reads the targets of some data sets, whose names are read from their paths. Writes the
share of supported test queries of each target (Parquet).
"""

import argparse
from pathlib import Path

from maa.cli import run
from maa.files import write_table
from maa.inference.supports import support_shares


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "targets", nargs="+", type=Path, help=".../domain/dataset/targets.parquet"
    )
    parser.add_argument("--output", type=Path, required=True, help="shares")
    return parser.parse_args()


def main() -> None:
    """Gather and write."""
    arguments = parse()
    write_table(arguments.output, support_shares(arguments.targets))


if __name__ == "__main__":
    run(main)

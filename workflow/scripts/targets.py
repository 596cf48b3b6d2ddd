"""Compute the statistics of every query that the probes are to recover.

Reads a prepared stream. Writes one row a query: its part and number, the statistics,
and for each whether the query had the observations it needs. Table 11 of the paper.
"""

import argparse

from maa.cli import run
from maa.domains import load_stage
from maa.files import write_table


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", required=True, help="domain, as in ctdg")
    parser.add_argument("--stream", required=True, help="prepared stream")
    parser.add_argument("--targets", required=True, help="table to write, Parquet")
    return parser.parse_args()


def main() -> None:
    """Compute the targets and write them."""
    arguments = parse()
    stage = load_stage(arguments.domain, "targets")
    write_table(arguments.targets, stage.targets(arguments.stream))


if __name__ == "__main__":
    run(main)

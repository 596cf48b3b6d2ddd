"""Reduce a domain's measurements to the numbers that its paper's claims are made of.

Reads all measurements and traces. Writes one row a number (Parquet), and the
differences between variants, paired over seeds, that they rest on (Parquet).
"""

import argparse
from pathlib import Path

from maa.cli import run
from maa.domains import load_stage
from maa.files import read_table, write_table


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", required=True, help="domain, as in traffic")
    for name in ("measurements", "traces"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="to read")
    for name in ("facts", "gaps"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="to write")
    return parser.parse_args()


def main() -> None:
    """Read, reduce, write."""
    arguments = parse()
    stage = load_stage(arguments.domain, "facts")
    tables = [read_table(arguments.measurements), read_table(arguments.traces)]
    facts, gaps = stage.facts(*tables)
    write_table(arguments.facts, facts)
    write_table(arguments.gaps, gaps)


if __name__ == "__main__":
    run(main)

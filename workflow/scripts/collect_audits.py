"""Bring tables of single texts and models together.

Reads tables at {text}/{model}/{table}.parquet. Writes one with their names (Parquet).
"""

import argparse
from pathlib import Path

from maa.audit.cells import read_cells
from maa.cli import run
from maa.files import write_table


def main() -> None:
    """Read and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=Path, nargs="+", help="to read")
    parser.add_argument("--output", type=Path, required=True, help="to write")
    arguments = parser.parse_args()
    write_table(arguments.output, read_cells(arguments.tables))


if __name__ == "__main__":
    run(main)

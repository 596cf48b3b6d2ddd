"""Gather one file of many runs into one table.

Reads the traces or the training curves of the sets of a study, below a folder. Writes
them with the keys of their runs (Parquet).
"""

import argparse
from pathlib import Path

from maa.cli import run, settings
from maa.files import write_table
from maa.inference.collect import ROWS, expand, gather_rows


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--root", type=Path, default=Path("results/runs"), help="folder of all runs"
    )
    parser.add_argument(
        "--settings",
        type=settings,
        required=True,
        help='JSON: {"sets": {domain: {"core", "controls", "official"}}}',
    )
    parser.add_argument("--file", choices=ROWS, required=True, help="file of each run")
    parser.add_argument("--output", type=Path, required=True, help="table to write")
    return parser.parse_args()


def main() -> None:
    """Gather and write."""
    arguments = parse()
    sets = arguments.settings["sets"]
    files = expand(arguments.root, sets, [arguments.file])
    write_table(arguments.output, gather_rows(files))


if __name__ == "__main__":
    run(main)

"""Gather the runs' tables into one table of measurements.

Reads the tables of probes and scores of runs, named one by one or as the sets of a
study below a folder. Writes the measurements in long form (Parquet).
"""

import argparse
from pathlib import Path

from maa.cli import run, settings
from maa.files import write_table
from maa.inference.collect import expand, gather


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        help="run files: .../domain/dataset/backbone/operator/seed/name.parquet",
    )
    parser.add_argument(
        "--root", type=Path, default=Path("results/runs"), help="folder of all runs"
    )
    parser.add_argument(
        "--settings",
        type=settings,
        default={},
        help=(
            'JSON: {"sets": {domain: {"core", "controls", "official"}}}, whose runs '
            "below the root are gathered too"
        ),
    )
    parser.add_argument("--output", type=Path, required=True, help="measurements")
    return parser.parse_args()


def main() -> None:
    """Gather and write."""
    arguments = parse()
    runs = expand(arguments.root, arguments.settings.get("sets", {}))
    write_table(arguments.output, gather([*arguments.files, *runs]))


if __name__ == "__main__":
    run(main)

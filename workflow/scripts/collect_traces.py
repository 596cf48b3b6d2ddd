"""Gather the runs' traces into one table.

Reads the traces of the sets of a study, below a folder. Writes them with the keys of
their runs (Parquet).
"""

import argparse
from pathlib import Path

from maa.cli import run, settings
from maa.files import write_table
from maa.inference.collect import expand, gather_traces


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
    parser.add_argument("--output", type=Path, required=True, help="traces")
    return parser.parse_args()


def main() -> None:
    """Gather and write."""
    arguments = parse()
    sets = arguments.settings["sets"]
    traces = expand(arguments.root, sets, ["trace.parquet"])
    write_table(arguments.output, gather_traces(traces))


if __name__ == "__main__":
    run(main)

"""Reduce the tables of an audit to the numbers that claims are made of.

Reads those tables that there are. Writes one row a number, text and model (Parquet).
"""

import argparse
from pathlib import Path

from maa.audit.facts import FACTS, facts
from maa.audit.predictor import Frozen
from maa.cli import run
from maa.files import read_json, read_table, write_table


def main() -> None:
    """Read, reduce, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--curve", type=Path, required=True, help="no model's predictor"
    )
    for name in FACTS:
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=Path, help=f"table of {name}, to read")
    parser.add_argument("--output", type=Path, required=True, help="to write")
    arguments = parser.parse_args()
    free = Frozen.from_json(read_json(arguments.curve))
    paths = {name: getattr(arguments, name) for name in FACTS}
    tables = {name: read_table(path) for name, path in paths.items() if path}
    write_table(arguments.output, facts(tables, free))


if __name__ == "__main__":
    run(main)

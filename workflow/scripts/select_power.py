"""Choose the power p on the core grid (paper 4.2, Algorithm 2).

Reads the measurements of all runs. Writes the candidates of every fold with the one
that was chosen, and what the choices do on test queries, both as Parquet.
"""

import argparse
from pathlib import Path

from maa.cli import run, settings
from maa.files import read_table, write_table
from maa.inference.plan import SETTINGS_HELP, plan_from
from maa.inference.selection import selection_tables


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--measurements", type=Path, required=True, help="table of measurements"
    )
    parser.add_argument("--settings", type=settings, required=True, help=SETTINGS_HELP)
    parser.add_argument(
        "--selection", type=Path, required=True, help="candidates of every fold"
    )
    parser.add_argument(
        "--selection-effects", type=Path, required=True, help="effects of the choices"
    )
    return parser.parse_args()


def main() -> None:
    """Choose and write."""
    arguments = parse()
    plan = plan_from(arguments.settings)
    choices, effects = selection_tables(read_table(arguments.measurements), plan)
    write_table(arguments.selection, choices)
    write_table(arguments.selection_effects, effects)


if __name__ == "__main__":
    run(main)

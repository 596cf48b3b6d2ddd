"""Compare every operator of every set of runs with the baseline (paper 5.2 and 7).

Reads the measurements of all runs. Writes the contrasts over all cells of a set and by
backbone, the effects of the cells behind them, and how much of the treatment's gain in
recovery the controls explain. All are Parquet.
"""

import argparse
from pathlib import Path

from maa.cli import run, settings
from maa.files import read_table, write_table
from maa.inference.contrasts import contrast_tables
from maa.inference.plan import SETTINGS_HELP, plan_from
from maa.inference.shares import shares_table


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--measurements", type=Path, required=True, help="table of measurements"
    )
    parser.add_argument("--settings", type=settings, required=True, help=SETTINGS_HELP)
    parser.add_argument("--contrasts", type=Path, required=True, help="summaries")
    parser.add_argument(
        "--contrast-cells", type=Path, required=True, help="effects of cells"
    )
    parser.add_argument(
        "--shares", type=Path, required=True, help="what the controls explain"
    )
    return parser.parse_args()


def main() -> None:
    """Compare and write."""
    arguments = parse()
    plan = plan_from(arguments.settings)
    measurements = read_table(arguments.measurements)
    contrasts, cells = contrast_tables(measurements, plan)
    write_table(arguments.contrasts, contrasts)
    write_table(arguments.contrast_cells, cells)
    write_table(arguments.shares, shares_table(measurements, plan))


if __name__ == "__main__":
    run(main)

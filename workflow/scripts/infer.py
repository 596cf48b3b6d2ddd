"""Test the treatment against its baseline on the core grid (paper 4.3; Tables 3, 4).

Reads the measurements of all runs. Writes the effects of the cells, the aggregate
endpoints and the single statistics; and beside their tests a mixed model, and which
effects the design could find. All are Parquet.
"""

import argparse
from pathlib import Path

import pandas as pd

from maa.cli import run, settings
from maa.files import read_table, write_table
from maa.inference.cells import cell_effects, run_effects
from maa.inference.checks import check_recovery
from maa.inference.mixed import mixed_table
from maa.inference.pairs import pair_runs
from maa.inference.plan import SETTINGS_HELP, plan_from
from maa.inference.precision import precision_table
from maa.inference.summary import aggregate_table, statistics_table


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--measurements", type=Path, required=True, help="table of measurements"
    )
    parser.add_argument("--settings", type=settings, required=True, help=SETTINGS_HELP)
    parser.add_argument("--cells", type=Path, required=True, help="effects of cells")
    parser.add_argument("--aggregate", type=Path, required=True, help="as in Table 3")
    parser.add_argument("--statistics", type=Path, required=True, help="as in Table 4")
    parser.add_argument("--mixed", type=Path, required=True, help="mixed models")
    parser.add_argument(
        "--precision", type=Path, required=True, help="detectable effects and bounds"
    )
    return parser.parse_args()


def main() -> None:
    """Pair, summarise and write."""
    arguments = parse()
    plan = plan_from(arguments.settings)
    measurements = read_table(arguments.measurements)
    arms = plan.baseline, plan.treatment
    pairs = [pair_runs(measurements, *arms, core) for core in plan.cores]
    runs = run_effects(pd.concat(pairs, ignore_index=True))
    draws = plan.draws, plan.seed
    cells = cell_effects(runs)
    check_recovery(cells)
    write_table(arguments.cells, cells)
    write_table(arguments.aggregate, aggregate_table(runs, *draws))
    write_table(arguments.statistics, statistics_table(runs, *draws))
    write_table(arguments.mixed, mixed_table(runs))
    write_table(arguments.precision, precision_table(runs, *draws))


if __name__ == "__main__":
    run(main)

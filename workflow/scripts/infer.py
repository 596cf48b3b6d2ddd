"""Test the treatment against its baseline (paper 4.3; Tables 3 and 4).

Reads the measurements of all runs. Writes the effects of the cells, the aggregate
endpoints and the single statistics, each as Parquet.
"""

import argparse
from pathlib import Path

from maa.cli import run, settings
from maa.files import read_table, write_table
from maa.inference.cells import cell_effects, run_effects
from maa.inference.pairs import pair_runs
from maa.inference.plan import plan_from
from maa.inference.summary import aggregate_table, statistics_table


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--measurements", type=Path, required=True, help="table of measurements"
    )
    parser.add_argument(
        "--settings",
        type=settings,
        required=True,
        help='JSON: {"baseline", "treatment": operators, "draws", "seed": bootstrap}',
    )
    parser.add_argument("--cells", type=Path, required=True, help="effects of cells")
    parser.add_argument("--aggregate", type=Path, required=True, help="as in Table 3")
    parser.add_argument("--statistics", type=Path, required=True, help="as in Table 4")
    return parser.parse_args()


def main() -> None:
    """Pair, summarise and write."""
    arguments = parse()
    plan = plan_from(arguments.settings)
    measurements = read_table(arguments.measurements)
    runs = run_effects(pair_runs(measurements, plan.baseline, plan.treatment))
    write_table(arguments.cells, cell_effects(runs))
    write_table(arguments.aggregate, aggregate_table(runs, plan.draws, plan.seed))
    write_table(arguments.statistics, statistics_table(runs, plan.draws, plan.seed))


if __name__ == "__main__":
    run(main)

"""Compare settings of the forest probe on validation queries.

Reads a run's representation and the targets of its data set (part "validation", which
no result reports on). Writes, and prints, the mean R2 and the processor time of each
combination of settings, from which the settings in the configuration are chosen.
"""

import argparse
from pathlib import Path

from maa.cli import run, settings
from maa.files import write_text
from maa.probes.calibration import GRID, calibrate_forest
from maa.probes.inputs import read_data
from maa.probes.settings import parse_settings


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--representation", type=Path, required=True, help="safetensors of a run"
    )
    parser.add_argument(
        "--targets", type=Path, required=True, help="Parquet table of the data set"
    )
    parser.add_argument(
        "--settings",
        type=settings,
        default={},
        help="JSON: the probe settings that the grid does not name",
    )
    parser.add_argument(
        "--grid",
        type=settings,
        default=dict(GRID),
        help='JSON: values to try, such as {"joint": [true], "trees": [50, 200]}',
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the trees")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--output", type=Path, required=True, help="CSV table")
    return parser.parse_args()


def main() -> None:
    """Read, compare, print and write."""
    arguments = parse()
    base = parse_settings(arguments.settings)
    data = read_data(arguments.representation, arguments.targets, "validation")
    table = calibrate_forest(
        data, base, arguments.grid, arguments.seed, arguments.threads
    )
    print(table.to_string(index=False, float_format="%.4f"))
    write_text(arguments.output, table.to_csv(index=False))


if __name__ == "__main__":
    run(main)

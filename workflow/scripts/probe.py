"""Probe a frozen representation for the statistics of its queries.

Reads a run's representation and the targets of its data set. Writes the held-out R2 of
a ridge regression and of extremely randomised trees for each target, from the
representation alone and with the normaliser's coordinates (paper, section 4.1), on the
test queries; and that of the ridge regression on the validation queries, for choices.
"""

import argparse
from pathlib import Path

import pandas as pd

from maa.cli import run, settings
from maa.files import write_table
from maa.probes.inputs import read_data
from maa.probes.recovery import PLAN, measure_recovery
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
        help=(
            'JSON: {"train_fraction", "ridge_alpha", "trees", "min_samples_leaf", '
            '"max_features", "joint", "forest"}; what is absent has its default'
        ),
    )
    parser.add_argument("--seed", type=int, required=True, help="seed of the run")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--output", type=Path, required=True, help="Parquet of R2")
    return parser.parse_args()


def main() -> None:
    """Read, measure and write."""
    arguments = parse()
    options = parse_settings(arguments.settings)
    tables = []
    for part in PLAN:
        data = read_data(arguments.representation, arguments.targets, part)
        how = (options, arguments.seed, arguments.threads, part)
        tables.append(measure_recovery(data, *how))
    write_table(arguments.output, pd.concat(tables, ignore_index=True))


if __name__ == "__main__":
    run(main)

"""Foretell where a convention is safe, and compare with what is seen.

Reads the predictor to which no model has contributed, and flip rates of texts and
models. Freezes two more for each text and model, one calibrated on its own passages and
one on the other models', and scores all on the passages that were held out. Writes the
scores (Parquet) and the frozen predictors (JSON).
"""

import argparse
from pathlib import Path

from maa.audit.cells import read_cells
from maa.audit.predictor import Frozen
from maa.audit.regimes import regimes
from maa.cli import run
from maa.files import read_json, write_json, write_table


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--curve", type=Path, required=True, help="no model's predictor"
    )
    parser.add_argument("--flips", type=Path, nargs="+", required=True, help="rates")
    parser.add_argument("--seed", type=int, required=True, help="of the intervals")
    parser.add_argument("--predictors", type=Path, required=True, help="to write")
    parser.add_argument("--output", type=Path, required=True, help="scores, to write")
    return parser.parse_args()


def main() -> None:
    """Freeze, score, write."""
    arguments = parse()
    free = Frozen.from_json(read_json(arguments.curve))
    scores, frozen = regimes(read_cells(arguments.flips), free, arguments.seed)
    write_table(arguments.output, scores)
    write_json(arguments.predictors, {k: one.to_json() for k, one in frozen.items()})


if __name__ == "__main__":
    run(main)

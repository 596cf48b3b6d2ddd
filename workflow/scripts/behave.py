"""Measure a trained model: its context margin and its task metric.

Reads the prepared data and the trained weights. Writes one table of measurements
(Parquet): behaviour (context margin, section 5.4 of the paper) and utility (ROC-AUC on
the test part, section 5.2). One process does both, since each takes seconds.
"""

import argparse
from pathlib import Path

import pandas as pd

from maa.attention import parse_operator
from maa.cli import run
from maa.domains import load_backbone, load_stage
from maa.files import write_table
from maa.runs import run_parser


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = run_parser(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="trained weights")
    parser.add_argument("--scores", type=Path, required=True, help="table to write")
    return parser.parse_args()


def main() -> None:
    """Measure, then write."""
    arguments = parse()
    trained = {
        "stream": arguments.stream,
        "model": arguments.model,
        "backbone": load_backbone(arguments.domain, arguments.backbone),
        "operator": parse_operator(arguments.operator),
        "settings": arguments.settings,
        "threads": arguments.threads,
    }
    behaviour = load_stage(arguments.domain, "behave").behave(**trained)
    utility = load_stage(arguments.domain, "utility").utility(**trained)
    write_table(arguments.scores, pd.concat([behaviour, utility], ignore_index=True))


if __name__ == "__main__":
    run(main)

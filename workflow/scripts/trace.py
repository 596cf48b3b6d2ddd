"""Trace the scale from attention to the representation.

Reads the prepared data, its targets and the trained weights. Writes one table (Parquet)
with, for each point on the way, how far its length goes with the gain g_p (eq. 4 of the
paper) and what a linear probe recovers there.
"""

import argparse
from pathlib import Path

from maa.attention import parse_operator
from maa.cli import run
from maa.domains import load_backbone, load_stage
from maa.files import write_table
from maa.runs import run_parser


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = run_parser(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="trained weights")
    parser.add_argument(
        "--targets", type=Path, required=True, help="Parquet table of the data set"
    )
    parser.add_argument("--output", type=Path, required=True, help="table to write")
    return parser.parse_args()


def main() -> None:
    """Trace, then write."""
    arguments = parse()
    table = load_stage(arguments.domain, "trace").trace(
        stream=arguments.stream,
        model=arguments.model,
        targets=arguments.targets,
        backbone=load_backbone(arguments.domain, arguments.backbone),
        operator=parse_operator(arguments.operator),
        settings=arguments.settings,
        threads=arguments.threads,
    )
    write_table(arguments.output, table)


if __name__ == "__main__":
    run(main)

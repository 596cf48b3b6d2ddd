"""Train one run.

Reads the prepared data. Writes the trained weights (safetensors) and the course of the
training, one row an epoch (Parquet). Section 5.1 of the paper.
"""

import argparse
from pathlib import Path

from maa.attention import parse_operator
from maa.cli import run
from maa.domains import load_backbone, load_stage
from maa.files import write_table, write_tensors
from maa.hardware import report
from maa.runs import run_parser


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = run_parser(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="weights to write")
    parser.add_argument("--curve", type=Path, required=True, help="course to write")
    return parser.parse_args()


def main() -> None:
    """Say where, train, then write."""
    arguments = parse()
    report()
    fitted = load_stage(arguments.domain, "fit").fit(
        stream=arguments.stream,
        backbone=load_backbone(arguments.domain, arguments.backbone),
        operator=parse_operator(arguments.operator),
        seed=arguments.seed,
        settings=arguments.settings,
        threads=arguments.threads,
    )
    identity = {name: getattr(arguments, name) for name in ("backbone", "operator")}
    write_tensors(arguments.model, fitted.weights, identity)
    write_table(arguments.curve, fitted.curve)


if __name__ == "__main__":
    run(main)

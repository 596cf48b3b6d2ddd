"""Read out a frozen model's representations.

Reads the prepared data and the trained weights. Writes, for the validation and the test
queries, Z, the normaliser's coordinates and the scores (safetensors). Section 4.1 of
the paper.
"""

import argparse
from pathlib import Path

from maa.attention import parse_operator
from maa.cli import run
from maa.domains import load_backbone, load_stage
from maa.files import write_tensors
from maa.runs import run_parser


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = run_parser(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="trained weights")
    parser.add_argument(
        "--representation", type=Path, required=True, help="tensors to write"
    )
    return parser.parse_args()


def main() -> None:
    """Represent, then write."""
    arguments = parse()
    tensors = load_stage(arguments.domain, "represent").represent(
        stream=arguments.stream,
        model=arguments.model,
        backbone=load_backbone(arguments.domain, arguments.backbone),
        operator=parse_operator(arguments.operator),
        settings=arguments.settings,
        threads=arguments.threads,
    )
    write_tensors(arguments.representation, tensors)


if __name__ == "__main__":
    run(main)

"""Measure the attention rows of every head of a model on a text.

Reads a model's place and a text. Writes one row a passage, layer and head (Parquet).
"""

from maa.audit.audit import audit
from maa.audit.command import read, reading_parser
from maa.cli import run
from maa.files import write_table


def main() -> None:
    """Read, measure, write."""
    arguments = reading_parser(__doc__).parse_args()
    chosen, what = arguments.settings, read(arguments)
    measured = audit(
        what.pretrained, what.texts, what.sinks, chosen["p"], chosen["first_row"]
    )
    write_table(arguments.output, measured)


if __name__ == "__main__":
    run(main)

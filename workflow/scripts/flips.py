"""Measure how often the sink's convention decides which of two heads is closer.

Reads a model's place and a text. Writes one row a part of the text (``read`` or
``held``), passage, group of heads (each layer, and all) and dissimilarity (Parquet).
"""

import pandas as pd

from maa.audit.command import read, reading_parser
from maa.audit.predictor import SCOPES, flip_cells
from maa.cli import run
from maa.files import write_table


def main() -> None:
    """Read, measure, write."""
    arguments = reading_parser(__doc__).parse_args()
    chosen, what = arguments.settings, read(arguments)
    rows = {name: chosen[name] for name in ("rows", "first_row", "seed")}
    found = [
        flip_cells(what.pretrained, texts, what.sinks, scope, **rows).assign(part=part)
        for part, texts in (("read", what.texts), ("held", what.held))
        for scope in SCOPES
    ]
    write_table(arguments.output, pd.concat(found, ignore_index=True))


if __name__ == "__main__":
    run(main)

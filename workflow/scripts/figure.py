"""Draw one figure, with the table behind it.

Reads the tables of inference that the figure is made of (see maa.figures.catalogue).
Writes the figure (PDF and PNG) and its table (CSV).
"""

import argparse
from pathlib import Path

from maa.cli import run
from maa.figures.load import add_tables, load, pick, read_given
from maa.figures.style import save
from maa.files import write_text


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", required=True, help="its name, such as fig1")
    add_tables(parser)
    parser.add_argument("--pdf", type=Path, required=True, help="figure, to write")
    parser.add_argument("--png", type=Path, required=True, help="figure, to write")
    parser.add_argument("--csv", type=Path, required=True, help="table, to write")
    return parser.parse_args()


def main() -> None:
    """Draw and write."""
    arguments = parse()
    figure = load(arguments.figure)
    table = figure.table(*pick(figure, read_given(arguments)))
    write_text(arguments.csv, table.to_csv(index=False, lineterminator="\n"))
    save(figure.draw(table), arguments.pdf, arguments.png)


if __name__ == "__main__":
    run(main)

"""Draw one figure, with the table behind it.

Reads the tables of inference that the figure is made of (see its module). Writes the
figure (PDF and PNG) and its table (CSV).
"""

import argparse
from pathlib import Path

from maa.cli import run
from maa.figures.load import load, pick
from maa.figures.style import save
from maa.files import read_table, write_text


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", required=True, help="its name, such as fig1")
    parser.add_argument("--cells", type=Path, help="effects of cells")
    parser.add_argument("--aggregate", type=Path, help="aggregate endpoints")
    parser.add_argument("--statistics", type=Path, help="single statistics")
    parser.add_argument("--pdf", type=Path, required=True, help="figure, to write")
    parser.add_argument("--png", type=Path, required=True, help="figure, to write")
    parser.add_argument("--csv", type=Path, required=True, help="table, to write")
    return parser.parse_args()


def main() -> None:
    """Draw and write."""
    arguments = parse()
    figure = load(arguments.figure)
    names = ("cells", "aggregate", "statistics")
    paths = {name: getattr(arguments, name) for name in names}
    given = {name: read_table(path) for name, path in paths.items() if path}
    table = figure.table(*pick(figure, given))
    write_text(arguments.csv, table.to_csv(index=False, lineterminator="\n"))
    save(figure.draw(table), arguments.pdf, arguments.png)


if __name__ == "__main__":
    run(main)

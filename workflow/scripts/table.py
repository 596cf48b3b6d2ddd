"""Write one table: its numbers, a page and a picture of it.

Reads the tables of inference that it is made of (see maa.figures.catalogue). Writes
the numbers (CSV), the formatted table as a page (HTML) and as a picture (PDF and PNG).
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
    parser.add_argument("--table", required=True, help="its name, such as table3")
    add_tables(parser)
    parser.add_argument("--csv", type=Path, required=True, help="numbers, to write")
    parser.add_argument("--html", type=Path, required=True, help="page, to write")
    parser.add_argument("--pdf", type=Path, required=True, help="picture, to write")
    parser.add_argument("--png", type=Path, required=True, help="picture, to write")
    return parser.parse_args()


def main() -> None:
    """Format and write."""
    arguments = parse()
    module = load(arguments.table)
    table = module.table(*pick(module, read_given(arguments)))
    write_text(arguments.csv, table.to_csv(index=False, lineterminator="\n"))
    write_text(arguments.html, module.html(table))
    save(module.draw(table), arguments.pdf, arguments.png)


if __name__ == "__main__":
    run(main)

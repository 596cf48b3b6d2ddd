"""Judge the paper's claims and write the page that shows the verdicts.

Reads the book of claims, its schema and the tables of inference; claims on tables that
are not given count as not run. Writes one row a claim (Parquet and CSV), one row a
number of the paper (CSV), and the page (HTML), whose links lead to the figures and
tables in the same folder.
"""

import argparse
from pathlib import Path

import pandas as pd

from maa.claims.book import load_book
from maa.claims.evaluate import Tables, evaluate, numbers_table, results_table
from maa.claims.page import render
from maa.cli import run
from maa.files import read_table, write_table, write_text

TABLES = {
    "cells": "effects of cells",
    "aggregate": "aggregate endpoints",
    "statistics": "single statistics",
    "contrasts": "every operator against its baseline",
    "contrast_cells": "the same by cell",
    "selection": "choices of the power",
    "support": "share of queries with evidence: domain, dataset, target, support",
}
OUTPUTS = {
    "parquet": "verdicts, to write",
    "csv": "verdicts, to write",
    "html": "page, to write",
}


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    books = {"claims": "the book of claims (YAML)", "schema": "its schema (YAML)"}
    for name, text in (books | OUTPUTS).items():
        parser.add_argument(f"--{name}", type=Path, required=True, help=text)
    for name, text in TABLES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, help=text)
    parser.add_argument(
        "--facts",
        type=Path,
        nargs="*",
        default=[],
        help="named numbers: domain, fact, dataset, backbone, value, low, high, cells",
    )
    parser.add_argument(
        "--numbers", type=Path, help="the paper's numbers beside ours (CSV), to write"
    )
    parser.add_argument(
        "--exhibits",
        nargs="*",
        metavar="NAME",
        help="figures and tables that the page shows; without, all of the book",
    )
    return parser.parse_args()


def main() -> None:
    """Judge and write."""
    arguments = parse()
    book = load_book(arguments.claims, arguments.schema)
    paths = {name: getattr(arguments, name) for name in TABLES}
    given = {name: read_table(path) for name, path in paths.items() if path}
    if arguments.facts:
        given["facts"] = pd.concat([read_table(path) for path in arguments.facts])
    tables = Tables(**given)
    results = evaluate(book, tables)
    table = results_table(results)
    page = render(book, results, tables.cells, tables.aggregate, arguments.exhibits)
    write_table(arguments.parquet, table)
    write_text(arguments.csv, table.to_csv(index=False, lineterminator="\n"))
    if arguments.numbers:
        numbers = numbers_table(results).to_csv(index=False, lineterminator="\n")
        write_text(arguments.numbers, numbers)
    write_text(arguments.html, page)


if __name__ == "__main__":
    run(main)

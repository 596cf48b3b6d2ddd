"""Judge the paper's claims and write the page that shows the verdicts.

Reads the book of claims, its schema and the three tables of inference. Writes one row a
claim (Parquet and CSV) and the page (HTML), whose links lead to the figures and tables
in the same folder.
"""

import argparse
from pathlib import Path

from maa.claims.book import load_book
from maa.claims.evaluate import Tables, evaluate, results_table
from maa.claims.page import render
from maa.cli import run
from maa.files import read_table, write_table, write_text


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    files = {
        "claims": "the book of claims (YAML)",
        "schema": "its schema (YAML)",
        "cells": "effects of cells",
        "aggregate": "aggregate endpoints",
        "statistics": "single statistics",
        "parquet": "verdicts, to write",
        "csv": "verdicts, to write",
        "html": "page, to write",
    }
    for name, text in files.items():
        parser.add_argument(f"--{name}", type=Path, required=True, help=text)
    return parser.parse_args()


def main() -> None:
    """Judge and write."""
    paths = parse()
    book = load_book(paths.claims, paths.schema)
    tables = Tables(*map(read_table, (paths.cells, paths.aggregate, paths.statistics)))
    results = evaluate(book, tables)
    table = results_table(results)
    write_table(paths.parquet, table)
    write_text(paths.csv, table.to_csv(index=False, lineterminator="\n"))
    write_text(paths.html, render(book, results, tables.cells, tables.aggregate))


if __name__ == "__main__":
    run(main)

"""Reach a figure or table by name, so that editing one touches no other."""

import importlib
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import ModuleType

import pandas as pd

from maa.errors import UserError
from maa.figures.catalogue import TABLES
from maa.files import read_table


def load(name: str) -> ModuleType:
    """Import ``maa.figures.{name}``.

    A figure's module offers ``NEEDS`` (names of the tables it is made of), ``table``
    (these tables to the table behind it) and ``draw`` (that table to a figure); a
    table's module also offers ``html``.

    Raises:
        UserError: if there is no such module, or it is neither figure nor table.
    """
    module = f"maa.figures.{name}"
    problem = f"there is no figure or table {name!r}; expected a module named {module}"
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise UserError(problem) from error
    if not hasattr(loaded, "NEEDS"):
        raise UserError(f"{problem} with NEEDS, table and draw")
    return loaded


def pick(module: ModuleType, given: dict[str, pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the tables that a module needs, in its order.

    Raises:
        UserError: naming the option whose table is needed and was not given.
    """
    missing = [name for name in module.NEEDS if name not in given]
    if missing:
        raise UserError(
            f"{module.__name__} is made of the table of {missing[0]}; give it as "
            f"--{option(missing[0])}"
        )
    return [given[name] for name in module.NEEDS]


def option(table: str) -> str:
    """Return the command line option, without dashes in front, that gives a table."""
    return table.replace("_", "-")


def add_tables(parser: ArgumentParser) -> None:
    """Add an option for every table of inference to a command line."""
    for name in TABLES:
        words = name.replace("_", " ")
        parser.add_argument(
            f"--{option(name)}", type=Path, help=f"the {words}, to read"
        )


def read_given(arguments: Namespace) -> dict[str, pd.DataFrame]:
    """Read the tables of inference that a command line gives."""
    paths = {name: getattr(arguments, name) for name in TABLES}
    return {name: read_table(path) for name, path in paths.items() if path}

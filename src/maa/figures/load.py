"""Reach a figure or table by name, so that editing one touches no other."""

import importlib
from types import ModuleType

import pandas as pd

from maa.errors import UserError


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
            f"--{missing[0]}"
        )
    return [given[name] for name in module.NEEDS]

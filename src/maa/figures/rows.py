"""Take the rows of a table of inference that a figure shows."""

import numpy as np
import pandas as pd

from maa.errors import UserError


def matching(table: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Return the rows with given values; a list, tuple or set stands for any of it.

    Args:
        table: any table.
        wanted: column names and values.
    """
    picked = np.ones(len(table), dtype=bool)
    for column, value in wanted.items():
        several = isinstance(value, list | tuple | set | frozenset)
        values = list(value) if several else [value]  # type: ignore[call-overload]
        picked &= table[column].isin(values).to_numpy(dtype=bool)
    return table[picked]


def require(table: pd.DataFrame, shown: str, **wanted: object) -> pd.DataFrame:
    """Return the matching rows.

    Args:
        table: any table.
        shown: the figure or table that shows them, such as ``Fig. 1``.
        wanted: column names and values.

    Raises:
        UserError: naming what no row has.
    """
    rows = matching(table, **wanted)
    if rows.empty:
        what = ", ".join(f"{column} {value!r}" for column, value in wanted.items())
        raise UserError(
            f"{shown} shows {what}, which no row of its table has; add the runs to "
            "the study or leave this out"
        )
    return rows


def varying(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose target is not constant."""
    return table[~table["constant"].astype(bool)]


def last_steps(gaps: pd.DataFrame) -> list[int]:
    """Return the last three steps ahead at which forecasts were judged.

    Those are 3, 6 and 12 for windows that predict 12 steps, 12, 24 and 36 for 36.

    Args:
        gaps: differences between variants, with ``measure`` as in ``mae_12``.
    """
    found = gaps["measure"].str.extract(r"^mae_(\d+)$", expand=False).dropna()
    return sorted(set(found.astype(int)))[-3:]

"""Quantities side by side: one row a run, one column a quantity."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

RUN = ["backbone", "dataset", "seed"]


def spread(rows: pd.DataFrame, columns: list[str], value: str) -> pd.DataFrame:
    """Put quantities side by side.

    Args:
        rows: one row a run and quantity, with the columns `RUN`.
        columns: the columns that name a quantity.
        value: the column to spread.

    Returns:
        float64: the index is `RUN`, sorted; the columns are the quantities, sorted.
        NaN where a run lacks a quantity.
    """
    wide = rows.pivot(index=RUN, columns=columns, values=value)
    return wide.sort_index().sort_index(axis=1)


def by_runs(wide: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Split quantities by the runs that have them.

    A target may be constant on some data sets; it is then summarised over the others.

    Yields:
        Parts of ``wide`` without NaN, each with all quantities of the same runs.
    """
    if wide.empty:
        return
    have = wide.notna().to_numpy()
    patterns, which = np.unique(have, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        if pattern.any():
            yield wide.loc[pattern, which == number]

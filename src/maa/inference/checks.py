"""Checks of the tables of inference against each other."""

import numpy as np
import pandas as pd

from maa.errors import UserError
from maa.inference.cells import QUANTITY
from maa.inference.endpoints import endpoints_of

_CELL = ["dataset", "backbone"]
_ROUNDING = 1e-9


def check_recovery(cells: pd.DataFrame) -> None:
    """Refuse a table of cells whose aggregates are not the means of its statistics.

    Raises:
        UserError: naming the endpoint that is furthest off; see `recovery_gaps`.
    """
    gaps = recovery_gaps(cells)
    wrong = gaps[~(gaps["gap"] <= _ROUNDING)]
    if len(wrong):
        row = wrong.sort_values("gap").iloc[-1]
        raise UserError(
            f"the changes of {row['endpoint']!r} differ from the mean of their "
            f"statistics by up to {row['gap']:.3g}, and should not; collect the "
            "measurements again, and report it if that does not help"
        )


def recovery_gaps(cells: pd.DataFrame) -> pd.DataFrame:
    """Compare aggregate recovery with the mean of its statistics, cell by cell.

    The mean over the statistics of a cell's changes must be the cell's change of the
    aggregate, with the constant statistics (endpoints over all targets) and without
    them. Over a whole grid the same holds of the tables' changes where the same
    statistics vary on all data; where some vary on some data sets only, the mean of
    the statistics' changes weighs cells differently, and the aggregate is right.

    Args:
        cells: the table of cells.

    Returns:
        One row a (domain, endpoint) that is a mean of statistics: ``gap``, the largest
        distance over cells between the two ways to compute it.
    """
    found = []
    for domain, rows in cells.groupby("domain"):
        for endpoint in endpoints_of(str(domain)):
            of_probe = rows["endpoint"] == endpoint.measure
            single = rows[of_probe & (rows["target"] != "")]
            if not endpoint.targets or single.empty:
                continue
            if endpoint.targets == "informative":
                single = single[~single["constant"]]
            means = single.groupby(_CELL)["effect"].mean()
            whole = rows[rows["endpoint"] == endpoint.name].set_index(_CELL)["effect"]
            gap = float(np.abs(means - whole).max())
            found.append((domain, endpoint.name, gap))
    return pd.DataFrame(found, columns=[*QUANTITY[:2], "gap"])

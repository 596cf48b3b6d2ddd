"""Fig. 1: mean changes of four quantities by backbone, with each data set's own."""

import pandas as pd
from matplotlib.figure import Figure

from maa.errors import UserError
from maa.figures.bars import MEAN, PANELS, Bars, draw_changes
from maa.figures.catalogue import needs
from maa.figures.rows import matching, varying

NEEDS = needs("fig1")
_COLUMNS = ["panel", "backbone", "dataset", "baseline", "treatment", "effect"]


def table(cells: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the changes that the figure shows.

    Args:
        cells: the table of cells.
        domain: which domain's cells to take.

    Returns:
        One row a (panel, backbone, data set), and one with data set ``mean`` for the
        mean over the backbone's data sets.

    Raises:
        UserError: if a panel has no cells.
    """
    parts = []
    for (endpoint, target), panel in PANELS.items():
        rows = matching(cells, domain=domain, endpoint=endpoint, target=target)
        rows = varying(rows)
        if rows.empty:
            raise UserError(
                f"the cells hold no {endpoint} {target}".rstrip()
                + f" of the domain {domain!r}, which Fig. 1 shows; run some first"
            )
        values = rows.groupby("backbone", as_index=False)[
            ["baseline", "treatment", "effect"]
        ].mean()
        both = pd.concat([rows, values.assign(dataset=MEAN)])
        parts.append(both.assign(panel=panel)[_COLUMNS])
    return pd.concat(parts, ignore_index=True)


def draw(changes: pd.DataFrame) -> Figure:
    """Draw one panel a quantity, one bar a backbone, one point a data set."""
    series = changes.rename(columns={"backbone": "model"}).assign(series=MEAN)
    looks = {MEAN: Bars("Mean over data sets")}
    return draw_changes(series, looks, "Treatment minus baseline")

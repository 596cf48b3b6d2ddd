"""Table 3: the aggregate endpoints, in our form."""

import pandas as pd
from matplotlib.figure import Figure

from maa.errors import UserError
from maa.figures.catalogue import needs
from maa.figures.tabular import DASH, number, page, picture, span, starred

NEEDS = needs("table3")
TITLE = "Table 3. Aggregate endpoints"
NOTE = (
    "Means over cells; %: ratio of means. 95 % interval of the change: crossed "
    "bootstrap. Improved: cells with a positive change.\np: exact two-sided Wilcoxon "
    "signed-rank test over cells. Holm: over the endpoints that have a value there; "
    "the others are not tested. * below .05."
)


def table(aggregate: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the endpoints of a domain, the tested ones first.

    Raises:
        UserError: if the domain has none.
    """
    rows = aggregate[aggregate["domain"] == domain]
    if rows.empty:
        raise UserError(
            f"the aggregate endpoints hold none of the domain {domain!r}, which Table "
            "3 shows; run some first"
        )
    return rows.sort_values(
        "primary", ascending=False, kind="stable", ignore_index=True
    )


def display(endpoints: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it."""
    rows = [
        {
            "Endpoint": row["label"],
            "Baseline": number(row["baseline"]),
            "Treatment": number(row["treatment"]),
            "Change": number(row["change"], sign=True),
            "%": number(row["percent"], 2, sign=True),
            "95 % interval": span(row["low"], row["high"]),
            "Improved": f"{row['improved']}/{row['cells']}",
            "p": number(row["p"], 4) if row["primary"] else DASH,
            "Holm": starred(row["p_holm"]),
        }
        for row in endpoints.to_dict("records")
    ]
    return pd.DataFrame(rows)


def draw(endpoints: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(endpoints), NOTE)


def html(endpoints: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(endpoints), TITLE, NOTE)

"""Table 8: fixed powers on the representative cells, in our form."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import power
from maa.figures.rows import require
from maa.figures.tabular import number, page, picture, span

NEEDS = needs("table8")
ENDPOINTS = {
    "auc": "AUC",
    "shared_linear": "Linear R²",
    "context_margin": "Margin",
}
BASELINE = "p1.00"
TITLE = "Table 8. Fixed powers on the representative cells"
NOTE = (
    "Means over the representative cells, one a backbone. %: change from p = 1, ratio "
    "of means.\n95 % interval of the change: cells resampled, then their seeds. "
    "Margin: context margin in logits."
)


def table(contrasts: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the three endpoints at every fixed power.

    Args:
        contrasts: the table of contrasts.
        domain: which domain's rows to take.

    Returns:
        One row a (p, endpoint), p = 1 included: its ``mean``, and the ``change`` from
        p = 1 with ``percent``, ``low``, ``high``, ``improved`` and ``cells``.

    Raises:
        UserError: if an endpoint was not compared on the representative cells.
    """
    parts = []
    for endpoint in ENDPOINTS:
        rows = require(
            contrasts,
            "Table 8",
            domain=domain,
            group="controls",
            backbone="",
            baseline=BASELINE,
            endpoint=endpoint,
            target="",
        )
        rows = rows.assign(
            p=rows["treatment"].map(power).astype(float), mean=rows["treatment_mean"]
        )
        rows = rows[rows["p"].notna()]
        start = rows.head(1).assign(p=1.0, mean=rows["baseline_mean"], change=0.0)
        start[["percent", "low", "high"]] = float("nan")
        parts.append(pd.concat([start, rows]))
    columns = ["p", "endpoint", "mean", "change", "percent", "low", "high"]
    both = pd.concat(parts)[[*columns, "improved", "cells"]]
    return both.sort_values("p", kind="stable", ignore_index=True)


def display(powers: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it: one row a power."""
    rows = []
    for p, part in powers.groupby("p"):
        shown = {"p": f"{p:.2f}"}
        by_endpoint = part.set_index("endpoint").to_dict("index")
        for endpoint, name in ENDPOINTS.items():
            row = by_endpoint[endpoint]
            shown[name] = number(row["mean"])
            shown[f"{name} %"] = number(row["percent"], 2, sign=True)
            shown[f"{name} interval"] = span(row["low"], row["high"], 4)
        rows.append(shown)
    return pd.DataFrame(rows)


def draw(powers: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(powers), NOTE)


def html(powers: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(powers), TITLE, NOTE)

"""Controls: the numbers behind what a scale without attention explains."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, STATISTICS, label, ordered
from maa.figures.rows import matching, require
from maa.figures.tabular import DASH, MINUS, number, page, picture, span

NEEDS = needs("table_shares")
CONTROLS = {"uniform": "uniform scale", "length": "length scale", "log_n": "log n"}
MEAN = "mean"  # over the statistics
TITLE = "Controls. What a scale without attention explains of MAA's gain"
NOTE = (
    "Gain: MAA minus softmax, linear R². Uniform scale: softmax times one factor per "
    f"head. Length scale: softmax times n^(1 {MINUS} 1/p) for n keys.\n"
    "log n: what vanishes of the gain when both probes also read log(1 + n). Share: "
    "explained / gain, empty where the gain's interval includes 0.\n"
    "Brackets: 95 % bootstrap intervals. All backbones; the CSV has each backbone and "
    "each cell."
)


def table(shares: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return all shares, ordered by scope, backbone, statistic and control.

    Raises:
        UserError: if there is none.
    """
    rows = require(
        shares, "The table of controls", domain=domain, control=list(CONTROLS)
    )
    ranks = {
        "scope": ["all", "backbone", "cell"],
        "backbone": ["", *ordered(set(rows["backbone"]) - {""}, BACKBONES)],
        "dataset": sorted(set(rows["dataset"])),
        "target": [*ordered(set(rows["target"]) - {MEAN}, STATISTICS), MEAN],
        "control": list(CONTROLS),
    }
    return rows.sort_values(
        list(ranks),
        key=lambda column: column.map(ranks[str(column.name)].index),
        ignore_index=True,
    )


def display(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it: one row a statistic and control."""
    rows = []
    for row in matching(shares, scope="all").to_dict("records"):
        share = row["share"]
        rows.append(
            {
                "Statistic": label(row["target"], {MEAN: "Mean", **STATISTICS}),
                "Control": CONTROLS[row["control"]],
                "Gain": number(row["gain"], 4, sign=True),
                "Gain interval": span(row["gain_low"], row["gain_high"], 4),
                "Explained": number(row["explained"], 4, sign=True),
                "Explained interval": span(
                    row["explained_low"], row["explained_high"], 4
                ),
                "Share": DASH if pd.isna(share) else number(share, 2),
                "Share interval": span(row["share_low"], row["share_high"], 2),
                "Left": number(row["left"], 4, sign=True),
                "Cells": str(row["cells"]),
            }
        )
    return pd.DataFrame(rows)


def draw(shares: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(shares), NOTE, lead=2)


def html(shares: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(shares), TITLE, NOTE, lead=2)

"""Table 4: single statistics under the linear and the ExtraTrees probe, in our form."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from maa.errors import UserError
from maa.figures.catalogue import needs
from maa.figures.labels import STATISTICS, label, ordered
from maa.figures.tabular import DASH, number, page, picture, span, starred

NEEDS = needs("table4")
PROBES = {"r2_linear_z": "Linear", "r2_extratrees_z": "ExtraTrees"}
TITLE = "Table 4. Single statistics"
NOTE = (
    "ΔR²: treatment minus baseline, mean over cells, with its 95 % interval (crossed "
    "bootstrap).\nHolm: exact two-sided Wilcoxon signed-rank p over cells, over the "
    "statistics of a probe. * below .05.\nConstant: the statistic does not vary on any "
    "of the data, so it shows nothing about recovery."
)


def table(statistics: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the statistics of a domain on the representation alone, by probe.

    Raises:
        UserError: if the domain has none.
    """
    rows = statistics[
        (statistics["domain"] == domain) & statistics["endpoint"].isin(list(PROBES))
    ]
    if rows.empty:
        raise UserError(
            f"the statistics hold none of the domain {domain!r}, which Table 4 shows; "
            "run some first"
        )
    targets = ordered(set(rows["target"]), STATISTICS)
    probes = list(PROBES)
    return rows.sort_values(
        ["endpoint", "target"],
        key=lambda column: column.map((probes + targets).index),
        ignore_index=True,
    )


def display(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it: one row a statistic, both probes beside."""
    by_key = {
        (row["endpoint"], row["target"]): row for row in statistics.to_dict("records")
    }
    rows = []
    for target in dict.fromkeys(statistics["target"]):
        shown = {"Statistic": label(target, STATISTICS)}
        for endpoint, probe in PROBES.items():
            if (endpoint, target) in by_key:
                shown |= _columns(by_key[endpoint, target], probe)
        rows.append(shown)
    return pd.DataFrame(rows).fillna(DASH)


def draw(statistics: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(statistics), NOTE)


def html(statistics: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(statistics), TITLE, NOTE)


def _columns(row: dict[Any, Any], probe: str) -> dict[str, str]:
    constant = bool(row["constant"])
    return {
        f"{probe} ΔR²": "constant" if constant else number(row["change"], 4, sign=True),
        f"{probe} 95 % interval": span(row["low"], row["high"], 4),
        f"{probe} up": DASH if constant else f"{row['improved']}/{row['cells']}",
        f"{probe} Holm": DASH if constant else starred(row["p_holm"]),
    }

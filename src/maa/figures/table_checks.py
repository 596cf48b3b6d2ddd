"""Checks of the tests: a mixed model, detectable effects, bounds of equivalence."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import STATISTICS, label, ordered
from maa.figures.rows import matching, require
from maa.figures.tabular import DASH, number, page, picture, span

NEEDS = needs("table_checks")
PROBES = {"r2_linear_z": "linear", "r2_extratrees_z": "ExtraTrees"}
TITLE = "Checks. What the design can find, and a mixed model beside the tests"
NOTE = (
    "p: exact Wilcoxon over cells, not corrected. Mixed model: paired differences of "
    "runs with random backbones, data sets and cells; † a variance of zero,\n‡ not "
    "converged. Detectable: smallest mean effect that the exact test finds with power "
    ".8 at .05, at the spread seen (Holm: at its first step; ∞: none);\nof 12 cells: "
    "in the paper's design. Equivalence: smallest bound that two one-sided tests at "
    ".05 rule in."
)
_KEYS = ["domain", "endpoint", "target"]
_MIXED = ["estimate", "low", "high", "p", "converged", "singular", "note"]
_PRECISION = ["sd", "mde", "mde_holm", "mde_paper"]


def table(
    aggregate: pd.DataFrame,
    statistics: pd.DataFrame,
    mixed: pd.DataFrame,
    precision: pd.DataFrame,
    domain: str = "ctdg",
) -> pd.DataFrame:
    """Return the tests of primary endpoints and statistics with their checks.

    Args:
        aggregate: the table of aggregate endpoints.
        statistics: the table of single statistics.
        mixed: the table of mixed models.
        precision: the table of detectable effects.
        domain: which domain's rows to take.

    Returns:
        One row a (endpoint, target): ``label``, the ``change`` and the Wilcoxon test's
        ``p`` and ``p_holm``; the mixed model's columns with the prefix ``mixed_``; and
        what can be detected. Statistics that are constant everywhere are left out.

    Raises:
        UserError: if no endpoint was tested.
    """
    primary = require(aggregate, "The table of checks", domain=domain, primary=True)
    single = matching(statistics, domain=domain, endpoint=list(PROBES), constant=False)
    names = [
        f"{label(target, STATISTICS)}, {PROBES[endpoint]}"
        for endpoint, target in zip(single["endpoint"], single["target"], strict=True)
    ]
    order = ordered(set(single["target"]), STATISTICS)
    single = single.assign(label=names, rank=single["target"].map(order.index))
    single = single.sort_values(["endpoint", "rank"], ascending=[False, True])
    columns = [*_KEYS, "label", "change", "cells", "p", "p_holm"]
    rows = pd.concat([primary.assign(target=""), single])[columns]
    fitted = mixed[[*_KEYS, *_MIXED]].rename(columns={n: f"mixed_{n}" for n in _MIXED})
    found = precision[[*_KEYS, *_PRECISION, "equivalence_bound"]]
    both = rows.merge(fitted, on=_KEYS, how="left").merge(found, on=_KEYS, how="left")
    return both.reset_index(drop=True)


def display(checks: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it: one row an endpoint or statistic."""
    rows = [
        {
            "Quantity": row["label"],
            "Change": number(row["change"], 4, sign=True),
            "p": number(row["p"], 4),
            "Mixed estimate": number(row["mixed_estimate"], 4, sign=True) + _mark(row),
            "Mixed interval": span(row["mixed_low"], row["mixed_high"], 4),
            "Mixed p": number(row["mixed_p"], 4),
            "Detectable": number(row["mde"], 4),
            "with Holm": number(row["mde_holm"], 4),
            "of 12 cells": number(row["mde_paper"], 4),
            "Equivalence": number(row["equivalence_bound"], 4),
        }
        for row in checks.to_dict("records")
    ]
    return pd.DataFrame(rows).fillna(DASH)


def draw(checks: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(checks), NOTE)


def html(checks: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(checks), TITLE, NOTE)


def _mark(row: dict[Any, Any]) -> str:
    """Mark fits that are to be read with care; a quantity without one has no mark."""
    if pd.isna(row["mixed_estimate"]):
        return ""
    return ("" if row["mixed_converged"] else "‡") + (
        "†" if row["mixed_singular"] else ""
    )

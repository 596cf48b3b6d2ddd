"""The page of claims: one HTML file that needs nothing but the exhibits beside it."""

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from maa.claims.evaluate import Result, found_text, paper_text
from maa.claims.rules import VERDICTS, rule_text

TEMPLATE = "page.html.j2"


def render(
    book: Mapping[str, Any],
    results: Sequence[Result],
    cells: pd.DataFrame,
    aggregate: pd.DataFrame,
) -> str:
    """Render the page.

    Args:
        book: the book of claims.
        results: the judged claims.
        cells: the table of cells, for the constant targets.
        aggregate: the table of aggregate endpoints, for both means over targets.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["slug"] = lambda verdict: verdict.replace(" ", "-")
    text = resources.files("maa.claims").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(text).render(
        paper=book["paper"],
        tally=tally(results),
        scope=page_scope(results),
        claims=[_card(result) for result in results],
        exhibits=book["exhibits"],
        notes=book["notes"],
        constants=constant_targets(cells),
        means=both_means(aggregate),
    )


def tally(results: Sequence[Result]) -> dict[str, int]:
    """Count the claims of each verdict, zero counts included."""
    found = [result.finding.verdict for result in results]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def page_scope(results: Sequence[Result]) -> list[str]:
    """Return how far the verdicts reach; nothing for just the paper's whole grid."""
    measured = [r.scope for r in results if r.claim["kind"] != "identity"]
    ran = [scope for scope in measured if scope.datasets]
    if not ran:
        return ["No claim on data was measured."] if measured else []
    warnings = []
    best = max(ran, key=lambda scope: scope.paper_cells)
    if best.paper_cells == 0:
        warnings.append(
            "None of the paper's cells was run: the verdicts on data say how the "
            "claims fare on other data, not whether the paper's results replicate."
        )
    elif best.paper_cells < best.paper_total:
        warnings.append(
            f"At most {best.paper_cells} of the paper's {best.paper_total} cells were "
            "run: the verdicts on data rest on part of its grid."
        )
    foreign = sorted({name for scope in ran for name in scope.foreign})
    if foreign:
        warnings.append(f"Not the paper's: {', '.join(foreign)}.")
    return warnings


def constant_targets(cells: pd.DataFrame) -> dict[str, str]:
    """Return for each target that is constant somewhere the data sets where it is."""
    rows = cells[cells["constant"].astype(bool)]
    return {
        str(target): ", ".join(sorted(part["dataset"].unique()))
        for target, part in rows.groupby("target")
    }


def both_means(aggregate: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the recovery endpoints over informative targets and over all of them."""
    rows = aggregate.to_dict("records")
    by_key = {(row["domain"], row["endpoint"]): row for row in rows}
    pairs = [
        (row, by_key.get((row["domain"], f"{row['endpoint']}_all"))) for row in rows
    ]
    return [
        {"label": informative["label"], "informative": informative, "all": everything}
        for informative, everything in pairs
        if everything is not None
    ]


def _card(result: Result) -> dict[str, Any]:
    return {
        **{k: result.claim[k] for k in ("id", "title", "source", "compares", "test")},
        "finding": result.finding,
        "scope": result.scope,
        "needs_data": result.claim["kind"] != "identity",
        "paper": paper_text(result.claim),
        "found": found_text(result),
        "rule": rule_text(result.claim["rule"]),
    }

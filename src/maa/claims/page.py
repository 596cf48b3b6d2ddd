"""The page of claims: one HTML file that needs nothing but the exhibits beside it."""

from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from maa.claims.evaluate import Result, how_judged
from maa.claims.patterns import agrees
from maa.claims.texts import found_text, number_texts, paper_text
from maa.claims.verdicts import VERDICTS

TEMPLATE = "page.html.j2"


def render(
    book: Mapping[str, Any],
    results: Sequence[Result],
    cells: pd.DataFrame,
    aggregate: pd.DataFrame,
    exhibits: Collection[str] | None = None,
) -> str:
    """Render the page.

    Args:
        book: the book of claims.
        results: the judged claims.
        cells: the table of cells, for the constant targets.
        aggregate: the table of aggregate endpoints, for both means over targets.
        exhibits: names of the figures and tables that there are; None for all that the
            book knows.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["slug"] = lambda verdict: verdict.replace(" ", "-")
    text = resources.files("maa.claims").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(text).render(
        paper=book["paper"],
        verdicts=VERDICTS,
        companions=book["companions"].values(),
        tallies=tallies_of(book, results),
        scope=page_scope(results),
        sections=sections_of(book, results),
        exhibits=[
            exhibit
            for exhibit in book["exhibits"]
            if exhibits is None or exhibit["name"] in exhibits
        ],
        notes=book["notes"],
        constants=constant_targets(cells),
        means=both_means(aggregate),
    )


def sections_of(
    book: Mapping[str, Any], results: Sequence[Result]
) -> list[dict[str, Any]]:
    """Return the sections that have claims, each with its claims and their tally."""
    sections = []
    for section in book["sections"]:
        found = [r for r in results if r.claim["section"] == section["name"]]
        if found:
            cards = [_card(result) for result in found]
            sections.append({**section, "tally": tally(found), "claims": cards})
    return sections


def tallies_of(
    book: Mapping[str, Any], results: Sequence[Result]
) -> dict[str, dict[str, int]]:
    """Return by heading how many claims have each verdict: first the main paper's."""
    own = [r for r in results if r.claim["kind"] != "fact"]
    groups = {
        "Claims on data": [r for r in own if not on_paper(r.claim)],
        "On the operator and on the paper's own numbers": [
            r for r in own if on_paper(r.claim)
        ],
    }
    for section in book["sections"]:
        if "companion" in section:
            groups[section["title"]] = [
                r for r in results if r.claim["section"] == section["name"]
            ]
    return {heading: tally(found) for heading, found in groups.items() if found}


def tally(results: Sequence[Result]) -> dict[str, int]:
    """Count the claims of each verdict, zero counts included."""
    found = [result.finding.verdict for result in results]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def on_paper(claim: Mapping[str, Any]) -> bool:
    """Return whether a claim is judged without any data."""
    return claim["kind"] in ("identity", "arithmetic")


def needs_runs(claim: Mapping[str, Any]) -> bool:
    """Return whether a claim is about trained models."""
    return not on_paper(claim) and claim["kind"] != "support"


def page_scope(results: Sequence[Result]) -> list[str]:
    """Return how far the main paper's verdicts reach; nothing for its whole grid."""
    own = [r for r in results if r.claim["kind"] != "fact"]
    measured = [r.scope for r in own if needs_runs(r.claim)]
    ran = [scope for scope in measured if scope.datasets]
    if not ran:
        return ["No claim on data was measured."] if measured else []
    warnings = []
    best = max(ran, key=lambda scope: (scope.paper_cells, scope.paper_total))
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
    claim = result.claim
    return {
        **{key: claim[key] for key in ("id", "title", "source", "compares", "test")},
        "finding": result.finding,
        "scope": result.scope,
        "needs_runs": needs_runs(claim),
        "paper": "" if claim["kind"] == "pattern" else paper_text(claim),
        "found": found_text(claim, result.found, result.numbers),
        "numbers": [
            number_texts(number) | {"agrees": agrees(claim["rule"], number)}
            for number in result.numbers
        ],
        "rule": how_judged(claim),
    }

"""Judge all claims of the book on the tables of inference."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from maa.claims.identities import largest_error
from maa.claims.rules import Finding, judge, not_run, rule_text
from maa.claims.scope import NO_DATA, Scope, scope_of

_NUMBERS = ("change", "percent", "low", "high", "p", "p_holm")
_COUNTS = ("cells", "improved", "worsened")


@dataclass(frozen=True)
class Tables:
    """The tables of inference: cells, aggregate endpoints, single statistics."""

    cells: pd.DataFrame
    aggregate: pd.DataFrame
    statistics: pd.DataFrame


@dataclass(frozen=True)
class Result:
    """A judged claim.

    Attributes:
        claim: its entry in the book.
        finding: verdict, reason and the conditions behind it.
        scope: the cells it rests on.
        found: what was measured; empty if nothing was.
    """

    claim: Mapping[str, Any]
    finding: Finding
    scope: Scope
    found: Mapping[str, Any]


def evaluate(book: Mapping[str, Any], tables: Tables) -> list[Result]:
    """Judge every claim, in the order of the book."""
    return [
        _identity(claim)
        if claim["kind"] == "identity"
        else _measured(claim, tables, book["paper"]["grids"][claim["domain"]])
        for claim in book["claims"]
    ]


def results_table(results: list[Result]) -> pd.DataFrame:
    """Return one row a claim: what was claimed, found and decided, with its scope."""
    return pd.DataFrame([_row(result) for result in results])


def paper_text(claim: Mapping[str, Any]) -> str:
    """Return the paper's numbers of a claim as one line."""
    paper = claim["paper"]
    if claim["kind"] == "identity":
        return str(paper["statement"])
    up = claim["rule"]["name"] != "decrease"
    parts = [_change_text(paper)]
    parts.append(f"{paper['moved']} of {paper['cells']} cells {'up' if up else 'down'}")
    if "p_holm" in paper:
        parts.append(f"p after Holm {paper['p_holm']:.4f}")
    return ", ".join(parts)


def found_text(result: Result) -> str:
    """Return what was measured as one line, in the form of `paper_text`."""
    found = result.found
    if not found:
        return "nothing was measured"
    if "error" in found:
        return f"largest error {found['error']:.2g}"
    up = result.claim["rule"]["name"] != "decrease"
    moved = found["improved"] if up else found["worsened"]
    return (
        f"{_change_text(found)}, 95 % interval [{found['low']:+.5f}, "
        f"{found['high']:+.5f}], {moved} of {found['cells']} cells "
        f"{'up' if up else 'down'}, p after Holm {found['p_holm']:.4f}"
    )


def _change_text(numbers: Mapping[str, Any]) -> str:
    text = f"{numbers['change']:+.5f}"
    percent = numbers.get("percent", np.nan)
    return text if np.isnan(percent) else f"{text} ({percent:+.2f} %)"


def _identity(claim: Mapping[str, Any]) -> Result:
    error = largest_error(claim["check"], **claim["inputs"])
    found = {"error": error}
    return Result(claim, judge(claim["rule"], claim["paper"], found), NO_DATA, found)


def _measured(
    claim: Mapping[str, Any], tables: Tables, grid: Mapping[str, Any]
) -> Result:
    wanted = {
        "domain": claim["domain"],
        "endpoint": claim["endpoint"],
        "target": claim.get("target", ""),
    }
    cells = _rows(tables.cells, wanted)
    scope = scope_of(cells[~cells["constant"].astype(bool)], grid)
    if claim["kind"] == "aggregate":
        del wanted["target"]
        rows = _rows(tables.aggregate, wanted)
    else:
        rows = _rows(tables.statistics, wanted)
    if rows.empty:
        what = " ".join(filter(None, wanted.values()))
        return Result(claim, not_run(f"No run measured {what}."), scope, {})
    found = {str(key): value for key, value in rows.iloc[0].items()}
    if found.get("constant", False):
        reason = f"{claim['target']} is constant on all data that was run."
        return Result(claim, not_run(reason), scope, {})
    return Result(claim, judge(claim["rule"], claim["paper"], found), scope, found)


def _rows(table: pd.DataFrame, wanted: Mapping[str, str]) -> pd.DataFrame:
    picked = np.ones(len(table), dtype=bool)
    for key, value in wanted.items():
        picked &= (table[key] == value).to_numpy(dtype=bool)
    return table[picked]


def _row(result: Result) -> dict[str, Any]:
    claim, finding, scope = result.claim, result.finding, result.scope
    texts = {key: claim[key] for key in ("id", "title", "kind", "source", "compares")}
    numbers = {key: float(result.found.get(key, np.nan)) for key in _NUMBERS}
    counts = {key: int(result.found.get(key, 0)) for key in _COUNTS}
    return {
        **texts,
        "test": claim["test"],
        "rule": claim["rule"]["name"],
        "rule_text": rule_text(claim["rule"]),
        "verdict": finding.verdict,
        "reason": finding.reason,
        "scope": scope.text,
        "paper": paper_text(claim),
        "found": found_text(result),
        **numbers,
        **counts,
        "error": float(result.found.get("error", np.nan)),
        "paper_cells": scope.paper_cells,
        "paper_total": scope.paper_total,
        "datasets": ", ".join(scope.datasets),
        "backbones": ", ".join(scope.backbones),
        "foreign": ", ".join(scope.foreign),
    }

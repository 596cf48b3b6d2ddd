"""Judge all claims of the book on the tables of inference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from maa.claims.arithmetic import arithmetic
from maa.claims.facts import COLUMNS, numbers_of_facts, scope_of_facts
from maa.claims.identities import largest_error
from maa.claims.numbers import Number, entries, numbers_of
from maa.claims.patterns import agrees, judge_numbers, pattern_text
from maa.claims.rules import judge, rule_text
from maa.claims.scope import (
    NO_DATA,
    NO_RUN,
    Scope,
    data_scope,
    published_cells,
    scope_of,
)
from maa.claims.texts import found_text, paper_text
from maa.claims.verdicts import Finding, not_run

_NUMBERS = ("change", "percent", "low", "high", "p", "p_holm")
_COUNTS = ("cells", "improved", "worsened")
_EFFECT = ("baseline", "treatment", "change", "percent", "p", "p_holm")
_CONTRASTS = (
    "group baseline treatment backbone domain endpoint target constant baseline_mean "
    "treatment_mean change low high cells"
)
_CONTRAST_CELLS = (
    "group baseline treatment domain dataset backbone endpoint target seeds constant"
)
_CELLS = "domain dataset backbone endpoint target seeds constant"
_AGGREGATE = "domain endpoint label change percent"
_STATISTICS = "domain endpoint target constant"
_SELECTION = "domain variant fold p chosen cells"
_SUPPORT = "domain dataset target support"


def _absent(columns: str) -> Callable[[], pd.DataFrame]:
    return lambda: pd.DataFrame(columns=columns.split())


@dataclass(frozen=True)
class Tables:
    """The tables that claims are judged on; what is absent counts as not run.

    Attributes:
        cells: effects of the core's cells.
        aggregate: aggregate endpoints.
        statistics: single statistics.
        contrasts: every operator against its baseline, by group of runs and backbone.
        contrast_cells: the same by cell.
        selection: candidates and choices of the power selection.
        support: ``support``, the share of queries with evidence, of each (``domain``,
            ``dataset``, ``target``).
        facts: named numbers of the companion papers (`maa.claims.facts`).
    """

    cells: pd.DataFrame = field(default_factory=_absent(_CELLS))
    aggregate: pd.DataFrame = field(default_factory=_absent(_AGGREGATE))
    statistics: pd.DataFrame = field(default_factory=_absent(_STATISTICS))
    contrasts: pd.DataFrame = field(default_factory=_absent(_CONTRASTS))
    contrast_cells: pd.DataFrame = field(default_factory=_absent(_CONTRAST_CELLS))
    selection: pd.DataFrame = field(default_factory=_absent(_SELECTION))
    support: pd.DataFrame = field(default_factory=_absent(_SUPPORT))
    facts: pd.DataFrame = field(default_factory=_absent(COLUMNS))


@dataclass(frozen=True)
class Result:
    """A judged claim.

    Attributes:
        claim: its entry in the book.
        finding: verdict, reason and the conditions behind it.
        scope: the cells it rests on.
        found: what was measured; empty if nothing was.
        numbers: the paper's numbers beside ours, for claims that consist of several.
    """

    claim: Mapping[str, Any]
    finding: Finding
    scope: Scope
    found: Mapping[str, Any] = field(default_factory=dict)
    numbers: tuple[Number, ...] = ()


def evaluate(book: Mapping[str, Any], tables: Tables) -> list[Result]:
    """Judge every claim, in the order of the book."""
    judges: dict[str, Callable[..., Result]] = {
        "identity": _identity,
        "arithmetic": _arithmetic,
        "aggregate": _measured,
        "statistic": _measured,
        "pattern": _pattern,
        "choice": _choice,
        "support": _support,
        "fact": _fact,
    }
    return [judges[claim["kind"]](claim, tables, book) for claim in book["claims"]]


def how_judged(claim: Mapping[str, Any]) -> str:
    """Return the rule of a claim as a text."""
    many = claim["kind"] in ("pattern", "choice", "support", "arithmetic", "fact")
    return pattern_text(claim["rule"]) if many else rule_text(claim["rule"])


def results_table(results: list[Result]) -> pd.DataFrame:
    """Return one row a claim: what was claimed, found and decided, with its scope."""
    return pd.DataFrame([_row(result) for result in results])


def numbers_table(results: list[Result]) -> pd.DataFrame:
    """Return one row a number of the paper: the paper's and ours, with its interval.

    ``agrees`` is what the claim's rule says of this number alone: yes, no, or nothing
    where the rule judges all of them together or leaves this one out.
    """
    rows = [
        {
            "id": result.claim["id"],
            "section": result.claim["section"],
            "source": result.claim["source"],
            "number": number.name,
            "paper": number.paper,
            "paper_high": number.paper_high,
            "found": number.found,
            "low": number.low,
            "high": number.high,
            "cells": number.cells,
            "agrees": {True: "yes", False: "no", None: ""}[
                agrees(result.claim["rule"], number) if result.numbers else None
            ],
            "verdict": result.finding.verdict,
        }
        for result in results
        for number in result.numbers or _single(result)
    ]
    return pd.DataFrame(rows)


def _single(result: Result) -> list[Number]:
    """Return the numbers of a claim on one effect, each by its own name."""
    paper, found = result.claim["paper"], result.found
    if "change" not in paper:
        return []
    cells = int(found.get("cells", 0))
    numbers = []
    for key in _EFFECT:
        if key not in paper:
            continue
        named = {key: found, "low": {}, "high": {}}
        if key == "change":
            named = dict.fromkeys(("change", "low", "high"), found)
        value, low, high = (float(at.get(name, np.nan)) for name, at in named.items())
        numbers.append(Number(key, paper[key], value, low, high, cells))
    down = result.claim["rule"]["name"] == "decrease"
    moved = found.get("worsened" if down else "improved", np.nan)
    share = moved / cells if cells else np.nan
    share = Number("share moved", paper["moved"] / paper["cells"], share, cells=cells)
    return [*numbers, share]


def _identity(
    claim: Mapping[str, Any], tables: Tables, book: Mapping[str, Any]
) -> Result:
    error = largest_error(claim["check"], **claim["inputs"])
    found = {"error": error}
    return Result(claim, judge(claim["rule"], claim["paper"], found), NO_DATA, found)


def _arithmetic(
    claim: Mapping[str, Any], tables: Tables, book: Mapping[str, Any]
) -> Result:
    by_id = {other["id"]: other for other in book["claims"]}
    of, against = (
        [by_id[name] for name in claim.get(key, [])] for key in ("of", "against")
    )
    numbers = arithmetic(claim["check"], of, against)
    verdict = judge_numbers(claim["rule"], numbers)
    return Result(claim, verdict, NO_RUN, numbers=numbers)


def _measured(
    claim: Mapping[str, Any], tables: Tables, book: Mapping[str, Any]
) -> Result:
    grid = book["paper"]["grids"][claim["domain"]]
    wanted = {
        "domain": claim["domain"],
        "endpoint": claim["endpoint"],
        "target": claim.get("target", ""),
    }
    cells = _rows(tables.cells, wanted)
    cells = cells[~cells["constant"].astype(bool)]
    scope = scope_of(cells, published_cells(grid, "core"), len(grid["seeds"]))
    if claim["kind"] == "aggregate":
        del wanted["target"]
        rows = _rows(tables.aggregate, wanted)
    else:
        rows = _rows(tables.statistics, wanted)
    if rows.empty:
        what = " ".join(filter(None, wanted.values()))
        return Result(claim, not_run(f"No run measured {what}."), scope)
    found = {str(key): value for key, value in rows.iloc[0].items()}
    if found.get("constant", False):
        reason = f"{claim['target']} is constant on all data that was run."
        return Result(claim, not_run(reason), scope)
    return Result(claim, judge(claim["rule"], claim["paper"], found), scope, found)


def _pattern(
    claim: Mapping[str, Any], tables: Tables, book: Mapping[str, Any]
) -> Result:
    grid = book["paper"]["grids"][claim["domain"]]
    numbers = numbers_of(claim, tables.contrasts)
    scope = _pattern_scope(claim, tables.contrast_cells, grid)
    missing = _missing(claim, tables.contrasts)
    if missing or not any(number.ran for number in numbers):
        names = missing or sorted(_operators(claim))
        reason = f"The runs that it needs are not in the study ({', '.join(names)})."
        return Result(claim, not_run(reason), scope, numbers=numbers)
    return Result(claim, judge_numbers(claim["rule"], numbers), scope, numbers=numbers)


def _missing(claim: Mapping[str, Any], contrasts: pd.DataFrame) -> list[str]:
    """Return the operators that a claim compares and its set of runs lacks.

    A claim on several operators says nothing about some of them.
    """
    group = next(iter(entries(claim)))["group"]
    rows = _rows(contrasts, {"domain": claim["domain"], "group": group})
    return sorted(_operators(claim) - set(rows["baseline"]) - set(rows["treatment"]))


def _operators(claim: Mapping[str, Any]) -> set[str]:
    """Return the names of all operators that a claim compares."""
    names: set[str] = set()
    for entry in entries(claim):
        for key in ("baseline", "treatment", "against"):
            value = entry.get(key, [])
            names |= {value} if isinstance(value, str) else set(value)
    return names


def _pattern_scope(
    claim: Mapping[str, Any], cells: pd.DataFrame, grid: Mapping[str, Any]
) -> Scope:
    wanted = list(entries(claim))
    group = wanted[0]["group"]
    named = {entry["backbone"] for entry in wanted}
    backbones = [] if "" in named or wanted[0]["value"] == "lead" else sorted(named)
    rows = _rows(cells, {"domain": claim["domain"], "group": group})
    keys = ["baseline", "treatment", "endpoint", "target"]
    compared = {
        (entry["baseline"], operator, entry["endpoint"], entry["target"])
        for entry in wanted
        for operator in _several(entry["treatment"])
    }
    rows = rows[pd.MultiIndex.from_frame(rows[keys]).isin(compared)]
    if backbones:
        rows = rows[rows["backbone"].isin(backbones)]
    published = published_cells(grid, group, backbones)
    return scope_of(rows, published, len(grid["seeds"]))


def _several(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _choice(
    claim: Mapping[str, Any], tables: Tables, book: Mapping[str, Any]
) -> Result:
    """Judge which power every fold of a variant chooses."""
    grid = book["paper"]["grids"][claim["domain"]]
    cells = _rows(tables.cells, {"domain": claim["domain"], "endpoint": "auc"})
    scope = scope_of(cells, published_cells(grid, "core"), len(grid["seeds"]))
    wanted = {"domain": claim["domain"], "variant": claim["variant"]}
    folds = _rows(tables.selection, wanted)
    folds = folds[folds["chosen"].astype(bool)]
    if folds.empty:
        reason = "No power was selected: that takes two backbones and several powers."
        absent = Number("each fold", claim["paper"]["p"], np.nan)
        return Result(claim, not_run(reason), scope, numbers=(absent,))
    numbers = tuple(
        Number(
            str(row["fold"]),
            claim["paper"]["p"],
            float(row["p"]),
            cells=int(row["cells"]),
        )
        for row in folds.to_dict("records")
    )
    return Result(claim, judge_numbers(claim["rule"], numbers), scope, numbers=numbers)


def _support(
    claim: Mapping[str, Any], tables: Tables, book: Mapping[str, Any]
) -> Result:
    """Judge the shares of queries with evidence on the paper's data sets, percent."""
    published = book["paper"]["grids"][claim["domain"]]["datasets"]
    rows = _rows(tables.support, {"domain": claim["domain"]})
    rows = rows[rows["dataset"].isin(published)]
    scope = data_scope(rows["dataset"].unique(), published)
    if rows.empty:
        reason = "None of the paper's data sets was prepared."
        absent = tuple(
            Number(entry["name"], entry["low"], np.nan, paper_high=entry["high"])
            for entry in claim["numbers"]
        )
        return Result(claim, not_run(reason), scope, numbers=absent)
    numbers = tuple(
        Number(
            f"{entry['name']}, {row['dataset']}",
            entry["low"],
            100 * float(row["support"]),
            paper_high=entry["high"],
        )
        for entry in claim["numbers"]
        for row in _rows(rows, {"target": entry["target"]}).to_dict("records")
    )
    return Result(claim, judge_numbers(claim["rule"], numbers), scope, numbers=numbers)


def _fact(claim: Mapping[str, Any], tables: Tables, book: Mapping[str, Any]) -> Result:
    """Judge numbers of a companion paper."""
    numbers = tuple(numbers_of_facts(claim, tables.facts))
    companion = book["companions"][claim["domain"]]
    scope = scope_of_facts(claim, tables.facts, companion)
    if not any(number.ran for number in numbers):
        reason = "What it needs is not in the study: a model, or a step of it."
        return Result(claim, not_run(reason), scope, numbers=numbers)
    return Result(claim, judge_numbers(claim["rule"], numbers), scope, numbers=numbers)


def _rows(table: pd.DataFrame, wanted: Mapping[str, str]) -> pd.DataFrame:
    picked = np.ones(len(table), dtype=bool)
    for key, value in wanted.items():
        picked &= (table[key] == value).to_numpy(dtype=bool)
    return table[picked]


def _row(result: Result) -> dict[str, Any]:
    claim, finding, scope = result.claim, result.finding, result.scope
    keys = ("id", "section", "title", "kind", "source", "compares", "test")
    numbers = {key: float(result.found.get(key, np.nan)) for key in _NUMBERS}
    counts = {key: int(result.found.get(key, 0)) for key in _COUNTS}
    return {
        **{key: claim[key] for key in keys},
        "rule": claim["rule"]["name"],
        "rule_text": how_judged(claim),
        "verdict": finding.verdict,
        "reason": finding.reason,
        "scope": scope.text,
        "paper": paper_text(claim),
        "found": found_text(claim, result.found, result.numbers),
        **numbers,
        **counts,
        "error": float(result.found.get("error", np.nan)),
        "paper_cells": scope.paper_cells,
        "paper_total": scope.paper_total,
        "datasets": ", ".join(scope.datasets),
        "backbones": ", ".join(scope.backbones),
        "foreign": ", ".join(scope.foreign),
    }

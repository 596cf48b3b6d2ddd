"""Numbers of the companion papers beside ours, looked up in tables of facts.

A fact is a number with a name that was measured of a model on a data set. An entry of a
claim asks for a name, on all models and data sets or on those that it names, and each
measurement of it becomes one number.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from maa.claims.numbers import NAN, Number, entries, paper_value
from maa.claims.scope import Scope

COLUMNS = "domain fact dataset backbone value low high cells"


def numbers_of_facts(claim: Mapping[str, Any], facts: pd.DataFrame) -> list[Number]:
    """Return every number of a claim; one that was not measured stands once, empty.

    Args:
        claim: its entry in the book, with ``domain`` and ``numbers``.
        facts: one row a fact, data set and model, with `COLUMNS`.
    """
    numbers = []
    for entry in entries(claim):
        rows = measured(claim, entry, facts).to_dict("records")
        if not rows:
            numbers.append(_number(entry, entry["name"], {}, claim["rule"]))
        for row in rows:
            where = [row[key] for key in ("backbone", "dataset") if row[key]]
            name = ", ".join([entry["name"], *where])
            numbers.append(_number(entry, name, row, claim["rule"]))
    return numbers


def measured(
    claim: Mapping[str, Any], entry: Mapping[str, Any], facts: pd.DataFrame
) -> pd.DataFrame:
    """Return the rows of facts that an entry of a claim asks for."""
    wanted = {"domain": claim["domain"]} | {
        key: entry[key] for key in ("fact", "dataset", "backbone") if entry.get(key)
    }
    picked = np.ones(len(facts), dtype=bool)
    for key, value in wanted.items():
        picked &= (facts[key] == value).to_numpy(dtype=bool)
    return facts[picked]


def scope_of_facts(
    claim: Mapping[str, Any], facts: pd.DataFrame, companion: Mapping[str, Any]
) -> Scope:
    """Say on which models and data a claim was measured, and which are the paper's.

    Args:
        claim: its entry in the book.
        facts: as for `numbers_of_facts`.
        companion: the paper's ``datasets`` and ``backbones``, as far as they are known.
    """
    parts = [measured(claim, entry, facts) for entry in entries(claim)]
    rows = pd.concat(parts)
    names = {
        key: tuple(sorted(set(rows[key].astype(str)) - {""}))
        for key in ("dataset", "backbone")
    }
    foreign = tuple(
        name
        for key in ("dataset", "backbone")
        for name in names[key]
        if name not in companion[f"{key}s"]
    )
    if rows.empty:
        return Scope("Not measured.")
    same = [name for name in names["backbone"] if name not in foreign]
    text = f"{len(same)} of the models are known to be the paper's."
    if not names["backbone"]:
        text = "Needs no model of the paper's."
    return Scope(
        text,
        datasets=names["dataset"],
        backbones=names["backbone"],
        foreign=foreign,
    )


def _number(
    entry: Mapping[str, Any],
    name: str,
    row: Mapping[Any, Any],
    rule: Mapping[str, Any],
) -> Number:
    low, high = paper_value(entry), NAN
    if "low" in entry or "high" in entry:
        low, high = entry.get("low", -math.inf), entry.get("high", math.inf)
    margin = entry.get("margin", rule.get("deviations", NAN) * entry.get("sd", NAN))
    return Number(
        name,
        float(low),
        float(row.get("value", NAN)),
        float(row.get("low", NAN)),
        float(row.get("high", NAN)),
        int(row.get("cells", 0)),
        paper_high=float(high),
        margin=float(margin),
        direction=isinstance(entry.get("paper"), str),
    )

"""Single numbers of the paper beside ours, looked up in the tables of contrasts."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

NAN = float("nan")
_DEFAULTS = {
    "group": "core",
    "baseline": "p1.00",
    "treatment": "p1.10",
    "backbone": "",
    "target": "",
    "value": "change",
}
_LEVELS = {"baseline": "baseline_mean", "treatment": "treatment_mean"}


@dataclass(frozen=True)
class Number:
    """A number of the paper, and the same of this study.

    Attributes:
        name: what it is a number of.
        paper: the paper's; NaN where it gives none.
        found: ours; NaN where it was not run.
        low: lower end of the 95 % interval of ours; NaN where it has none.
        high: upper end.
        cells: how many cells ours rests on.
        paper_high: upper end, where the paper gives a range; ``paper`` is the lower.
        margin: what it may differ by, where a rule asks for that.
        direction: whether ``paper`` is only a direction, +1 or -1.
    """

    name: str
    paper: float
    found: float
    low: float = NAN
    high: float = NAN
    cells: int = 0
    paper_high: float = NAN
    margin: float = NAN
    direction: bool = False

    @property
    def ran(self) -> bool:
        """Whether there is anything to compare."""
        return not math.isnan(self.found)


def entries(claim: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the numbers that a claim names, with what they have in common filled in."""
    for entry in claim["numbers"]:
        yield {**_DEFAULTS, **claim.get("common", {}), **entry}


def paper_value(entry: Mapping[str, Any]) -> float:
    """Return the paper's number: as printed, or the difference of two printed ones.

    A text ``up`` or ``down`` stands for a direction without a size: +1 or -1.
    """
    paper = entry.get("paper", NAN)
    if isinstance(paper, Mapping):
        return float(paper["to"] - paper["from"])
    if isinstance(paper, str):
        return 1.0 if paper == "up" else -1.0
    return float(paper)


def numbers_of(claim: Mapping[str, Any], contrasts: pd.DataFrame) -> tuple[Number, ...]:
    """Look up every number that a claim names.

    Args:
        claim: its entry in the book, with ``domain`` and ``numbers``.
        contrasts: the table of contrasts.
    """
    rows = contrasts[contrasts["domain"] == claim["domain"]]
    return tuple(_number(entry, rows) for entry in entries(claim))


def _number(entry: Mapping[str, Any], contrasts: pd.DataFrame) -> Number:
    found, low, high, cells = _VALUES[entry["value"]](entry, contrasts)
    return Number(
        entry["name"],
        paper_value(entry),
        found,
        low,
        high,
        cells,
        margin=float(entry.get("margin", NAN)),
        direction=isinstance(entry.get("paper"), str),
    )


_Found = tuple[float, float, float, int]
_NOT_RUN: _Found = (NAN, NAN, NAN, 0)


def _level(entry: Mapping[str, Any], contrasts: pd.DataFrame) -> _Found:
    """Return the mean of one arm; the interval is that of changes, so there is none."""
    row = _best(entry, contrasts, entry["treatment"])
    if row is None:
        return _NOT_RUN
    return float(row[_LEVELS[entry["value"]]]), NAN, NAN, int(row["cells"])


def _change(entry: Mapping[str, Any], contrasts: pd.DataFrame) -> _Found:
    """Return the change, or by how much it exceeds the best of other operators."""
    row = _best(entry, contrasts, entry["treatment"])
    if row is None:
        return _NOT_RUN
    cells = int(row["cells"])
    if "against" not in entry:
        low, high = float(row["low"]), float(row["high"])
        return float(row["change"]), low, high, cells
    other = _best(entry, contrasts, entry["against"])
    if other is None:
        return _NOT_RUN
    return float(row["change"] - other["change"]), NAN, NAN, cells


def _lead(entry: Mapping[str, Any], contrasts: pd.DataFrame) -> _Found:
    """Return the baseline's level in one backbone, above the mean of the others'."""
    rows = _matching(entry, contrasts, entry["treatment"], backbone=None)
    levels = rows[rows["backbone"] != ""].set_index("backbone")["baseline_mean"]
    others = levels.drop(entry["backbone"], errors="ignore")
    if entry["backbone"] not in levels or others.empty:
        return _NOT_RUN
    lead = float(levels[entry["backbone"]] - others.mean())
    return lead, NAN, NAN, int(rows.loc[rows["backbone"] != "", "cells"].sum())


_VALUES = {
    "change": _change,
    "baseline": _level,
    "treatment": _level,
    "lead": _lead,
}


def _matching(
    entry: Mapping[str, Any],
    contrasts: pd.DataFrame,
    operators: str | list[str],
    backbone: str | None,
) -> pd.DataFrame:
    names = [operators] if isinstance(operators, str) else list(operators)
    picked = ~contrasts["constant"].to_numpy(dtype=bool)
    picked = picked & contrasts["treatment"].isin(names).to_numpy(dtype=bool)
    for key in ("group", "baseline", "endpoint", "target"):
        picked &= (contrasts[key] == entry[key]).to_numpy(dtype=bool)
    if backbone is not None:
        picked &= (contrasts["backbone"] == backbone).to_numpy(dtype=bool)
    return contrasts[picked]


def _best(
    entry: Mapping[str, Any], contrasts: pd.DataFrame, operators: str | list[str]
) -> pd.Series | None:
    """Return the row of an operator, or of the best of several; None if one is absent.

    Several operators must all have been run: the best of fewer would be another thing.
    """
    rows = _matching(entry, contrasts, operators, entry["backbone"])
    wanted = 1 if isinstance(operators, str) else len(operators)
    if len(rows) < wanted:
        return None
    return rows.iloc[int(np.argmax(rows["change"].to_numpy()))]

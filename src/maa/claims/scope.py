"""On how much of the paper's grid a verdict rests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Scope:
    """Which cells stand behind a claim.

    Attributes:
        text: one sentence for readers.
        paper_cells: how many of the paper's cells were run.
        paper_total: how many the paper has; 0 where a claim needs no data.
        datasets: data sets that were run.
        backbones: backbones that were run.
        foreign: data sets and backbones among them that are not the paper's.
    """

    text: str
    paper_cells: int = 0
    paper_total: int = 0
    datasets: tuple[str, ...] = ()
    backbones: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()


NO_DATA = Scope("Needs no data: evaluated on random rows of attention.")


def scope_of(cells: pd.DataFrame, grid: Mapping[str, Sequence[Any]]) -> Scope:
    """Compare the cells of a claim with the paper's grid.

    Args:
        cells: rows of the table of cells that belong to one quantity.
        grid: the paper's ``datasets``, ``backbones`` and ``seeds``.
    """
    names = cells[["dataset", "backbone"]].astype(str).to_numpy().tolist()
    ran = {(dataset, backbone) for dataset, backbone in names}
    published = {(d, b) for d in grid["datasets"] for b in grid["backbones"]}
    datasets = tuple(sorted({dataset for dataset, _ in ran}))
    backbones = tuple(sorted({backbone for _, backbone in ran}))
    foreign = tuple(
        [name for name in datasets if name not in grid["datasets"]]
        + [name for name in backbones if name not in grid["backbones"]]
    )
    seeds = sorted({int(count) for count in cells["seeds"]})
    inside, total = len(ran & published), len(published)
    text = _sentence(inside, total, len(ran), foreign)
    if ran:
        counts = " or ".join(map(str, seeds))
        text += f" Seeds a cell: {counts} (paper: {len(grid['seeds'])})."
    return Scope(text, inside, total, datasets, backbones, foreign)


def _sentence(inside: int, total: int, ran: int, foreign: tuple[str, ...]) -> str:
    if not ran:
        return f"None of the paper's {total} cells was run."
    text = f"{inside} of the paper's {total} cells"
    if ran > inside:
        text += f", and {ran - inside} that are not the paper's ({', '.join(foreign)})"
    return f"{text}."

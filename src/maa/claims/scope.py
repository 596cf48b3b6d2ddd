"""On how much of the paper's grid a verdict rests."""

from collections.abc import Collection, Mapping, Sequence
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
NO_RUN = Scope("Needs no run: computed from the paper's printed numbers.")
PREPARED = "Computed from the prepared data alone."


def published_cells(
    grid: Mapping[str, Any], group: str, backbones: Sequence[str] = ()
) -> set[tuple[str, str]]:
    """Return the paper's cells (data set, backbone) of a group of runs.

    Args:
        grid: the paper's ``datasets`` and ``backbones``, and its ``representative``
            cells, on which its controls were run.
        group: ``core`` or ``controls``.
        backbones: keep only these; none keeps all.
    """
    if group == "controls":
        cells = {(cell["dataset"], cell["backbone"]) for cell in grid["representative"]}
    else:
        cells = {(d, b) for d in grid["datasets"] for b in grid["backbones"]}
    return {cell for cell in cells if not backbones or cell[1] in backbones}


def scope_of(
    cells: pd.DataFrame, published: Collection[tuple[str, str]], seeds: int
) -> Scope:
    """Compare the cells of a claim with the paper's.

    Args:
        cells: what was run: ``dataset``, ``backbone`` and number of ``seeds``.
        published: the paper's cells (data set, backbone).
        seeds: how many seeds the paper has.
    """
    names = cells[["dataset", "backbone"]].astype(str).to_numpy().tolist()
    ran = {(dataset, backbone) for dataset, backbone in names}
    datasets = tuple(sorted({dataset for dataset, _ in ran}))
    backbones = tuple(sorted({backbone for _, backbone in ran}))
    foreign = tuple(
        [name for name in datasets if name not in {d for d, _ in published}]
        + [name for name in backbones if name not in {b for _, b in published}]
    )
    counts = sorted({int(count) for count in cells["seeds"]})
    inside, total = len(ran & set(published)), len(published)
    text = _sentence(inside, total, len(ran), foreign)
    if ran:
        text += f" Seeds a cell: {' or '.join(map(str, counts))} (paper: {seeds})."
    return Scope(text, inside, total, datasets, backbones, foreign)


def data_scope(datasets: Collection[str], published: Collection[str]) -> Scope:
    """Compare the data sets of a claim on data alone with the paper's."""
    ran = tuple(sorted(set(datasets)))
    inside = [name for name in ran if name in published]
    text = f"{PREPARED} {len(inside)} of the paper's {len(published)} data sets"
    return Scope(f"{text}.", datasets=tuple(inside))


def _sentence(inside: int, total: int, ran: int, foreign: tuple[str, ...]) -> str:
    if not ran:
        return f"None of the paper's {total} cells was run."
    text = f"{inside} of the paper's {total} cells"
    if ran > inside:
        names = f" ({', '.join(foreign)})" if foreign else ""
        text += f", and {ran - inside} that are not the paper's{names}"
    return f"{text}."

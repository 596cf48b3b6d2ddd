"""Fig. 1: mean changes of four quantities by backbone, with each data set's own."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.errors import UserError
from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, DATASETS, label, ordered
from maa.figures.style import COLOURS, INK, MARKERS, SOFT, styled

NEEDS = needs("fig1")
PANELS = {
    ("auc", ""): "AUC",
    ("r2_linear_z", "preferential_attachment"): "Preferential attachment, linear R²",
    ("shared_linear", ""): "Shared linear R²",
    ("context_margin", ""): "Context margin (logits)",
}
MEAN = "mean"
_COLUMNS = ["panel", "backbone", "dataset", "baseline", "treatment", "effect"]


def table(cells: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the changes that the figure shows.

    Args:
        cells: the table of cells.
        domain: which domain's cells to take.

    Returns:
        One row a (panel, backbone, data set), and one with data set ``mean`` for the
        mean over the backbone's data sets.

    Raises:
        UserError: if a panel has no cells.
    """
    parts = []
    for (endpoint, target), panel in PANELS.items():
        rows = cells[
            (cells["domain"] == domain)
            & (cells["endpoint"] == endpoint)
            & (cells["target"] == target)
            & ~cells["constant"].astype(bool)
        ]
        if rows.empty:
            raise UserError(
                f"the cells hold no {endpoint} {target}".rstrip()
                + f" of the domain {domain!r}, which Fig. 1 shows; run some first"
            )
        values = rows.groupby("backbone", as_index=False)[
            ["baseline", "treatment", "effect"]
        ].mean()
        both = pd.concat([rows, values.assign(dataset=MEAN)])
        parts.append(both.assign(panel=panel)[_COLUMNS])
    return pd.concat(parts, ignore_index=True)


def draw(changes: pd.DataFrame) -> Figure:
    """Draw one panel a quantity, one bar a backbone, one point a data set."""
    backbones = ordered(set(changes["backbone"]), BACKBONES)
    datasets = ordered(set(changes["dataset"]) - {MEAN}, DATASETS)
    with styled():
        figure = Figure(figsize=(7.2, 4.9))
        axes = figure.subplots(2, 2).ravel()
        for axis, panel in zip(axes, PANELS.values(), strict=True):
            _draw_panel(axis, changes[changes["panel"] == panel], backbones, datasets)
            axis.set_title(panel)
        for axis in axes[::2]:
            axis.set_ylabel("Treatment minus baseline")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _draw_panel(
    axis: Axes, rows: pd.DataFrame, backbones: list[str], datasets: list[str]
) -> None:
    wide = rows.pivot(index="backbone", columns="dataset", values="effect")
    wide = wide.reindex(index=backbones, columns=[*datasets, MEAN])
    place = np.arange(len(backbones))
    axis.bar(
        place,
        wide[MEAN],
        width=0.62,
        color="#c9d3de",
        edgecolor=SOFT,
        linewidth=0.8,
        label="Mean over data sets",
    )
    shifts = np.linspace(-0.2, 0.2, len(datasets)) if len(datasets) > 1 else [0.0]
    for index, (dataset, shift) in enumerate(zip(datasets, shifts, strict=True)):
        axis.plot(
            place + shift,
            wide[dataset],
            linestyle="none",
            marker=MARKERS[index % len(MARKERS)],
            color=COLOURS[index % len(COLOURS)],
            markeredgecolor="white",
            markeredgewidth=0.6,
            markersize=6,
            zorder=3,
            label=label(dataset, DATASETS),
        )
    axis.axhline(0, color=INK, linewidth=0.9)
    axis.set_xticks(place, [label(name, BACKBONES) for name in backbones])
    axis.set_xlim(-0.6, len(backbones) - 0.4)
    axis.tick_params(axis="x", length=0, labelsize=8)
    axis.margins(y=0.12)

"""Bars of mean changes with each data set's own: four quantities, by model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.figures.labels import BACKBONES, DATASETS, label, ordered
from maa.figures.style import COLOURS, INK, MARKERS, SOFT, styled

PANELS = {
    ("auc", ""): "AUC",
    ("r2_linear_z", "preferential_attachment"): "Preferential attachment, linear R²",
    ("shared_linear", ""): "Shared linear R²",
    ("context_margin", ""): "Context margin (logits)",
}
MEAN = "mean"


@dataclass(frozen=True)
class Bars:
    """How the bars of one series look: one a model, the mean over its data sets.

    Attributes:
        name: for the legend.
        centre: distance from the model's place on the axis.
        width: of a bar; models are 1 apart.
        colour: of the face.
        edge: colour of the edge and of the hatch.
        hatch: matplotlib's pattern, empty for none.
    """

    name: str
    centre: float = 0.0
    width: float = 0.62
    colour: str = "#c9d3de"
    edge: str = SOFT
    hatch: str = ""


def draw_changes(
    changes: pd.DataFrame, looks: Mapping[str, Bars], change: str
) -> Figure:
    """Draw one panel a quantity: a bar a model and series, one point a data set.

    Args:
        changes: one row a bar or point: ``panel`` (a title in ``PANELS``), ``series``
            (a key of ``looks``), ``model``, ``dataset`` (``mean`` for a bar) and
            ``effect``.
        looks: the series, in the order of the legend.
        change: what an effect is, for the vertical axes.
    """
    models = ordered(set(changes["model"]), BACKBONES)
    datasets = ordered(set(changes["dataset"]) - {MEAN}, DATASETS)
    with styled():
        figure = Figure(figsize=(7.2, 4.9))
        axes = figure.subplots(2, 2).ravel()
        for axis, panel in zip(axes, PANELS.values(), strict=True):
            rows = changes[changes["panel"] == panel]
            for index, (series, look) in enumerate(looks.items()):
                wide = rows[rows["series"] == series].pivot(
                    index="model", columns="dataset", values="effect"
                )
                wide = wide.reindex(index=models, columns=[*datasets, MEAN])
                _draw_bars(axis, wide, look)
                _draw_points(axis, wide, look.centre, 0.2 / len(looks), index == 0)
            _name_models(axis, models)
            axis.set_title(panel)
        for axis in axes[::2]:
            axis.set_ylabel(change)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _draw_bars(axis: Axes, wide: pd.DataFrame, look: Bars) -> None:
    axis.bar(
        np.arange(len(wide)) + look.centre,
        wide[MEAN],
        width=look.width,
        color=look.colour,
        hatch=look.hatch,
        edgecolor=look.edge,
        linewidth=0.8,
        label=look.name,
    )


def _draw_points(
    axis: Axes, wide: pd.DataFrame, centre: float, reach: float, named: bool
) -> None:
    """Spread each model's data sets up to ``reach`` to both sides of the centre."""
    datasets = [name for name in wide.columns if name != MEAN]
    shifts = np.linspace(-reach, reach, len(datasets)) if len(datasets) > 1 else [0.0]
    for index, (dataset, shift) in enumerate(zip(datasets, shifts, strict=True)):
        axis.plot(
            np.arange(len(wide)) + centre + shift,
            wide[dataset],
            linestyle="none",
            marker=MARKERS[index % len(MARKERS)],
            color=COLOURS[index % len(COLOURS)],
            markeredgecolor="white",
            markeredgewidth=0.6,
            markersize=6,
            zorder=3,
            label=label(dataset, DATASETS) if named else None,
        )


def _name_models(axis: Axes, models: list[str]) -> None:
    axis.axhline(0, color=INK, linewidth=0.9)
    axis.set_xticks(range(len(models)), [label(name, BACKBONES) for name in models])
    axis.set_xlim(-0.6, len(models) - 0.4)
    axis.tick_params(axis="x", length=0, labelsize=8)
    axis.margins(y=0.12)

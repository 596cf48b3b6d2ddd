"""Curves: the course of every training of a study."""

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, DATASETS, by_model, label, model_of, ordered
from maa.figures.rows import require
from maa.figures.style import COLOURS, SOFT, styled

NEEDS = needs("curves")
ARMS = {"p1.00": "Softmax, p = 1", "p1.10": "MAA, p = 1.1"}
OTHERS = "Other operators"


def table(curves: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return loss and validation AUC of each run and epoch.

    Args:
        curves: the training curves of single runs.
        domain: which domain's runs to take.

    Returns:
        One row a (data set, backbone, operator, seed, epoch), sorted by them.

    Raises:
        UserError: if the domain has none.
    """
    rows = require(curves, "The figure of training curves", domain=domain)
    keys = ["dataset", "backbone", "operator", "seed", "epoch"]
    return rows.sort_values(keys)[[*keys, "loss", "validation_auc"]]


def draw(course: pd.DataFrame) -> Figure:
    """Draw one row a backbone and one column a data set; a line is a run."""
    datasets = ordered(set(course["dataset"]), DATASETS)
    backbones = sorted(set(course["backbone"]), key=lambda name: by_model(f"{name}/"))
    with styled():
        figure = Figure(figsize=(7.2, 0.9 + 1.35 * len(backbones)))
        grid = figure.subplots(
            len(backbones), len(datasets), sharex="row", sharey="col", squeeze=False
        )
        for line, backbone in zip(grid, backbones, strict=True):
            for axis, dataset in zip(line, datasets, strict=True):
                cell = (course["dataset"] == dataset) & (course["backbone"] == backbone)
                _draw_cell(axis, course[cell])
            line[0].set_ylabel(_name(backbone))
        for axis, dataset in zip(grid[0], datasets, strict=True):
            axis.set_title(label(dataset, DATASETS))
        for axis in grid[-1]:
            axis.set_xlabel("Epoch")
        handles: dict[str, Artist] = {}
        for axis in grid.flat:
            found, names = axis.get_legend_handles_labels()
            handles |= dict(zip(names, found, strict=True))
        shown = [name for name in [*ARMS.values(), OTHERS] if name in handles]
        figure.legend(
            handles=[handles[name] for name in shown],
            labels=shown,
            loc="outside lower center",
            ncols=len(shown),
            title="Validation AUC",
        )
    return figure


def _name(backbone: str) -> str:
    """Return a backbone's label; a published form has it said below."""
    model = model_of(backbone)
    return label(model, BACKBONES) + ("" if model == backbone else "\n(official)")


def _draw_cell(axis: Axes, runs: pd.DataFrame) -> None:
    """Draw the runs of a cell, the two arms above all others."""
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    for (operator, _), run in runs.groupby(["operator", "seed"]):
        arm = str(operator) in ARMS
        axis.plot(
            run["epoch"],
            run["validation_auc"],
            color=COLOURS[[*ARMS][::-1].index(str(operator))] if arm else SOFT,
            alpha=0.9 if arm else 0.25,
            linewidth=1.1 if arm else 0.6,
            marker="o" if len(run) == 1 else None,
            zorder=3 if arm else 2,
            label=ARMS[str(operator)] if arm else OTHERS,
        )
    if runs.empty:
        axis.text(
            0.5, 0.5, "not run", ha="center", va="center", transform=axis.transAxes
        )

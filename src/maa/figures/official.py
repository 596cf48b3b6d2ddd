"""Official forms: changes of four quantities, beside the reference forms' own."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.errors import UserError
from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, DATASETS, label, model_of, ordered
from maa.figures.rows import matching, varying
from maa.figures.style import COLOURS, INK, MARKERS, SOFT, styled

NEEDS = needs("official")
PANELS = {
    ("auc", ""): "AUC",
    ("r2_linear_z", "preferential_attachment"): "Preferential attachment, linear R²",
    ("shared_linear", ""): "Shared linear R²",
    ("context_margin", ""): "Context margin (logits)",
}
FORMS = {"core": "Reference form", "official": "Official form"}
ARMS = {"baseline": "p1.00", "treatment": "p1.10"}
MEAN = "mean"
_COLUMNS = [
    "panel",
    "form",
    "model",
    "dataset",
    "baseline_mean",
    "treatment_mean",
    "effect",
]


def table(contrast_cells: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the changes of both forms on the data sets that both were run on.

    Args:
        contrast_cells: the table of contrasts by cell.
        domain: which domain's cells to take.

    Returns:
        One row a (panel, form, model, data set), and one with data set ``mean``.

    Raises:
        UserError: if the two forms share no model on any data set.
    """
    rows = matching(contrast_cells, domain=domain, group=list(FORMS), **ARMS)
    rows = varying(rows).assign(model=rows["backbone"].map(model_of))
    rows = rows.rename(columns={"group": "form"})
    both = rows.groupby(["model", "dataset"])["form"].transform("nunique") == len(FORMS)
    if not both.any():
        raise UserError(
            "no model was run in its reference and its official form on the same data "
            "set; add one to the study's core grid or leave the official forms out"
        )
    parts = []
    for (endpoint, target), panel in PANELS.items():
        part = matching(rows[both], endpoint=endpoint, target=target)
        means = part.groupby(["form", "model"], as_index=False)[_COLUMNS[-3:]].mean()
        parts.append(pd.concat([part, means.assign(dataset=MEAN)]).assign(panel=panel))
    return pd.concat(parts, ignore_index=True)[_COLUMNS]


def draw(changes: pd.DataFrame) -> Figure:
    """Draw one panel a quantity: two bars a model, one point a data set."""
    models = ordered(set(changes["model"]), BACKBONES)
    datasets = ordered(set(changes["dataset"]) - {MEAN}, DATASETS)
    with styled():
        figure = Figure(figsize=(7.2, 4.9))
        axes = figure.subplots(2, 2).ravel()
        for axis, panel in zip(axes, PANELS.values(), strict=True):
            _draw_panel(axis, changes[changes["panel"] == panel], models, datasets)
            axis.set_title(panel)
        for axis in axes[::2]:
            axis.set_ylabel("MAA minus softmax")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _draw_panel(
    axis: Axes, rows: pd.DataFrame, models: list[str], datasets: list[str]
) -> None:
    place = np.arange(len(models))
    shifts = np.linspace(-0.1, 0.1, len(datasets)) if len(datasets) > 1 else [0.0]
    for side, (form, name) in zip((-0.2, 0.2), FORMS.items(), strict=True):
        wide = rows[rows["form"] == form].pivot(
            index="model", columns="dataset", values="effect"
        )
        wide = wide.reindex(index=models, columns=[*datasets, MEAN])
        axis.bar(
            place + side,
            wide[MEAN],
            width=0.36,
            color="#c9d3de" if form == "core" else "#f3dcae",
            hatch="" if form == "core" else "///",
            edgecolor=SOFT if form == "core" else "#c09645",
            linewidth=0.8,
            label=name,
        )
        for index, (dataset, shift) in enumerate(zip(datasets, shifts, strict=True)):
            axis.plot(
                place + side + shift,
                wide[dataset],
                linestyle="none",
                marker=MARKERS[index % len(MARKERS)],
                color=COLOURS[index % len(COLOURS)],
                markeredgecolor="white",
                markeredgewidth=0.6,
                markersize=6,
                zorder=3,
                label=label(dataset, DATASETS) if form == "core" else None,
            )
    axis.axhline(0, color=INK, linewidth=0.9)
    axis.set_xticks(place, [label(name, BACKBONES) for name in models])
    axis.set_xlim(-0.6, len(models) - 0.4)
    axis.tick_params(axis="x", length=0, labelsize=8)
    axis.margins(y=0.12)

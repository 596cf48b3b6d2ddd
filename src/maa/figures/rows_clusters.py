"""Attention rows: the map of a model's heads, with the sink and without."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import MODELS, TEXTS, label, ordered
from maa.figures.style import MARKERS, styled

NEEDS = needs("rows_clusters")
MEASURE = "js-smoothed"
CONVENTIONS = {"keep": "with the sinks", "drop": "without"}


def table(clusters_heads: pd.DataFrame) -> pd.DataFrame:
    """Return the heads' places in the map of Clark et al.'s dissimilarity.

    Args:
        clusters_heads: the heads' places by dissimilarity and convention.
    """
    return clusters_heads[clusters_heads["measure"] == MEASURE].reset_index(drop=True)


def draw(heads: pd.DataFrame) -> Figure:
    """Draw a row a model (its first text), a column a convention; colour: the sink."""
    models = ordered(set(heads["backbone"]), MODELS)
    with styled():
        figure = Figure(figsize=(7.2, 3.2 * len(models)))
        axes = figure.subplots(len(models), len(CONVENTIONS), squeeze=False)
        for line, model in zip(axes, models, strict=True):
            rows = heads[heads["backbone"] == model]
            text = ordered(set(rows["dataset"]), TEXTS)[0]
            rows = rows[rows["dataset"] == text]
            for axis, (convention, words) in zip(
                line, CONVENTIONS.items(), strict=True
            ):
                part = rows[rows["convention"] == convention]
                for number, (_, members) in enumerate(part.groupby("cluster")):
                    picture = axis.scatter(
                        members["x"],
                        members["y"],
                        c=members["share"],
                        marker=MARKERS[number % len(MARKERS)],
                        s=20,
                        vmin=0,
                        vmax=1,
                        cmap="viridis",
                    )
                axis.set_title(f"{label(model, MODELS)}, {words}")
                axis.set(xticks=[], yticks=[])
                axis.set_aspect("equal", "datalim")
            line[0].set_ylabel(label(text, TEXTS))
            figure.colorbar(picture, ax=list(line), label="Share of the sinks")
    return figure

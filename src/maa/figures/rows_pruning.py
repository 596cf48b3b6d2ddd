"""Attention rows: what it costs to take heads out, by the criterion they go by."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import MODELS, TEXTS, label
from maa.figures.style import COLOURS, INK, styled

NEEDS = needs("rows_pruning")
CRITERIA = {
    "sink_share": "Share of the sinks",
    "entropy": "Entropy",
    "content_entropy": "Entropy of\nthe content",
    "random": "At random",
}


def table(pruning: pd.DataFrame) -> pd.DataFrame:
    """Return the perplexities, and how many times that of the whole model they are.

    Args:
        pruning: perplexity of every variant.
    """
    none = pruning[pruning["criterion"] == "none"]
    whole = none.set_index(["dataset", "backbone"])["perplexity"].rename("whole")
    rows = pruning[pruning["criterion"] != "none"]
    rows = rows.join(whole, on=["dataset", "backbone"])
    return rows.assign(times=rows["perplexity"] / rows["whole"]).reset_index(drop=True)


def draw(pruned: pd.DataFrame) -> Figure:
    """Draw a panel a text and model, two bars a criterion, a point a random draw."""
    cells = list(pruned.groupby(["backbone", "dataset"], sort=False))
    with styled():
        figure = Figure(figsize=(7.2, 3.4))
        axes = figure.subplots(1, len(cells), squeeze=False, sharey=True)[0]
        for axis, ((model, text), rows) in zip(axes, cells, strict=True):
            for number, side in enumerate(("highest", "lowest")):
                part = rows[rows["side"] == side]
                places = [
                    list(CRITERIA).index(name) + 0.4 * number
                    for name in part["criterion"]
                ]
                times, words = part["times"], f"{side} out"
                axis.bar(places, times, 0.38, color=COLOURS[number], label=words)
            drawn = rows.loc[rows["criterion"] == "random", "times"]
            axis.plot([3.2] * len(drawn), drawn, "o", color=INK, label="draws")
            axis.axhline(1, color=INK, linewidth=0.7)
            axis.set(
                yscale="log",
                title=f"{label(str(model), MODELS)}, {label(str(text), TEXTS)}",
            )
            axis.set_xticks([i + 0.2 for i in range(len(CRITERIA))], CRITERIA.values())
        axes[0].set_ylabel("Perplexity, times the whole model's")
        axes[0].legend()
    return figure

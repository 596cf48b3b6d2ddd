"""Another norm in a trained model: its perplexity, as it is and trained with it."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import MODELS, TEXTS, label
from maa.figures.style import COLOURS, MARKERS, styled

NEEDS = needs("rows_switching")


def table(switching: pd.DataFrame) -> pd.DataFrame:
    """Return the perplexity of each power, before and after training.

    Args:
        switching: perplexity by power and number of steps.
    """
    return switching.sort_values(["dataset", "backbone", "steps", "p"]).reset_index(
        drop=True
    )


def draw(switched: pd.DataFrame) -> Figure:
    """Draw a panel a text and model, a line a number of training steps."""
    cells = list(switched.groupby(["backbone", "dataset"], sort=False))
    with styled():
        figure = Figure(figsize=(7.2, 3.2))
        axes = figure.subplots(1, len(cells), squeeze=False, sharey=True)[0]
        for axis, ((model, text), rows) in zip(axes, cells, strict=True):
            for number, (steps, part) in enumerate(rows.groupby("steps")):
                axis.plot(
                    part["p"],
                    part["perplexity"],
                    marker=MARKERS[number],
                    color=COLOURS[number],
                    label=f"{steps!s} steps" if steps else "as it is",
                )
            axis.set(yscale="log", xlabel="p of the norm")
            axis.set_title(f"{label(str(model), MODELS)}, {label(str(text), TEXTS)}")
        axes[0].set_ylabel("Perplexity")
        axes[0].legend()
    return figure

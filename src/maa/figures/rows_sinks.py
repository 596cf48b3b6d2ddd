"""Attention rows: what the sinks hold, and the entropy in channels, by layer."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import MODELS, TEXTS, label, ordered
from maa.figures.style import COLOURS, styled

NEEDS = needs("rows_sinks")
CHANNELS = {
    "entropy_content": "within the content",
    "entropy_sinks": "within the sinks",
    "entropy_binary": "between sinks and content",
}
_KEYS = ["backbone", "dataset", "layer"]


def table(measured: pd.DataFrame) -> pd.DataFrame:
    """Return means over heads and passages.

    Args:
        measured: measures of every head on every passage.

    Returns:
        One row a (model, text, layer): ``sink_share``, ``lowest`` and ``highest`` (of
        its heads'), and the channels of the entropy, nats.
    """
    heads = measured.groupby([*_KEYS, "head"])[["sink_share", *CHANNELS]].mean()
    layers = heads.groupby(level=_KEYS).mean()
    shares = heads["sink_share"].groupby(level=_KEYS)
    layers["lowest"], layers["highest"] = shares.min(), shares.max()
    return layers.reset_index()


def draw(layers: pd.DataFrame) -> Figure:
    """Draw a column a model: sinks above (a line a text), entropy below (all texts)."""
    models = ordered(set(layers["backbone"]), MODELS)
    with styled():
        figure = Figure(figsize=(7.2, 4.8))
        axes = figure.subplots(2, len(models), squeeze=False, sharex="col")
        for (above, below), model in zip(axes.T, models, strict=True):
            rows = layers[layers["backbone"] == model]
            for number, text in enumerate(ordered(set(rows["dataset"]), TEXTS)):
                part = rows[rows["dataset"] == text]
                colour = COLOURS[number % len(COLOURS)]
                above.plot(
                    part["layer"],
                    part["sink_share"],
                    color=colour,
                    label=label(text, TEXTS),
                )
                above.fill_between(
                    part["layer"],
                    part["lowest"],
                    part["highest"],
                    color=colour,
                    alpha=0.15,
                    linewidth=0,
                )
            above.set(title=label(model, MODELS), ylim=(0, 1))
            means = rows.groupby("layer")[list(CHANNELS)].mean()
            bottom = np.zeros(len(means))
            for (channel, name), colour in zip(CHANNELS.items(), COLOURS, strict=False):
                height = means[channel].to_numpy()
                below.bar(means.index, height, 0.8, bottom, color=colour, label=name)
                bottom += height
            below.set_xlabel("Layer")
            below.locator_params(axis="x", integer=True)
        axes[0, 0].set_ylabel("Share of the sinks\n(band: single heads)")
        axes[1, 0].set_ylabel("Entropy of a row (nats)")
        axes[0, 0].legend()
        axes[1, 0].legend()
    return figure

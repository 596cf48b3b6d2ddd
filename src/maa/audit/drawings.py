"""Pictures of an audit: maps of heads, and the entropy of layers in channels."""

import base64
import io

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from maa.figures.style import COLOURS, styled

MAPS = {
    "sink_share": "Attention that the sinks hold",
    "diagonal_share": "Attention to the own token",
    "entropy": "Entropy (nats)",
    "content_entropy": "Entropy of the content alone (nats)",
    "entropy_sink_part": "Share of the entropy outside the content",
    "gain": "Gain of mass-aware attention",
}
CHANNELS = {
    "entropy_content": "within the content",
    "entropy_sinks": "within the sinks",
    "entropy_binary": "between sinks and content",
}


def head_maps(heads: pd.DataFrame) -> Figure:
    """Draw each measure of `MAPS` as a map of layers and heads."""
    depth = heads["layer"].nunique()
    with styled():
        figure = Figure(figsize=(10, 1.2 + 2 * max(1.6, depth * 0.11)))
        axes = figure.subplots(2, 3)
        for axis, (measure, title) in zip(axes.flat, MAPS.items(), strict=True):
            grid = heads.pivot(index="layer", columns="head", values=measure)
            shares = measure.endswith(("share", "part"))
            picture = axis.imshow(
                grid.to_numpy(),
                aspect="auto",
                cmap="viridis",
                vmin=0 if shares else None,
                vmax=1 if shares else None,
            )
            axis.set(title=title, xlabel="Head", ylabel="Layer")
            axis.grid(False)
            axis.locator_params(integer=True)
            figure.colorbar(picture, ax=axis)
    return figure


def layer_channels(heads: pd.DataFrame) -> Figure:
    """Draw each layer's entropy in channels, and its sinks' share beside."""
    layers = heads.groupby("layer")[[*CHANNELS, "sink_share"]].mean()
    with styled():
        figure = Figure(figsize=(10, 3.4))
        left, right = figure.subplots(1, 2)
        bottom = np.zeros(len(layers))
        for (column, label), colour in zip(CHANNELS.items(), COLOURS, strict=False):
            height = layers[column].to_numpy()
            left.bar(layers.index, height, 0.8, bottom, color=colour, label=label)
            bottom += height
        left.set(title="Entropy of a row (nats)", xlabel="Layer")
        left.legend()
        heads_of = heads.sort_values("layer")
        right.plot(heads_of["layer"], heads_of["sink_share"], ".", color=COLOURS[4])
        right.plot(layers.index, layers["sink_share"], color=COLOURS[0])
        right.set(title="Attention that the sinks hold", xlabel="Layer", ylim=(0, 1))
        for axis in (left, right):
            axis.locator_params(axis="x", integer=True)
    return figure


def embedded(figure: Figure) -> str:
    """Return a figure as an address that holds the picture itself."""
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()

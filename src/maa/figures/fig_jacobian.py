"""The Jacobian of random temporal attention by path, over lengths, with its bounds.

Computed, without data: Hankemeier and Schilling, arXiv 2602.10956, section 3.
"""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.attention.temporal.scaling import Setting, experiment
from maa.figures.catalogue import needs
from maa.figures.style import COLOURS, MARKERS, styled

NEEDS = needs("fig_jacobian")
LENGTHS = (8, 16, 32, 64, 128, 256)
SEEDS = (0, 1, 2)
SETTINGS = {"plain": Setting(), "mask": Setting(penalty=-math.inf)}
# quantity: its name for readers, and its colour
NAMES = {
    "off_diagonal": ("Mean over j ≠ i", 0),
    "off_diagonal_largest": ("Largest j ≠ i", 1),
    "off_diagonal_value": ("Value path, mean over j ≠ i", 2),
    "diagonal": ("All paths", 5),
    "query": ("Query path", 3),
    "diagonal_attention": ("Value and key path", 4),
}


def table() -> pd.DataFrame:
    """Measure random layers, plain and with the diagonal masked.

    Returns:
        The table of `maa.attention.temporal.scaling.experiment`, with ``setting``
        (``plain`` or ``mask``) in front.
    """
    parts = [
        experiment(setting, LENGTHS, SEEDS).assign(setting=name)
        for name, setting in SETTINGS.items()
    ]
    whole = pd.concat(parts, ignore_index=True)
    whole.insert(0, "setting", whole.pop("setting"))
    return whole


def draw(points: pd.DataFrame) -> Figure:
    """Draw norms off and on the diagonal, and how many rows break their bounds."""
    keys = ["setting", "quantity", "T"]
    means = points.groupby(keys)[["value", "bound", "exceeds"]].mean()
    plain, mask = means.loc["plain"], means.loc["mask"]
    with styled():
        figure = Figure(figsize=(9.6, 3.6))
        off, on, broken = figure.subplots(1, 3)
        _draw_norms(off, plain, ("off_diagonal_largest", "off_diagonal"))
        off.set_title("Other time steps")
        off.set_ylabel("Norm of the Jacobian's block (spectral)")
        _draw_norms(on, plain, ("diagonal", "query", "diagonal_attention"))
        _draw_masked(on, mask)
        on.set_title("Own time step")
        _draw_broken(broken, plain)
        for axis in (off, on, broken):
            _lengths(axis)
    return figure


def _draw_norms(axis: Axes, means: pd.DataFrame, quantities: tuple[str, ...]) -> None:
    """Draw norms as points on a line, the paper's bounds dashed in their colours."""
    for quantity in quantities:
        label, colour = NAMES[quantity]
        rows = means.loc[quantity]
        axis.plot(
            rows.index,
            rows["value"],
            color=COLOURS[colour],
            marker=MARKERS[colour],
            label=label,
        )
        # One bound serves the mean and the largest entry alike.
        if quantity != "off_diagonal_largest":
            axis.plot(rows.index, rows["bound"], "--", color=COLOURS[colour], lw=1.2)
    axis.set_yscale("log")
    axis.legend(loc="lower left", title="Dashed: the bound")


def _draw_masked(axis: Axes, means: pd.DataFrame) -> None:
    """Draw the query path under the mask, where its bound is 0."""
    _, colour = NAMES["query"]
    rows = means.loc["query"]
    axis.plot(
        rows.index,
        rows["value"],
        linestyle="none",
        marker="o",
        markerfacecolor="none",
        markersize=8,
        color=COLOURS[colour],
        label="Query path, diagonal masked",
    )
    axis.legend(loc="lower left", title="Dashed: the bound")


def _draw_broken(axis: Axes, means: pd.DataFrame) -> None:
    for quantity, (label, colour) in NAMES.items():
        where = "" if quantity.startswith("off") else ", j = i"
        axis.plot(
            means.loc[quantity].index,
            100 * means.loc[quantity]["exceeds"],
            color=COLOURS[colour],
            marker=MARKERS[colour],
            label=label + where,
        )
    axis.set_title("Rows above their bound")
    axis.set_ylabel("Rows i whose norm is above it (%)")
    axis.set_ylim(-4, 104)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _lengths(axis: Axes) -> None:
    axis.set_xscale("log")
    axis.set_xticks(list(LENGTHS), [str(n) for n in LENGTHS])
    axis.minorticks_off()
    axis.set_xlabel("Length of the sequence T")

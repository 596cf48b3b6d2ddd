"""The Jacobian of random temporal attention by path, over lengths, with its bounds.

Computed, without data: Hankemeier and Schilling, arXiv 2602.10956, section 3.
"""

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from maa.attention.temporal.scaling import Setting, experiment
from maa.figures.catalogue import needs
from maa.figures.style import COLOURS, MARKERS, SOFT, styled

NEEDS = needs("fig_jacobian")
LENGTHS = (8, 16, 32, 64, 128, 256)
SEEDS = (0, 1, 2)
SETTINGS = {"plain": Setting(), "mask": Setting(penalty=-math.inf)}
# quantity: its name for readers, and its colour
NAMES = {
    "off_diagonal": ("All paths, mean over j ≠ i", 0),
    "off_diagonal_largest": ("All paths, largest j ≠ i", 1),
    "off_diagonal_value": ("Value path, mean over j ≠ i", 2),
    "diagonal": ("All paths, j = i", 5),
    "query": ("Query path, j = i", 3),
    "diagonal_attention": ("Value and key path, j = i", 4),
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
    plain, mask = (_means(points[points["setting"] == name]) for name in SETTINGS)
    with styled():
        figure = Figure(figsize=(7.2, 3.9))
        off, on, broken = figure.subplots(1, 3)
        _draw_norms(off, plain, ("off_diagonal_largest", "off_diagonal"))
        off.set_title("Other time steps")
        off.set_ylabel("Spectral norm of the Jacobian's block")
        _draw_norms(on, plain, ("diagonal", "query", "diagonal_attention"))
        _draw_masked(on, mask)
        on.set_title("Own time step")
        _draw_broken(broken, plain)
        for axis in (off, on, broken):
            _lengths(axis)
        figure.legend(handles=_legend(), loc="outside lower center", ncols=3)
    return figure


def _means(points: pd.DataFrame) -> pd.DataFrame:
    return points.groupby(["quantity", "T"])[["value", "bound", "exceeds"]].mean()


def _draw_norms(axis: Axes, means: pd.DataFrame, quantities: tuple[str, ...]) -> None:
    """Draw norms as points on a line, the paper's bounds dashed in their colours."""
    for quantity in quantities:
        _, colour = NAMES[quantity]
        rows = means.loc[quantity]
        axis.plot(
            rows.index,
            rows["value"],
            color=COLOURS[colour],
            marker=MARKERS[colour],
        )
        # One bound serves the mean and the largest entry alike.
        if quantity != "off_diagonal_largest":
            axis.plot(
                rows.index, rows["bound"], "--", color=COLOURS[colour], linewidth=1.2
            )
    axis.set_yscale("log")


def _draw_masked(axis: Axes, means: pd.DataFrame) -> None:
    """Draw the query path under the mask, where its bound is 0."""
    rows = means.loc["query"]
    axis.plot(rows.index, rows["value"], **_ring())


def _draw_broken(axis: Axes, means: pd.DataFrame) -> None:
    for quantity, (_, colour) in NAMES.items():
        axis.plot(
            means.loc[quantity].index,
            100 * means.loc[quantity]["exceeds"],
            color=COLOURS[colour],
            marker=MARKERS[colour],
        )
    axis.set_title("Rows above their bound")
    axis.set_ylabel("Rows i (%)")
    axis.set_ylim(-4, 104)


def _legend() -> list[Line2D]:
    """Return one legend's lines for all panels, which share their colours."""
    lines = [
        Line2D([], [], color=COLOURS[colour], marker=MARKERS[colour], label=label)
        for label, colour in NAMES.values()
    ]
    return [
        *lines,
        Line2D([], [], **_ring(), label="Query path, diagonal masked"),
        Line2D(
            [], [], color=SOFT, linestyle="--", linewidth=1.2, label="The paper's bound"
        ),
    ]


def _ring() -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": "o",
        "markerfacecolor": "none",
        "markersize": 8,
        "color": COLOURS[NAMES["query"][1]],
    }


def _lengths(axis: Axes) -> None:
    axis.set_xscale("log")
    axis.set_xticks(list(LENGTHS), [str(n) for n in LENGTHS])
    axis.minorticks_off()
    axis.set_xlabel("Length of the sequence T")

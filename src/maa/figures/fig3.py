"""Fig. 3: linear recovery from Z and from (Z, c), with softmax and with mass."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.rows import require
from maa.figures.style import COLOURS, INK, MARKERS, SOFT, styled

NEEDS = needs("fig3")
INPUTS = {"shared_linear": "Z", "beyond_linear": "(Z, c)"}
ARMS = {"baseline": "Softmax", "treatment": "MAA"}
_COLUMNS = ["inputs", "baseline", "treatment", "change", "low", "high", "cells"]


def table(aggregate: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return mean linear R2 of both arms from both inputs.

    Args:
        aggregate: the table of aggregate endpoints.
        domain: which domain's endpoints to take.

    Returns:
        One row an input of the probe: both means, their difference and its interval.

    Raises:
        UserError: if one of the two is absent.
    """
    parts = [
        require(aggregate, "Fig. 3", domain=domain, endpoint=endpoint).assign(
            inputs=inputs
        )
        for endpoint, inputs in INPUTS.items()
    ]
    return pd.concat(parts, ignore_index=True)[_COLUMNS]


def draw(audit: pd.DataFrame) -> Figure:
    """Draw the four means, and the two changes with their intervals."""
    with styled():
        figure = Figure(figsize=(7.2, 3.1))
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _draw_means(left, audit)
        _draw_changes(right, audit)
    return figure


def _draw_means(axis: Axes, audit: pd.DataFrame) -> None:
    place = np.arange(len(audit))
    for index, (arm, name) in enumerate(ARMS.items()):
        shift = (index - 0.5) * 0.36
        bars = axis.bar(
            place + shift,
            audit[arm],
            width=0.34,
            color=COLOURS[(4, 0)[index]],
            edgecolor="white",
            hatch=("", "//")[index],
            label=name,
        )
        axis.bar_label(bars, fmt="%.3f", padding=2, fontsize=8.5)
    axis.set_xticks(place, [f"Probe reads {name}" for name in audit["inputs"]])
    axis.tick_params(axis="x", length=0)
    axis.set_ylabel("Held-out linear R²")
    axis.set_title("Means over cells")
    axis.margins(y=0.22)
    axis.legend(loc="upper left", ncols=2, columnspacing=1.0, handlelength=1.4)


def _draw_changes(axis: Axes, audit: pd.DataFrame) -> None:
    place = np.arange(len(audit))
    error = [audit["change"] - audit["low"], audit["high"] - audit["change"]]
    axis.errorbar(
        place,
        audit["change"],
        yerr=np.array(error),
        fmt=MARKERS[0],
        color=INK,
        ecolor=SOFT,
        capsize=4,
        markersize=6,
    )
    for x, change in zip(place, audit["change"], strict=True):
        axis.annotate(
            f"{change:+.3f}".replace("-", "\u2212"),
            (x, change),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    axis.axhline(0, color=INK, linewidth=0.9)
    axis.set_xticks(place, audit["inputs"])
    axis.set_xlim(-0.5, len(audit) - 0.35)
    axis.tick_params(axis="x", length=0)
    axis.set_title("Change, 95 % interval")

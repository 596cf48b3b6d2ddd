"""Controls: how much of MAA's gain a scale without attention explains.

A forest plot: for each statistic and backbone the gain of MAA, and what a uniform
scale, a scale by the number of keys, and that number given to the probe explain of it.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, STATISTICS, label, ordered
from maa.figures.rows import matching, require
from maa.figures.style import COLOURS, INK, styled

NEEDS = needs("controls")
MEAN = "mean"  # over the statistics
PANELS = {
    "preferential_attachment": STATISTICS["preferential_attachment"],
    "density": STATISTICS["density"],
    "pair_frequency": STATISTICS["pair_frequency"],
    "recency": STATISTICS["recency"],
    "granularity": STATISTICS["granularity"],
    MEAN: "Mean of the statistics",
}
ALL = "all"
GAIN = "gain"
GRID = "gain_grid"
SERIES = {
    GAIN: "MAA's gain, representative cells",
    "uniform": "Uniform scale gives of it",
    "length": "Scale by number of keys gives of it",
    GRID: "MAA's gain, whole grid",
    "log_n": "Gone when both probes read log n",
}
_LOOKS = {
    GAIN: ("o", INK, INK),
    "uniform": ("s", COLOURS[1], COLOURS[1]),
    "length": ("^", COLOURS[2], COLOURS[2]),
    GRID: ("o", INK, "white"),
    "log_n": ("D", COLOURS[3], COLOURS[3]),
}
_COLUMNS = ["target", "backbone", "series", "value", "low", "high", "cells"]


def table(shares: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the gains and what the controls explain of them.

    Args:
        shares: the table of shares.
        domain: which domain's rows to take.

    Returns:
        One row a (target, backbone, series) with its interval; the backbone ``all``
        stands for all of them, and ``cells`` is the number of cells behind a value. The
        gain is that of the cells on which the scales were run; ``log_n`` rests on the
        whole grid, whose own gain is the series ``gain_grid``.

    Raises:
        UserError: if none of the statistics has a share.
    """
    rows = require(shares, "The figure of controls", domain=domain, target=list(PANELS))
    rows = matching(rows, scope=["backbone", "all"])
    rows = rows.assign(backbone=rows["backbone"].where(rows["scope"] != "all", ALL))
    explained = _series(rows, "explained").assign(series=rows["control"])
    here = _series(matching(rows, control="uniform"), "gain").assign(series=GAIN)
    grid = _series(matching(rows, control="log_n"), "gain").assign(series=GRID)
    return pd.concat([here, grid, explained], ignore_index=True)[_COLUMNS]


def draw(explained: pd.DataFrame) -> Figure:
    """Draw one panel a statistic: backbones below each other, four marks each."""
    backbones = [*ordered(set(explained["backbone"]) - {ALL}, BACKBONES), ALL]
    panels = {name: title for name, title in PANELS.items() if _shown(explained, name)}
    rows = (len(panels) + 2) // 3
    with styled():
        figure = Figure(figsize=(7.2, 0.9 + 0.55 * rows * (len(backbones) + 1)))
        axes = figure.subplots(rows, 3, sharey=True, squeeze=False).ravel()
        for axis, (target, title) in zip(axes, panels.items(), strict=False):
            part = explained[explained["target"] == target]
            _draw_panel(axis, part, backbones)
            axis.set_title(title)
        for axis in axes[len(panels) :]:
            axis.axis("off")
        for axis in axes[-3:]:
            axis.set_xlabel("Change of linear R²")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _series(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    return rows.assign(
        value=rows[name], low=rows[f"{name}_low"], high=rows[f"{name}_high"]
    )


def _shown(explained: pd.DataFrame, target: str) -> bool:
    return bool((explained["target"] == target).any())


def _draw_panel(axis: Axes, rows: pd.DataFrame, backbones: list[str]) -> None:
    shifts = np.linspace(-0.34, 0.34, len(SERIES))
    for lane in range(0, len(backbones), 2):
        axis.axhspan(lane - 0.5, lane + 0.5, color="#f2f4f7", linewidth=0, zorder=0)
    for series, shift in zip(SERIES, shifts, strict=True):
        marker, colour, face = _LOOKS[series]
        part = rows[rows["series"] == series].set_index("backbone").reindex(backbones)
        low = part["value"] - part["low"]
        high = part["high"] - part["value"]
        axis.errorbar(
            part["value"],
            np.arange(len(backbones)) + shift,
            xerr=np.array([low, high]).clip(0),
            fmt=marker,
            color=colour,
            markerfacecolor=face,
            markersize=4.6 if marker == "o" else 3.8,
            elinewidth=1.4 if marker == "o" else 1.0,
            label=SERIES[series],
        )
    axis.axvline(0, color=INK, linewidth=0.8)
    names = [label(name, BACKBONES) for name in backbones]
    axis.set_yticks(range(len(backbones)), names)
    axis.set_ylim(len(backbones) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", visible=True)
    axis.locator_params(axis="x", nbins=4)

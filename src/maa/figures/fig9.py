"""Fig. 9: MAA with its output L2-normalised, against both softmax baselines.

For one head, an output divided by its L2 norm is the same whatever p is, since the gain
cancels. So against a baseline that is normalised alike, a backbone with a single head
must show no effect at all; the figure marks the effects that are zero.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import by_model, cell_label
from maa.figures.rows import matching, require
from maa.figures.style import COLOURS, INK, MARKERS, SOFT, styled

NEEDS = needs("fig9")
PANELS = {
    "auc": "AUC",
    "shared_linear": "Shared linear R²",
    "context_margin": "Context margin (logits)",
}
ROWS = {
    ("p1.00", "p1.10"): "MAA\nvs softmax",
    ("p1.00", "p1.10-l2"): "Normalised MAA\nvs softmax",
    ("p1.00-l2", "p1.10-l2"): "Normalised MAA\nvs norm. softmax",
    ("p1.00", "p1.00-l2"): "Norm. softmax\nvs softmax",
}
MEAN = "mean"
ZERO = 1e-9  # rounding differs between arms that are equal on paper
_RING: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 9,
    "markerfacecolor": "none",
    "markeredgecolor": INK,
    "markeredgewidth": 0.9,
}


def table(
    contrasts: pd.DataFrame, contrast_cells: pd.DataFrame, domain: str = "ctdg"
) -> pd.DataFrame:
    """Return the effects of normalising the output, by cell and on average.

    Args:
        contrasts: the table of contrasts.
        contrast_cells: the table of contrasts by cell.
        domain: which domain's rows to take.

    Returns:
        One row a (baseline, treatment, endpoint, series): a series is ``mean``, with
        its interval, or ``backbone/dataset``; ``zero`` says that the effect is none.

    Raises:
        UserError: if one of the comparisons was not made.
    """
    parts = []
    for baseline, treatment in ROWS:
        wanted = {
            "domain": domain,
            "group": "controls",
            "baseline": baseline,
            "treatment": treatment,
            "target": "",
            "endpoint": list(PANELS),
        }
        cells = require(contrast_cells, "Fig. 9", **wanted)
        series = cells["backbone"] + "/" + cells["dataset"]
        parts.append(cells.assign(series=series, change=cells["effect"]))
        means = matching(contrasts, backbone="", **wanted)
        parts.append(means.assign(series=MEAN))
    columns = ["baseline", "treatment", "endpoint", "series", "change", "low", "high"]
    both = pd.concat(parts, ignore_index=True)[columns]
    return both.assign(zero=both["change"].abs() <= ZERO)


def draw(effects: pd.DataFrame) -> Figure:
    """Draw one panel a quantity, one row a comparison; rings are effects of zero."""
    cells = sorted(set(effects["series"]) - {MEAN}, key=by_model)
    with styled():
        figure = Figure(figsize=(7.2, 4.3))
        axes = figure.subplots(1, len(PANELS), sharey=True)
        for axis, (endpoint, title) in zip(axes, PANELS.items(), strict=True):
            _draw_panel(axis, effects[effects["endpoint"] == endpoint], cells)
            axis.set_title(title)
        axes[0].set_yticks(range(len(ROWS)), list(ROWS.values()))
        axes[0].set_ylim(len(ROWS) - 0.45, -0.55)
        axes[1].set_xlabel("Effect (points: cells, bars: mean with 95 % interval)")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw_panel(axis: Axes, effects: pd.DataFrame, cells: list[str]) -> None:
    lanes = {key: row for row, key in enumerate(ROWS)}
    keys = zip(effects["baseline"], effects["treatment"], strict=True)
    effects = effects.assign(lane=[lanes[key] for key in keys])
    _draw_means(axis, effects[effects["series"] == MEAN])
    shifts = np.linspace(-0.24, 0.24, len(cells)) if len(cells) > 1 else [0.0]
    for index, (name, shift) in enumerate(zip(cells, shifts, strict=True)):
        rows = effects[effects["series"] == name]
        _draw_cell(axis, rows.assign(lane=rows["lane"] + shift), index, name)
    axis.plot([], [], label="Effect of zero", **_RING)
    axis.axvline(0, color=INK, linewidth=0.9)
    axis.use_sticky_edges = False  # keep the rings at zero off the frame
    axis.margins(x=0.08)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", visible=True)
    axis.locator_params(axis="x", nbins=4)
    axis.tick_params(axis="y", length=0)


def _draw_means(axis: Axes, means: pd.DataFrame) -> None:
    change = means["change"]
    axis.barh(means["lane"], change, height=0.72, color="#dfe5ec", zorder=1)
    axis.errorbar(
        change,
        means["lane"],
        xerr=np.array([change - means["low"], means["high"] - change]).clip(0),
        fmt="none",
        ecolor=SOFT,
        capsize=3,
        zorder=2,
    )


def _draw_cell(axis: Axes, rows: pd.DataFrame, index: int, name: str) -> None:
    axis.plot(
        rows["change"],
        rows["lane"],
        linestyle="none",
        marker=MARKERS[index],
        markersize=5,
        color=COLOURS[index],
        label=cell_label(name),
        zorder=3,
    )
    zero = rows[rows["zero"]]
    axis.plot(zero["change"], zero["lane"], zorder=4, **_RING)

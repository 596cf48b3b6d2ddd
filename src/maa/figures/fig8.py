"""Fig. 8: fixed powers on the representative cells, with the core grid beside."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import by_model, cell_label, power
from maa.figures.rows import matching, require
from maa.figures.style import COLOURS, INK, MARKERS, styled

NEEDS = needs("fig8")
PANELS = {
    "auc": "AUC",
    "shared_linear": "Shared linear R²",
    "context_margin": "Context margin (logits)",
}
MEANS = {"controls": "Mean, these cells", "core": "Mean, whole grid"}
BASELINE = "p1.00"
_COLUMNS = ["endpoint", "series", "p", "change", "low", "high", "cells"]


def table(
    contrasts: pd.DataFrame, contrast_cells: pd.DataFrame, domain: str = "ctdg"
) -> pd.DataFrame:
    """Return the changes from p = 1 to each fixed power.

    Args:
        contrasts: the table of contrasts.
        contrast_cells: the table of contrasts by cell.
        domain: which domain's rows to take.

    Returns:
        One row a (endpoint, series, p). A series is ``controls`` or ``core`` for the
        means of these groups, with their intervals, or ``backbone/dataset`` for one
        representative cell. Each starts with p = 1 and no change.

    Raises:
        UserError: if an endpoint was not compared on the representative cells.
    """
    wanted = {"domain": domain, "baseline": BASELINE, "target": ""}
    parts = []
    for endpoint in PANELS:
        single = _powers(
            require(
                contrast_cells, "Fig. 8", endpoint=endpoint, group="controls", **wanted
            )
        )
        series = single["backbone"] + "/" + single["dataset"]
        parts.append(single.assign(series=series, change=single["effect"], cells=1))
        for group in MEANS:
            means = matching(
                contrasts, endpoint=endpoint, group=group, backbone="", **wanted
            )
            parts.append(_powers(means).assign(series=group))
    points = pd.concat(parts, ignore_index=True)[_COLUMNS]
    start = points[["endpoint", "series", "cells"]].drop_duplicates()
    start = start.assign(p=1.0, change=0.0, low=0.0, high=0.0)
    both = pd.concat([start, points], ignore_index=True)
    return both.sort_values(["endpoint", "series", "p"], ignore_index=True)


def draw(points: pd.DataFrame) -> Figure:
    """Draw one panel a quantity: cells thin, means thick."""
    cells = sorted(set(points["series"]) - set(MEANS), key=by_model)
    place = {p: index for index, p in enumerate(sorted(set(points["p"])))}
    points = points.assign(place=points["p"].map(place))
    with styled():
        figure = Figure(figsize=(7.2, 3.3))
        axes = figure.subplots(1, len(PANELS))
        for axis, (endpoint, title) in zip(axes, PANELS.items(), strict=True):
            _draw_panel(axis, points[points["endpoint"] == endpoint], cells)
            axis.set_title(title)
            axis.set_xlabel("Power p")
            axis.set_xticks(list(place.values()), [f"{p:g}" for p in place], size=8)
        axes[0].set_ylabel("Change from p = 1")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _powers(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the operators with a fixed power, with that power as ``p``."""
    rows = rows.assign(p=rows["treatment"].map(power).astype(float))
    return rows[rows["p"].notna()]


def _draw_panel(axis: Axes, points: pd.DataFrame, cells: list[str]) -> None:
    for index, name in enumerate(cells):
        rows = points[points["series"] == name]
        axis.plot(
            rows["place"],
            rows["change"],
            color=COLOURS[index + 1],
            marker=MARKERS[index + 1],
            linewidth=1.0,
            markersize=4,
            label=cell_label(name),
        )
    for group, colour, dashes in (
        ("controls", INK, "-"),
        ("core", COLOURS[0], (0, (4, 1.5))),
    ):
        rows = points[points["series"] == group]
        axis.fill_between(
            rows["place"],
            rows["low"],
            rows["high"],
            color=colour,
            alpha=0.1,
            linewidth=0,
        )
        axis.plot(
            rows["place"],
            rows["change"],
            color=colour,
            linestyle=dashes,
            linewidth=2.4,
            label=MEANS[group],
        )
    axis.axhline(0, color=INK, linewidth=0.9)

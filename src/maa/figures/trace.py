"""Trace: what is left of the scale on the way from the attention's output to Z."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, label, ordered
from maa.figures.rows import require
from maa.figures.style import COLOURS, INK, MARKERS, styled

NEEDS = needs("trace")
ARMS = {"p1.00": "Softmax, p = 1", "p1.10": "MAA, p = 1.1"}
QUANTITIES = {
    ("norm_gain_correlation", ""): "Correlation of\nsize with gain",
    ("r2_linear", "preferential_attachment"): "R², preferential\nattachment",
    ("r2_linear", "density"): "R², density",
}
MEAN = "mean"
_KEYS = ["backbone", "operator", "order", "point", "measure", "target"]


def table(traces: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the traced quantities by backbone, operator and point.

    Args:
        traces: the traces of single runs.
        domain: which domain's runs to take.

    Returns:
        One row a (backbone, operator, point, quantity, data set), the mean over seeds;
        the data set ``mean`` has the mean over data sets. ``order`` counts the points
        from the attention's output on.

    Raises:
        UserError: if one of the quantities was not traced.
    """
    parts: list[pd.DataFrame] = []
    for measure, target in QUANTITIES:
        rows = require(
            traces,
            "The figure of traces",
            domain=domain,
            measure=measure,
            target=target,
            operator=list(ARMS),
        )
        rows = rows[rows["order"] >= 0]
        single = rows.groupby([*_KEYS, "dataset"]).agg(value=("value", "mean"))
        means = single.groupby(level=_KEYS).agg(value=("value", "mean"))
        parts += [single.reset_index(), means.reset_index().assign(dataset=MEAN)]
    return pd.concat(parts, ignore_index=True)


def draw(traced: pd.DataFrame) -> Figure:
    """Draw one column a backbone, one row a quantity; thin lines are data sets."""
    backbones = ordered(set(traced["backbone"]), BACKBONES)
    with styled():
        figure = Figure(figsize=(7.2, 5.2))
        axes = figure.subplots(
            len(QUANTITIES),
            len(backbones),
            sharex="col",
            sharey="row",
            squeeze=False,
            width_ratios=[_width(traced, name) for name in backbones],
        )
        for line, (measure, target) in zip(axes, QUANTITIES, strict=True):
            rows = traced[(traced["measure"] == measure) & (traced["target"] == target)]
            for axis, backbone in zip(line, backbones, strict=True):
                _draw_panel(axis, rows[rows["backbone"] == backbone])
            line[0].set_ylabel(QUANTITIES[measure, target])
        for axis, backbone in zip(axes[0], backbones, strict=True):
            axis.set_title(label(backbone, BACKBONES))
        for axis, backbone in zip(axes[-1], backbones, strict=True):
            _name_points(axis, traced[traced["backbone"] == backbone])
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _draw_panel(axis: Axes, rows: pd.DataFrame) -> None:
    for index, (operator, name) in enumerate(ARMS.items()):
        arm = rows[rows["operator"] == operator].sort_values("order")
        colour = COLOURS[(1, 0)[index]]
        for dataset, part in arm.groupby("dataset"):
            mean = dataset == MEAN
            axis.plot(
                part["order"],
                part["value"],
                color=colour,
                linestyle=("--", "-")[index],
                linewidth=2.0 if mean else 0.7,
                alpha=1.0 if mean else 0.6,
                marker=MARKERS[index] if mean else None,
                label=f"{name} (thin: single data sets)" if mean else None,
            )
    axis.axhline(0, color=INK, linewidth=0.7)
    axis.margins(x=0.12)


def _width(traced: pd.DataFrame, backbone: str) -> int:
    """Return how much room the points of a backbone need."""
    return max(5, traced.loc[traced["backbone"] == backbone, "order"].nunique())


def _name_points(axis: Axes, rows: pd.DataFrame) -> None:
    points = rows.drop_duplicates("order").sort_values("order")
    names = [str(name).replace("_", " ") for name in points["point"]]
    axis.set_xticks(points["order"], names, rotation=90, size=7.5)

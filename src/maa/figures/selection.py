"""Selection: utility and recovery of each power, and what every fold chooses."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from maa.errors import UserError
from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, label, ordered
from maa.figures.rows import matching
from maa.figures.style import COLOURS, INK, MARKERS, SOFT, styled

NEEDS = needs("selection")
VARIANTS = {
    "leave-one-model-out": "Leave one model out",
    "leaky": "The same, on test",
    "per-cell": "Each cell for itself",
}
QUANTITIES = {
    "utility": "AUC, change\nfrom p = 1",
    "recovery": "Shared linear R²,\nchange from p = 1",
}
_COLUMNS = ["variant", "fold", "p", "utility", "recovery", "feasible", "chosen"]


def table(selection: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return utility and recovery of each power, as changes from p = 1.

    Args:
        selection: the table of selection.
        domain: which domain's folds to take.

    Returns:
        One row a (variant, fold, p), with what is ``feasible`` and what was ``chosen``.

    Raises:
        UserError: if no fold chose anything.
    """
    selection = matching(selection, domain=domain)
    if selection.empty:
        raise UserError(
            "the table of selection has no fold; selecting a power takes two backbones "
            "or more and two powers or more"
        )
    keys = ["variant", "fold"]
    base = selection[selection["p"] == 1.0].set_index(keys)["recovery"]
    before = pd.MultiIndex.from_frame(selection[keys])
    changes = selection.assign(
        utility=selection["utility"] - selection["utility_base"],
        recovery=selection["recovery"] - base.reindex(before).to_numpy(),
    )
    return changes[_COLUMNS].sort_values([*keys, "p"], ignore_index=True)


def draw(curves: pd.DataFrame) -> Figure:
    """Draw one column a variant: lines are folds, filled points are feasible."""
    variants = [name for name in VARIANTS if name in set(curves["variant"])]
    with styled():
        figure = Figure(figsize=(7.2, 4.4))
        axes = figure.subplots(
            len(QUANTITIES), len(variants), sharex=True, squeeze=False
        )
        for line, quantity in zip(axes, QUANTITIES, strict=True):
            for axis, variant in zip(line, variants, strict=True):
                rows = curves[curves["variant"] == variant]
                _draw_panel(axis, rows, quantity)
            line[0].set_ylabel(QUANTITIES[quantity])
        for axis, variant in zip(axes[0], variants, strict=True):
            axis.set_title(VARIANTS[variant])
        for axis in axes[-1]:
            axis.set_xlabel("Power p")
        handles = _legend(_backbones(curves))
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def _backbones(curves: pd.DataFrame) -> list[str]:
    return ordered({fold.split("/")[0] for fold in curves["fold"]}, BACKBONES)


def _draw_panel(axis: Axes, curves: pd.DataFrame, quantity: str) -> None:
    backbones = _backbones(curves)
    for fold, rows in curves.groupby("fold"):
        index = backbones.index(str(fold).split("/")[0])
        style: dict[str, Any] = {"color": COLOURS[index], "marker": MARKERS[index]}
        axis.plot(
            rows["p"],
            rows[quantity],
            linewidth=1.0,
            markersize=4,
            markerfacecolor="white",
            **style,
        )
        feasible, chosen = rows[rows["feasible"]], rows[rows["chosen"]]
        axis.plot(
            feasible["p"], feasible[quantity], linestyle="none", markersize=4, **style
        )
        axis.plot(
            chosen["p"],
            chosen[quantity],
            linestyle="none",
            marker="o",
            markersize=10,
            markerfacecolor="none",
            markeredgecolor=INK,
            markeredgewidth=1.1,
        )
    axis.axhline(0, color=INK, linewidth=0.8)
    powers = sorted(set(curves["p"]))
    axis.set_xticks(powers, [f"{p:g}" for p in powers], rotation=45)


def _legend(backbones: list[str]) -> list[Line2D]:
    named = [
        Line2D(
            [],
            [],
            color=COLOURS[index],
            marker=MARKERS[index],
            markersize=4,
            label=label(name, BACKBONES),
        )
        for index, name in enumerate(backbones)
    ]
    point: dict[str, Any] = {
        "linestyle": "none",
        "marker": "o",
        "markeredgecolor": SOFT,
    }
    filled = Line2D([], [], markerfacecolor=SOFT, label="Feasible", **point)
    hollow = Line2D([], [], markerfacecolor="white", label="Not feasible", **point)
    ring = Line2D(
        [],
        [],
        linestyle="none",
        marker="o",
        markersize=10,
        markerfacecolor="none",
        markeredgecolor=INK,
        label="Chosen",
    )
    return [*named, filled, hollow, ring]

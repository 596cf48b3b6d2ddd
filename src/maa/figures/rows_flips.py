"""Attention rows: how often the convention decides, beside rows that no model made."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import DISSIMILARITIES, MODELS, TEXTS, label, ordered
from maa.figures.style import COLOURS, INK, MARKERS, styled

NEEDS = needs("rows_flips")
SERIES = {
    "flips": "all heads",
    "flips.layer": "heads of one layer",
    "flips.expected": "no model (all heads' sinks)",
}


def table(facts: pd.DataFrame) -> pd.DataFrame:
    """Return the rates, percent.

    Args:
        facts: the numbers of the audit.

    Returns:
        One row a (text, model, dissimilarity, series): ``value``, ``low``, ``high``.
    """
    parts = []
    for series in SERIES:
        for measure in DISSIMILARITIES:
            rows = facts[facts["fact"] == f"{series}.{measure}"]
            parts.append(rows.assign(series=series, measure=measure))
    columns = ["dataset", "backbone", "measure", "series", "value", "low", "high"]
    return pd.concat(parts, ignore_index=True)[columns]


def draw(rates: pd.DataFrame) -> Figure:
    """Draw a panel a text and model, a group of points a dissimilarity."""
    cells = [
        (model, text)
        for model in ordered(set(rates["backbone"]), MODELS)
        for text in ordered(set(rates["dataset"]), TEXTS)
        if ((rates["backbone"] == model) & (rates["dataset"] == text)).any()
    ]
    with styled():
        figure = Figure(figsize=(7.2, 3.4))
        axes = figure.subplots(1, len(cells), squeeze=False, sharey=True)[0]
        for axis, (model, text) in zip(axes, cells, strict=True):
            here = (rates["backbone"] == model) & (rates["dataset"] == text)
            for number, (series, name) in enumerate(SERIES.items()):
                rows = rates[here & (rates["series"] == series)]
                rows = rows.set_index("measure").reindex(list(DISSIMILARITIES))
                places = [i + 0.22 * (number - 1) for i in range(len(rows))]
                below = rows["value"] - rows["low"]
                above = rows["high"] - rows["value"]
                axis.errorbar(
                    places,
                    rows["value"],
                    [below, above],
                    fmt=MARKERS[number],
                    color=COLOURS[number] if number < 2 else INK,
                    markerfacecolor="none" if number == 2 else None,
                    label=name,
                )
            axis.set_title(f"{label(model, MODELS)},\n{label(text, TEXTS)}")
            names = list(DISSIMILARITIES.values())
            axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axes[0].set_ylabel("Verdicts that flip (%)")
        axes[0].set_ylim(bottom=0)
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=3)
    return figure

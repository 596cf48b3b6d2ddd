"""Traffic: what each variant changes of the errors, seed by seed."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import DATASETS, FORECASTERS, VARIANTS, label, ordered
from maa.figures.rows import last_steps
from maa.figures.style import COLOURS, INK, MARKERS, styled

NEEDS = needs("traffic_gaps")


def table(traffic_gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the changes of MAE (last weights), percent, and their intervals.

    Args:
        traffic_gaps: differences between variants, paired over seeds.
    """
    shown = [f"mae_{step}" for step in last_steps(traffic_gaps)]
    rows = traffic_gaps[traffic_gaps["measure"].isin(shown)]
    rows = rows[~rows["variant"].isin(["none", "no-residual"])]
    scale = 100 / rows["baseline"]
    found = rows.assign(low=scale * rows["low"], high=scale * rows["high"])
    columns = ["dataset", "backbone", "variant", "measure", "seeds"]
    return found[[*columns, "percent", "low", "high", "p_holm"]].reset_index(drop=True)


def draw(changes: pd.DataFrame) -> Figure:
    """Draw a panel a data set and model; no residual is left out for its size."""
    cells = list(changes.groupby(["dataset", "backbone"], sort=False))
    variants = ordered(set(changes["variant"]), VARIANTS)
    across = min(3, len(cells))
    down = -(-len(cells) // across)
    with styled():
        figure = Figure(figsize=(7.2, 1.2 + 2.4 * down))
        axes = figure.subplots(down, across, squeeze=False, sharey=True)
        for axis in axes.flat[len(cells) :]:
            axis.axis("off")
        for axis, ((dataset, model), rows) in zip(axes.flat, cells, strict=False):
            for number, step in enumerate(last_steps(changes)):
                part = rows[rows["measure"] == f"mae_{step}"].set_index("variant")
                part = part.reindex(variants)
                places = [i + 0.22 * (number - 1) for i in range(len(variants))]
                spans = [part["percent"] - part["low"], part["high"] - part["percent"]]
                axis.errorbar(
                    part["percent"],
                    places,
                    xerr=[span.fillna(0) for span in spans],
                    fmt=MARKERS[number],
                    color=COLOURS[number],
                    label=f"step {step}",
                )
            axis.axvline(0, color=INK, linewidth=0.7)
            axis.set_title(
                f"{label(str(dataset), DATASETS)},\n{label(str(model), FORECASTERS)}"
            )
            axis.set_xlabel("Change of MAE (%)")
            names = [label(variant, VARIANTS) for variant in variants]
            axis.set_yticks(range(len(variants)), names)
        axes[0, 0].invert_yaxis()
        handles, words = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, words, loc="outside lower center", ncols=3)
    return figure

"""Traffic: the mean attention of the last block, by variant (the paper's Fig. 1)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from maa.domains.traffic.variants import named
from maa.figures.catalogue import needs
from maa.figures.labels import DATASETS, VARIANTS, label, ordered
from maa.figures.rows import require
from maa.figures.style import styled

NEEDS = needs("traffic_heatmaps")
POINT = "attention_last"
MODEL = "released"


def table(traces: pd.DataFrame) -> pd.DataFrame:
    """Return the mean weights of the released form's last block, over seeds.

    Args:
        traces: the traces of single runs.

    Returns:
        One row a (data set, variant, row, key): ``weight``, times T, so that even
        attention is 1.

    Raises:
        UserError: if the released form was not traced.
    """
    rows = require(
        named(traces[traces["domain"] == "traffic"]),
        "The figure of heat maps",
        point=POINT,
        measure="weight",
        backbone=MODEL,
    )
    means = rows.groupby(["dataset", "variant", "target"], sort=False)["value"].mean()
    found = means.reset_index(name="weight")
    found[["row", "key"]] = found.pop("target").str.split(",", expand=True).astype(int)
    steps = found.groupby(["dataset", "variant"])["key"].transform("max") + 1
    return found.assign(weight=found["weight"] * steps)


def draw(weights: pd.DataFrame) -> Figure:
    """Draw a row a data set, a column a variant; each map has a scale of its own."""
    datasets = ordered(set(weights["dataset"]), DATASETS)
    variants = ordered(set(weights["variant"]), VARIANTS)
    with styled():
        side = 0.75 * 7.2 / max(3, len(variants))
        figure = Figure(figsize=(7.2, (side + 0.75) * len(datasets) + 0.2))
        axes = figure.subplots(len(datasets), len(variants), squeeze=False)
        for line, dataset in zip(axes, datasets, strict=True):
            for axis, variant in zip(line, variants, strict=True):
                here = (weights["dataset"] == dataset) & (weights["variant"] == variant)
                part = weights[here].pivot(index="row", columns="key", values="weight")
                axis.set(xticks=[], yticks=[])
                axis.grid(False)
                if part.empty:
                    axis.axis("off")
                    continue
                grid = part.to_numpy()
                picture = axis.imshow(grid, cmap="viridis")
                ends = [float(grid.min()), float(grid.max())]
                bar = figure.colorbar(picture, ax=axis, location="bottom")
                digits = 2 if ends[1] - ends[0] > 0.02 else 4
                bar.set_ticks(ends, labels=[f"{end:.{digits}f}" for end in ends])
                bar.ax.tick_params(labelsize=7)
                if np.isclose(ends[0], ends[1]):
                    bar.set_ticks([])
            words = label(dataset, DATASETS).replace(", ", ",\n")
            line[0].set_ylabel(words, fontsize=8)
        for axis, variant in zip(axes[0], variants, strict=True):
            axis.set_title(label(variant, VARIANTS), fontsize=8)
    return figure

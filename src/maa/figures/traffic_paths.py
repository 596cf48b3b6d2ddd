"""Traffic: what the Jacobian of trained temporal attention is made of, by path."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.domains.traffic.variants import named
from maa.figures.catalogue import needs
from maa.figures.labels import DATASETS, VARIANTS, label, ordered
from maa.figures.rows import require
from maa.figures.style import COLOURS, MARKERS, styled

NEEDS = needs("traffic_paths")
MODEL = "released"
# (measure, path): its name for readers
NAMES = {
    ("jacobian_own", "all"): "Own step, all paths and residual",
    ("jacobian_own", "query"): "Own step, query path",
    ("jacobian_own", "value"): "Own step, value path",
    ("jacobian_own", "key"): "Own step, key path",
    ("jacobian_others", "all"): "Another step, all paths",
}


def table(traces: pd.DataFrame) -> pd.DataFrame:
    """Return mean norms by path in the released form, of every block and run.

    Args:
        traces: the traces of single runs.

    Returns:
        Columns dataset, variant, seed, point (the block), measure, target (the path)
        and value.

    Raises:
        UserError: if the released form was not traced.
    """
    rows = require(
        named(traces[traces["domain"] == "traffic"]),
        "The figure of paths",
        backbone=MODEL,
        measure=sorted({measure for measure, _ in NAMES}),
    )
    columns = ["dataset", "variant", "seed", "point", "measure", "target", "value"]
    return rows[columns].reset_index(drop=True)


def draw(norms: pd.DataFrame) -> Figure:
    """Draw means over blocks by variant: points are seeds, a panel a data set."""
    datasets = ordered(set(norms["dataset"]), DATASETS)
    variants = ordered(set(norms["variant"]), VARIANTS)
    with styled():
        figure = Figure(figsize=(7.2, 4.0))
        panels = figure.subplots(1, len(datasets), squeeze=False, sharey=True)[0]
        for axis, dataset in zip(panels, datasets, strict=True):
            _draw_paths(axis, norms[norms["dataset"] == dataset], variants)
            axis.set_title(label(dataset, DATASETS))
        panels[0].set_ylabel("Norm of the Jacobian's block")
        handles, words = panels[0].get_legend_handles_labels()
        figure.legend(handles, words, loc="outside lower center", ncols=3)
    return figure


def _draw_paths(axis: Axes, norms: pd.DataFrame, variants: list[str]) -> None:
    keys = ["measure", "target", "variant", "seed"]
    means = norms.groupby(keys)["value"].mean().reset_index()
    for number, ((measure, path), words) in enumerate(NAMES.items()):
        here = (means["measure"] == measure) & (means["target"] == path)
        found = means[here]
        shift = 0.12 * (number - 2)
        places = [variants.index(name) + shift for name in found["variant"]]
        axis.plot(
            places,
            # A mask leaves nothing of two paths: no place on a logarithmic axis.
            found["value"].where(found["value"] > 0),
            linestyle="none",
            marker=MARKERS[number],
            color=COLOURS[number],
            label=words,
        )
    axis.set_yscale("log")
    names = [label(variant, VARIANTS) for variant in variants]
    axis.set_xticks(range(len(variants)), names, rotation=35, ha="right")

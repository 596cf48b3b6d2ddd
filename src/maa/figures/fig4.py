"""Fig. 4: changes of single statistics by backbone, under both probes."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, STATISTICS, label, ordered
from maa.figures.rows import matching, require, varying
from maa.figures.style import INK, SOFT, styled

NEEDS = needs("fig4")
PROBES = {"r2_linear_z": "Linear probe", "r2_extratrees_z": "ExtraTrees probe"}
ALL = "all"
_ALPHA = 0.05
_KEYS = ["endpoint", "target", "backbone"]


def table(
    cells: pd.DataFrame, statistics: pd.DataFrame, domain: str = "ctdg"
) -> pd.DataFrame:
    """Return the change of each statistic by backbone, and over all cells.

    Args:
        cells: the table of cells.
        statistics: the table of single statistics.
        domain: which domain's rows to take.

    Returns:
        One row a (endpoint, target, backbone): the mean ``change`` over the data sets
        on which the target varies, their number ``cells``, and ``constant`` where there
        is none. The backbone ``all`` has the mean over all cells and Holm's ``p_holm``.

    Raises:
        UserError: if neither probe was run.
    """
    wanted = {"domain": domain, "endpoint": list(PROBES)}
    rows = require(cells, "Fig. 4", **wanted)
    means = varying(rows).groupby(_KEYS)["effect"].agg(change="mean", cells="size")
    index = rows.groupby(_KEYS).size().index
    single = means.reindex(index).reset_index()
    total = matching(statistics, **wanted).assign(backbone=ALL)
    columns = [*_KEYS, "change", "cells", "p_holm"]
    both = pd.concat([single, total[columns]], ignore_index=True)
    both["cells"] = both["cells"].fillna(0).astype(int)
    return both.assign(constant=both["cells"] == 0)


def draw(changes: pd.DataFrame) -> Figure:
    """Draw one heat map a probe, with its numbers; * marks Holm p below .05."""
    probes = [name for name in PROBES if name in set(changes["endpoint"])]
    limit = float(changes["change"].abs().max()) or 1.0
    with styled():
        figure = Figure(figsize=(7.2, 3.9))
        axes = np.atleast_1d(figure.subplots(1, len(probes), sharey=True))
        for axis, probe in zip(axes, probes, strict=True):
            rows = changes[changes["endpoint"] == probe]
            picture = _draw_probe(axis, rows, limit)
            axis.set_title(PROBES[probe])
        bar = figure.colorbar(picture, ax=list(axes), shrink=0.85, pad=0.015)
        bar.set_label("ΔR², MAA minus softmax")
        bar.outline.set_visible(False)
    return figure


def _draw_probe(axis: Axes, rows: pd.DataFrame, limit: float) -> AxesImage:
    targets = ordered(set(rows["target"]), STATISTICS)
    backbones = [*ordered(set(rows["backbone"]) - {ALL}, BACKBONES), ALL]
    wide = rows.pivot(index="target", columns="backbone", values="change")
    values = wide.reindex(index=targets, columns=backbones).to_numpy(dtype=float)
    total = rows[rows["backbone"] == ALL].set_index("target")["p_holm"]
    starred = {name for name, p in total.items() if p < _ALPHA}
    picture = axis.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto")
    for (y, x), value in np.ndenumerate(values):
        star = "*" if backbones[x] == ALL and targets[y] in starred else ""
        _write(axis, x, y, value, star, limit)
    axis.axvline(len(backbones) - 1.5, color="white", linewidth=3)
    names = [label(name, BACKBONES) for name in backbones]
    axis.set_xticks(range(len(backbones)), names, rotation=30, ha="right")
    axis.set_yticks(range(len(targets)), [label(name, STATISTICS) for name in targets])
    axis.grid(False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    return picture


def _write(axis: Axes, x: int, y: int, value: float, star: str, limit: float) -> None:
    """Write one number, in a colour that stands out; hatch what is constant."""
    if np.isnan(value):
        corner = (x - 0.5, y - 0.5)
        hatched = Rectangle(
            corner, 1, 1, facecolor="#f2f3f5", edgecolor="#c4c9d1", hatch="////"
        )
        hatched.set_linewidth(0)
        axis.add_patch(hatched)
        box = {"facecolor": "#f2f3f5", "edgecolor": "none", "pad": 1.2}
        axis.text(
            x, y, "const", ha="center", va="center", color=SOFT, size=7.5, bbox=box
        )
        return
    text = f"{value:+.3f}".replace("-", "\u2212").replace("0.", ".", 1) + star
    colour = "white" if abs(value) > 0.62 * limit else INK
    weight = "bold" if star else "normal"
    axis.text(
        x, y, text, ha="center", va="center", color=colour, size=7.5, weight=weight
    )

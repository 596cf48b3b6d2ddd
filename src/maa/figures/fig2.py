"""Fig. 2: the operator itself, computed with it (eq. 2, 5 and 6)."""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.attention import lp_gain, mass_aware_attention
from maa.figures.catalogue import needs
from maa.figures.style import COLOURS, INK, MARKERS, styled

NEEDS = needs("fig2")
POWERS = (1.0, 1.1, 1.3, 2.0)
REPEATS = (1, 2, 3, 5, 8, 12, 20)
KEYS = (1, 2, 3, 5, 10, 20, 50, 100)
BOUND_POWER = 1.1
_ROWS = 2_000
_SEED = 0


def table() -> pd.DataFrame:
    """Evaluate the operator.

    Returns:
        One row a point: ``panel`` (``repetition`` or ``gain``), ``p``, ``x`` (repeats
        of the evidence, or number of keys), ``quantity`` (what ``value`` is), ``value``
        from the operator and ``theory`` from eq. 2, 6 or 5 (NaN where the paper gives
        none).
    """
    rows = [*_repetition(), *_gains()]
    columns = ["panel", "p", "x", "quantity", "value", "theory"]
    return pd.DataFrame(rows, columns=columns)


def draw(points: pd.DataFrame) -> Figure:
    """Draw the amplitude against repeats, and the gain between its bounds."""
    with styled():
        figure = Figure(figsize=(7.2, 3.3))
        left, right = figure.subplots(1, 2)
        _draw_repetition(left, points[points["panel"] == "repetition"])
        _draw_gain(right, points[points["panel"] == "gain"])
    return figure


def _repetition() -> Iterable[tuple[str, float, int, str, float, float]]:
    """Size of the output on r-fold evidence, relative to its size on it once."""
    generator = torch.Generator().manual_seed(_SEED)
    q, k, v = (
        torch.randn(1, n, 8, dtype=torch.float64, generator=generator)
        for n in (1, 5, 5)
    )
    for p in POWERS:
        once = mass_aware_attention(q, k, v, p).norm()
        for r in REPEATS:
            many = mass_aware_attention(q, k.repeat(1, r, 1), v.repeat(1, r, 1), p)
            value = float(many.norm() / once)
            yield "repetition", p, r, "amplitude", value, r ** (1 - 1 / p)


def _gains() -> Iterable[tuple[str, float, int, str, float, float]]:
    """Quantiles of the gain of random rows of n keys; the gain of a uniform row."""
    generator = torch.Generator().manual_seed(_SEED)
    p = BOUND_POWER
    for n in KEYS:
        logits = 2 * torch.randn(_ROWS, n, dtype=torch.float64, generator=generator)
        gains = lp_gain(logits, p).numpy()
        for share in (0.05, 0.5, 0.95):
            value = float(np.quantile(gains, share))
            yield "gain", p, n, f"quantile {share:g}", value, math.nan
        uniform = float(lp_gain(torch.zeros(n, dtype=torch.float64), p))
        yield "gain", p, n, "uniform row", uniform, n ** (1 - 1 / p)


def _draw_repetition(axis: Axes, points: pd.DataFrame) -> None:
    smooth = np.linspace(min(REPEATS), max(REPEATS), 200)
    for index, p in enumerate(POWERS):
        rows = points[points["p"] == p]
        name = "p = 1 (softmax)" if p == 1 else f"p = {p:g}"
        colour = COLOURS[index]
        axis.plot(smooth, smooth ** (1 - 1 / p), color=colour, linewidth=1.2)
        axis.plot(
            rows["x"],
            rows["value"],
            linestyle="none",
            marker=MARKERS[index],
            color=colour,
            label=name,
        )
    axis.set_title("Repeated evidence")
    axis.set_xlabel("Repeats r of the same evidence")
    axis.set_ylabel("Output amplitude, relative to r = 1")
    axis.set_ylim(bottom=0.8)
    axis.set_xticks([1, 5, 10, 15, 20])
    axis.legend(loc="upper left", title="Points: operator. Lines: $r^{\\,1-1/p}$")


def _draw_gain(axis: Axes, points: pd.DataFrame) -> None:
    wide = points.pivot(index="x", columns="quantity", values="value")
    uniform = points[points["quantity"] == "uniform row"]
    axis.fill_between(
        wide.index,
        wide["quantile 0.05"],
        wide["quantile 0.95"],
        color=COLOURS[4],
        alpha=0.35,
        linewidth=0,
        label="Random rows, 5 to 95 %",
    )
    axis.plot(
        wide.index, wide["quantile 0.5"], color=COLOURS[0], label="Random rows, median"
    )
    axis.plot(
        uniform["x"],
        uniform["theory"],
        color=INK,
        linewidth=1.2,
        label="Bounds (eq. 5)",
    )
    axis.axhline(1, color=INK, linewidth=1.2)
    axis.plot(
        wide.index,
        wide["uniform row"],
        linestyle="none",
        marker="o",
        color=COLOURS[5],
        label="Uniform row",
    )
    axis.set_xscale("log")
    axis.set_xticks(list(KEYS), [str(n) for n in KEYS])
    axis.minorticks_off()
    axis.set_title(f"Gain at p = {BOUND_POWER:g}")
    axis.set_xlabel("Number of keys n")
    axis.set_ylabel("Gain $g_p$ (no unit)")
    axis.legend(loc="upper left")

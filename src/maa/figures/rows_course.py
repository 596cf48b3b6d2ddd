"""Attention rows in the course of training: loss, entropy, sinks, and their part."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.audit.dynamics import fall_shares
from maa.figures.catalogue import needs
from maa.figures.labels import MODELS, label, ordered
from maa.figures.rows_sinks import CHANNELS
from maa.figures.style import COLOURS, INK, styled

NEEDS = needs("rows_course")
_KEYS = ["dataset", "backbone"]
PANELS = (
    "Loss (nats a token)",
    "Entropy of a row (nats)",
    "Share of the sinks",
    "Sinks' part of\nthe fall of entropy",
)
# The control stands for any token that is no sink.
SHARES = {
    "from_first": "from the first step to here",
    "to_last": "from here to the last",
    "control": "from here to the last, second token",
}


def table(
    course_heads: pd.DataFrame,
    course_losses: pd.DataFrame,
    course_changes: pd.DataFrame,
    course_control: pd.DataFrame,
) -> pd.DataFrame:
    """Return the course of every training.

    Args:
        course_heads: measures of every head by step.
        course_losses: loss by step.
        course_changes: parts of the changes of entropy.
        course_control: the same as if the second token were the sink.

    Returns:
        One row a (text, model, step, quantity): ``value``, ``low``, ``high``; the
        quantities are ``loss``, ``sink_share``, the channels of the entropy,
        and the sink's share of its fall, as in `SHARES`.
    """
    heads = course_heads.rename(columns={"measure": "quantity"})
    heads = heads[heads["quantity"].isin(["sink_share", *CHANNELS])]
    losses = course_losses.assign(quantity="loss", value=course_losses["loss"])
    keys = [*_KEYS, "step", "quantity"]
    means = pd.concat([heads, losses]).groupby(keys)["value"].mean().reset_index()
    parts = [means]
    parts += _told(course_changes, {"from_first": "end", "to_last": "start"})
    parts += _told(course_control, {"control": "start"})
    return pd.concat(parts, ignore_index=True)


def _told(all_changes: pd.DataFrame, quantities: dict[str, str]) -> list[pd.DataFrame]:
    """Return the sink's shares: of falls from the first step, or to the last one."""
    parts = []
    for key, changes in all_changes.groupby(_KEYS, sort=False):
        shares = fall_shares(changes.drop(columns=_KEYS))
        shares = shares[shares["rule"] == "midpoint"]
        first, last = shares["start"].min(), shares["end"].max()
        for name, moving in quantities.items():
            whole = shares["end"] == last
            rows = shares[shares["start"] == first if moving == "end" else whole]
            told = dict(zip(_KEYS, key, strict=True)) | {"quantity": name}
            told |= {"step": rows[moving], "value": rows["share"]}
            told |= {"low": rows["share_lower"], "high": rows["share_upper"]}
            parts.append(pd.DataFrame(told))
    return parts


def draw(course: pd.DataFrame) -> Figure:
    """Draw four panels a model."""
    models = ordered(set(course["backbone"]), MODELS)
    with styled():
        figure = Figure(figsize=(7.2, 4.4 * len(models)))
        axes = figure.subplots(2 * len(models), 2, squeeze=False)
        for line, model in zip(axes.reshape(len(models), 4), models, strict=True):
            rows = course[course["backbone"] == model].sort_values("step")
            by = {str(name): part for name, part in rows.groupby("quantity")}
            line[0].plot(by["loss"]["step"], by["loss"]["value"], color=COLOURS[0])
            _stack(line[1], by)
            line[2].plot(by["sink_share"]["step"], by["sink_share"]["value"])
            _shares(line[3], by)
            line[0].set_title(label(model, MODELS))
            for axis, name in zip(line, PANELS, strict=True):
                _steps(axis, rows["step"].unique())
                axis.set_ylabel(name)
        for axis in axes[-1]:
            axis.set_xlabel("Step")
        for axis in axes[:2, 1]:
            axis.legend(frameon=True, framealpha=0.85, edgecolor="none")
    return figure


def _stack(axis: Axes, by: dict[str, pd.DataFrame]) -> None:
    steps = by["entropy_content"]["step"]
    heights = [by[channel]["value"] for channel in CHANNELS]
    axis.stackplot(steps, heights, labels=CHANNELS.values(), colors=COLOURS[:3])
    axis.set_ylim(bottom=0)


def _shares(axis: Axes, by: dict[str, pd.DataFrame]) -> None:
    for number, (name, words) in enumerate(SHARES.items()):
        part = by.get(name, pd.DataFrame(columns=["step", "value", "low", "high"]))
        colour = COLOURS[number]
        axis.plot(part["step"], part["value"], ".-", color=colour, label=words)
        axis.fill_between(
            part["step"],
            part["low"],
            part["high"],
            color=colour,
            alpha=0.2,
            linewidth=0,
        )
    axis.axhline(0, color=INK, linewidth=0.7)


def _steps(axis: Axes, steps: np.ndarray) -> None:
    """Lay steps out by powers of 2, and label the first, the last, and some between."""
    axis.set_xscale("symlog", base=2, linthresh=1)
    inner = [4**i for i in range(16) if steps[0] < 4**i <= steps[-1] / 3]
    shown = [int(steps[0]), *inner, int(steps[-1])]
    axis.set_xticks(shown, [f"{step:,}" for step in shown], rotation=45)
    axis.minorticks_off()
    axis.set_xlim(steps[0], steps[-1])

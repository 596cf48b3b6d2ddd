"""The picture of a training: loss, entropy in channels, sinks, shares of the fall."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maa.audit.drawings import CHANNELS
from maa.figures.style import COLOURS, SOFT, styled


def draw(
    heads: pd.DataFrame,
    losses: pd.DataFrame,
    shares: pd.DataFrame,
    control: pd.DataFrame | None = None,
) -> Figure:
    """Draw the course of a training over its steps.

    Args:
        heads: ``Course.heads`` of `maa.audit.dynamics`.
        losses: ``Course.losses``.
        shares: what `maa.audit.dynamics.fall_shares` says of the changes, all heads
            together.
        control: the same with the ``second`` token in the sink's place, or None.
    """
    with styled():
        figure = Figure(figsize=(10, 6.6))
        (loss, entropy), (sinks, share) = figure.subplots(2, 2)
        _draw_loss(loss, losses)
        _draw_entropy(entropy, heads)
        _draw_sinks(sinks, heads)
        _draw_shares(share, shares, control)
        for axis in (loss, entropy, sinks, share):
            axis.set_xscale("symlog", base=2, linthresh=1)
            _label_steps(axis, sorted(heads["step"].unique()))
            axis.set_xlabel("Step")
    return figure


def _label_steps(axis: Axes, steps: list[int]) -> None:
    """Label the first step, the last, and powers of 4 that leave room between."""
    inner = [4**i for i in range(16) if steps[0] < 4**i <= steps[-1] / 3]
    axis.set_xticks([steps[0], *inner, steps[-1]])
    axis.set_xticklabels([f"{step:,}" for step in (steps[0], *inner, steps[-1])])
    axis.minorticks_off()
    axis.set_xlim(steps[0], steps[-1])


def _draw_loss(axis: Axes, losses: pd.DataFrame) -> None:
    course = losses.groupby("step")["loss"].mean()
    axis.plot(course.index, course, ".-", color=COLOURS[0])
    axis.set_title("Loss on held-out text (nats a token)")


def _draw_entropy(axis: Axes, heads: pd.DataFrame) -> None:
    course = heads.groupby(["step", "measure"])["value"].mean().unstack()
    shown = [column for column in CHANNELS if course[column].abs().max() > 0]
    axis.stackplot(
        course.index,
        [course[column] for column in shown],
        labels=[CHANNELS[column] for column in shown],
        colors=COLOURS[: len(shown)],
        alpha=0.85,
    )
    axis.plot(
        course.index,
        course["content_entropy"],
        "--",
        color=COLOURS[6],
        label="content alone, sinks dropped",
    )
    axis.set_title("Entropy of a row, mean of heads (nats)")
    axis.set_ylim(bottom=0)
    axis.legend(loc="lower left")


def _draw_sinks(axis: Axes, heads: pd.DataFrame) -> None:
    """Draw every head thinly, and each layer's mean."""
    held = heads[heads["measure"] == "sink_share"]
    single = held.groupby(["step", "layer", "head"])["value"].mean().unstack([1, 2])
    axis.plot(single.index, single, color=SOFT, alpha=0.35, linewidth=0.7)
    layers = held.groupby(["step", "layer"])["value"].mean().unstack()
    for layer, colour in zip(layers, COLOURS * len(layers.columns), strict=False):
        axis.plot(layers.index, layers[layer], color=colour, label=f"layer {layer}")
    axis.set_title("Attention that the sinks hold")
    axis.set_ylim(0, 1)
    if len(layers.columns) <= len(COLOURS):
        axis.legend(loc="upper left", ncols=2)


def _draw_shares(
    axis: Axes, shares: pd.DataFrame, control: pd.DataFrame | None
) -> None:
    """Draw the sink's share of the fall from the first step, and to the last."""
    falls = _falls(shares)
    for (label, fall), colour in zip(falls.items(), COLOURS, strict=False):
        axis.plot(fall.index, fall["share"], ".-", color=colour, label=label)
        lower = fall["share_lower"].to_numpy(dtype=float)
        upper = fall["share_upper"].to_numpy(dtype=float)
        axis.fill_between(fall.index, lower, upper, color=colour, alpha=0.2)
    others = {} if control is None else _falls(control)
    told = ["of the second token, a control", None]
    for fall, colour, name in zip(others.values(), COLOURS, told, strict=False):
        axis.plot(fall.index, fall["share"], ":", color=colour, label=name)
    axis.axhline(0, color=SOFT, linewidth=0.8)
    drawn = pd.concat([fall["share"] for fall in falls.values()])
    axis.set_ylim(
        min(-0.1, max(drawn.min() - 0.1, -1)), max(1.0, min(drawn.max() + 0.1, 2))
    )
    axis.set_title("Sink's part of the fall of entropy")
    axis.legend(loc="upper left")


def _falls(shares: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return shares from the first step by end, and to the last by start."""
    chosen = shares[shares["rule"] == "midpoint"]
    first, final = chosen["start"].min(), chosen["end"].max()
    return {
        f"from step {first:,} to here": chosen[chosen["start"] == first]
        .set_index("end")
        .sort_index(),
        f"from here to step {final:,}": chosen[chosen["end"] == final]
        .set_index("start")
        .sort_index(),
    }

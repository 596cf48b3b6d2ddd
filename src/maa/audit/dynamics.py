"""A model's attention in the course of its training, and what its entropy lost.

Rows of an untrained model are all but even, so that their entropy, log of the number of
keys, is about the largest there is: any training lets it fall. Two falls are told
apart. The one *from the first* checkpoint holds all that a head has learned, a content
that it attends to as much as a sink; the one *to the last* begins at any later
checkpoint. Of either, the share that is the sink's is what the change of the sink's
share alone did to the rows' entropy (Papamichalis and Ruane's entropy collapse; their
own rule is not known, so that three rules stand side by side).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from maa.attention.adapters.huggingface import recording
from maa.attention.rows.entropy import (
    Channels,
    EntropyParts,
    attribute,
    entropy_parts,
)
from maa.audit.audit import next_token_loss
from maa.audit.models import Pretrained
from maa.audit.texts import sink_positions
from maa.errors import UserError

CHANNELS = ("sink", "within", "content")
HEAD = ["text", "layer", "head"]


def midpoint(before: EntropyParts, after: EntropyParts) -> Channels:
    """Attribute a change of entropy by the midpoint rule."""
    return attribute(before, after)


def sink_first(before: EntropyParts, after: EntropyParts) -> Channels:
    """Attribute it as if the sinks' share had changed first, the contents after it."""
    return _in_order(before, after, before, after)


def content_first(before: EntropyParts, after: EntropyParts) -> Channels:
    """Attribute it as if the contents had changed first, the sinks' share after it."""
    return _in_order(before, after, after, before)


def _in_order(
    before: EntropyParts, after: EntropyParts, inside: EntropyParts, share: EntropyParts
) -> Channels:
    """Weigh the share's change by what is ``inside``, the others' by a ``share``."""
    moved = after.share - before.share
    return Channels(
        after.binary - before.binary + moved * (inside.sinks - inside.content),
        share.share * (after.sinks - before.sinks),
        share.rest * (after.content - before.content),
    )


RULES: dict[str, Callable[[EntropyParts, EntropyParts], Channels]] = {
    "midpoint": midpoint,
    "sink first": sink_first,
    "content first": content_first,
}


@dataclass(frozen=True)
class Course:
    """The course of a training, in tables with one row a value.

    Attributes:
        heads: ``step``, ``text`` (passage), ``layer``, ``head``, ``measure`` (one of
            `MEASURES`) and ``value``, its mean over the passage's rows.
        losses: ``step``, ``text`` and ``loss``, nats a token.
        changes: ``start`` and ``end`` (steps), ``text``, ``layer``, ``head``, ``rule``
            (one of `RULES`), ``channel`` (one of `CHANNELS`) and ``value``: the part of
            the change of entropy, nats, attributed row by row and then averaged.
    """

    heads: pd.DataFrame
    losses: pd.DataFrame
    changes: pd.DataFrame


MEASURES: dict[str, Callable[[EntropyParts], Tensor]] = {
    "sink_share": lambda parts: parts.share,
    "entropy": lambda parts: parts.total,
    "entropy_binary": lambda parts: parts.binary,
    "entropy_sinks": lambda parts: parts.share * parts.sinks,
    "entropy_content": lambda parts: parts.rest * parts.content,
    "content_entropy": lambda parts: parts.content,
}


def follow(
    load: Callable[[int], Pretrained],
    steps: Sequence[int],
    texts: Sequence[Sequence[int]],
    sinks: str = "first",
    first_row: int = 8,
    report: Callable[[str], None] = print,
) -> Course:
    """Measure checkpoints of a causal model on the same passages.

    One model is in memory at a time, and the channels of the rows' entropy of three.

    Args:
        load: returns the model as it was after a step.
        steps: two or more, in increasing order; the first and the last are those that
            changes are counted from and to.
        texts: passages as tokens; all checkpoints share one tokenizer.
        sinks: which tokens are sinks, as `maa.audit.texts.sink_positions` says.
        first_row: rows before it, which see few keys, are left out.
        report: takes one line a checkpoint.

    Raises:
        UserError: for fewer than two steps, steps out of order, or passages that leave
            no row.
    """
    if len(steps) < 2 or list(steps) != sorted(set(steps)):
        raise UserError(
            f"the checkpoints are {list(steps)}; expected two or more steps in "
            "increasing order"
        )
    if not texts or min(map(len, texts)) <= first_row:
        raise UserError(
            f"{len(texts)} passages leave no row of {first_row} or later; give longer "
            "texts or a smaller first row"
        )
    first, final = steps[0], steps[-1]
    known: dict[int, list[EntropyParts]] = {}
    heads, losses, changes = [], [], []
    for step in (first, final, *steps[1:-1]):
        taken = list(_channels(load(step), texts, sinks, first_row))
        parts = [part for part, _ in taken]
        told = {"step": step, "text": range(len(texts))}
        losses.append(pd.DataFrame(told | {"loss": [loss for _, loss in taken]}))
        heads.append(_measured(parts).assign(step=step))
        if step in (first, final):
            known[step] = parts
        report(f"step {step}: loss {losses[-1]['loss'].mean():.3f}")
        if step != first:
            changes.append(_changed(known[first], parts).assign(start=first, end=step))
        if step not in (first, final):
            changes.append(_changed(parts, known[final]).assign(start=step, end=final))
    order = ["step", *HEAD, "measure", "value"]
    moved = ["start", "end", *HEAD, "rule", "channel", "value"]
    return Course(
        pd.concat(heads)[order].sort_values(
            order[:-2], kind="stable", ignore_index=True
        ),
        pd.concat(losses).sort_values(["step", "text"], ignore_index=True),
        pd.concat(changes)[moved].sort_values(
            moved[:-3], kind="stable", ignore_index=True
        ),
    )


def _channels(
    pretrained: Pretrained,
    texts: Sequence[Sequence[int]],
    sinks: str,
    first_row: int,
) -> Iterator[tuple[EntropyParts, float]]:
    """Yield each passage's rows, (layers, heads, rows) a field, and its loss."""
    model = pretrained.model
    device = next(model.parameters()).device
    for passage in texts:
        where = sink_positions(pretrained.tokenizer, passage, sinks)
        mask = torch.zeros(len(passage), dtype=torch.bool, device=device)
        mask[where] = True
        layers: list[EntropyParts] = []

        def receive(_: int, logits: Tensor, support: Tensor | None) -> None:
            # in double precision, so that channels add up to far below what they show
            chosen = logits[0, :, first_row:].double()
            rows = None if support is None else support[0, :, first_row:]
            layers.append(entropy_parts(chosen, mask, rows))  # noqa: B023

        tokens = torch.tensor([list(passage)], device=device)
        with torch.inference_mode(), recording(model, receive):
            loss = next_token_loss(model(tokens).logits, tokens)
        yield _stacked(layers), float(loss)


def _stacked(layers: Sequence[EntropyParts]) -> EntropyParts:
    """Return the layers' parts as one, on the CPU."""
    names = ("share", "rest", "binary", "sinks", "content")
    return EntropyParts(
        *(
            torch.stack([getattr(layer, name) for layer in layers]).cpu()
            for name in names
        )
    )


def _measured(parts: Sequence[EntropyParts]) -> pd.DataFrame:
    values = [
        [measure(part).mean(-1) for part in parts] for measure in MEASURES.values()
    ]
    return _long(
        torch.stack([torch.stack(each) for each in values]), "measure", MEASURES
    )


def _changed(
    before: Sequence[EntropyParts], after: Sequence[EntropyParts]
) -> pd.DataFrame:
    found = []
    for name, rule in RULES.items():
        pairs = [rule(one, other) for one, other in zip(before, after, strict=True)]
        values = [
            torch.stack([getattr(pair, channel).mean(-1) for pair in pairs])
            for channel in CHANNELS
        ]
        found.append(_long(torch.stack(values), "channel", CHANNELS).assign(rule=name))
    return pd.concat(found, ignore_index=True)


def _long(values: Tensor, kind: str, names: Iterable[str]) -> pd.DataFrame:
    """Return values, (kinds, texts, layers, heads), as a table of one row each."""
    index = pd.MultiIndex.from_product(
        [list(names), *map(range, values.shape[1:])], names=[kind, *HEAD]
    )
    return pd.DataFrame({"value": values.flatten().numpy()}, index).reset_index()


def highest(heads: pd.DataFrame) -> int:
    """Return the step whose rows have the largest entropy, on average.

    Args:
        heads: as `Course` holds them.
    """
    entropy = heads[heads["measure"] == "entropy"].groupby("step")["value"].mean()
    return int(entropy.index.to_numpy()[entropy.to_numpy().argmax()])


def fall_shares(
    changes: pd.DataFrame,
    by: Sequence[str] = (),
    draws: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    least: float = 0.01,
) -> pd.DataFrame:
    """Say how much of a fall of entropy is the sink's, with intervals over passages.

    A share is that of sums over heads and means over passages, so that heads whose
    entropy rises count against the fall. It is NaN unless the entropy fell beyond
    doubt by ``least``: for a change about 0 it means nothing.

    Args:
        changes: as `Course` holds them.
        by: what to tell apart besides: ``layer``, or ``layer`` and ``head``.
        draws: bootstrap draws of passages.
        confidence: of the percentile intervals.
        seed: of the draws; all rows share them.
        least: nats that the interval of the change must lie below 0.

    Returns:
        One row a ``start``, ``end`` and ``rule`` (and ``by``): ``change`` (of a row's
        entropy, nats, mean over heads) with ``change_lower`` and ``change_upper``, its
        parts ``sink``, ``within`` and ``content``, and ``share`` (sink's part of the
        change) with ``share_lower`` and ``share_upper``.
    """
    keys = ["start", "end", "rule", *by]
    means = changes.groupby([*keys, "channel", "text"])["value"].mean()
    wide = means.unstack("channel")[list(CHANNELS)]
    texts = changes["text"].nunique()
    drawn = np.random.default_rng(seed).integers(texts, size=(draws, texts))
    found = []
    for key, group in wide.groupby(keys, sort=False):
        told = dict(zip(keys, key, strict=True))
        found.append(told | _share(group.to_numpy(), drawn, confidence, least))
    return pd.DataFrame(found)


def _share(
    values: NDArray[np.float64],
    drawn: NDArray[np.int64],
    confidence: float,
    least: float,
) -> dict[str, float]:
    """Return the change, its parts and the sink's share, from (texts, channels)."""
    parts = values.mean(0)
    resampled = values[drawn].mean(1)
    change, changes = parts.sum(), resampled.sum(1)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    lower, upper = np.quantile(changes, ends)
    fell = upper < -least
    shares = np.quantile(resampled[:, 0] / changes, ends) if fell else [np.nan] * 2
    return {
        "change": change,
        "change_lower": lower,
        "change_upper": upper,
        **dict(zip(CHANNELS, parts, strict=True)),
        "share": parts[0] / change if fell else np.nan,
        "share_lower": shares[0],
        "share_upper": shares[1],
    }

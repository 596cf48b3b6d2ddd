"""How much of a change of entropy is the sink's, between stages of a model.

Each row of a stage is paired with the same row (text, query, layer, head) of an earlier
stage; the pair's change of entropy is attributed by the midpoint rule of
`maa.attention.rows.entropy`, which is exact row by row, and only then averaged. How the
paper (Papamichalis and Ruane, arXiv 2608.14712) attributes is not known; replacing the
sinks' share first or last gives other numbers, which stand beside. `RULE` says so in a
line that belongs under every table.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from maa.attention.rows.entropy import EntropyParts, attribute, entropy_parts
from maa.audit.capture import captured
from maa.audit.models import Pretrained
from maa.errors import UserError

RULE = (
    "Change of entropy of paired rows, by the midpoint (Shapley) rule: sink = dHb + "
    "dS (mean H within the sinks - mean H within the content), content = (1 - mean S) "
    "dH within the content; sink_first and sink_last take the sink's part with the "
    "entropies before and after instead of their mean."
)
AGAINST = ("first", "previous")
CHANNELS = ["delta_entropy", "sink", "within", "content", "sink_first", "sink_last"]
SCOPES: dict[str, list[str]] = {
    "model": [],
    "layer": ["layer"],
    "head": ["layer", "head"],
}


@dataclass(frozen=True)
class Stage:
    """A model at some point: a checkpoint of its training, or under another norm.

    Attributes:
        step: what orders the stages: training steps, or the norm's p.
        pretrained: the model; all stages have one shape and one tokenizer.
        p: order of the norm that the model's attention takes; 1 is softmax.
    """

    step: float
    pretrained: Pretrained
    p: float = 1.0


def entropy_changes(
    stages: Iterable[Stage],
    texts: Sequence[Sequence[int]],
    sinks: str = "first",
    against: str = "first",
    rows: int | None = None,
    first_row: int = 8,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Attribute the change of every head's entropy from stage to stage.

    Stages are taken one at a time, so that an iterator may load them as they come; what
    is kept of a stage is its rows' entropies, five numbers a row.

    Args:
        stages: two or more, in order.
        texts: passages as tokens.
        sinks: which tokens are sinks, as `maa.audit.texts.sink_positions` says; with
            none, all of a change is the content's.
        against: a stage is compared with the ``first`` one or with the ``previous``.
            Changes against the previous add up to those against the first; their parts
            need not.
        rows: queries that are drawn of a passage, the same at every stage; None: all.
        first_row: queries before it are left out.
        seed: of these draws.
        report: takes one line a stage.

    Returns:
        One row a stage but the first, passage, layer and head, means over the
        passage's rows, nats: ``step``, ``before`` (the step that it is compared with),
        ``text``, ``layer``, ``head``, ``delta_entropy``, its parts ``sink``, ``within``
        (within the sinks; 0 for one sink) and ``content``, which add up to it, and
        ``sink_first`` and ``sink_last``: the sink's part if its share is replaced
        before, or after, the entropies within. The midpoint is their mean.

    Raises:
        UserError: if there are fewer than two stages, or shapes or steps are not what
            they must be.
    """
    if against not in AGAINST:
        raise UserError(
            f"stages are compared with the {' or the '.join(AGAINST)} one, got "
            f"{against!r}"
        )
    reference: Stage | None = None
    known: list[EntropyParts] = []
    steps: list[float] = []
    found = []
    for stage in stages:
        if stage.step in steps:
            raise UserError(f"step {stage.step:g} is given twice; name each stage once")
        steps.append(stage.step)
        if (
            reference is not None
            and stage.pretrained.shape != reference.pretrained.shape
        ):
            raise UserError(
                f"step {stage.step:g} has {_shape(stage)}, step {reference.step:g} has "
                f"{_shape(reference)}; heads can be paired in models of one shape alone"
            )
        generator = np.random.default_rng(seed)
        parts = list(_entropies(stage, texts, sinks, generator, rows, first_row))
        if reference is not None:
            pairs = enumerate(zip(known, parts, strict=True))
            tables = [_changes(text, *pair) for text, pair in pairs]
            table = pd.concat(tables, ignore_index=True)
            table.insert(0, "before", reference.step)
            table.insert(0, "step", stage.step)
            found.append(table)
        if reference is None or against == "previous":
            reference, known = stage, parts
        report(f"step {stage.step:g}: {len(texts)} passages")
    if not found:
        raise UserError(f"{len(steps)} stage is given; a change takes two")
    return pd.concat(found, ignore_index=True)


def _shape(stage: Stage) -> str:
    layers, heads = stage.pretrained.shape
    return f"{layers} layers of {heads} heads"


def _entropies(
    stage: Stage,
    texts: Sequence[Sequence[int]],
    sinks: str,
    generator: np.random.Generator,
    rows: int | None,
    first_row: int,
) -> Iterator[EntropyParts]:
    """Yield each passage's entropies, (L, H, N) float64."""
    seen = captured(
        stage.pretrained,
        texts,
        sinks,
        generator,
        rows,
        first_row,
        stage.p,
        report=lambda _: None,
    )
    for one in seen:
        parts = entropy_parts(one.logits, one.sinks, one.support)
        yield EntropyParts(
            *(getattr(parts, field.name).double().cpu() for field in fields(parts))
        )


def _changes(text: int, before: EntropyParts, after: EntropyParts) -> pd.DataFrame:
    change = attribute(before, after)
    binary, moved = after.binary - before.binary, after.share - before.share
    values = {
        "delta_entropy": change.total,
        "sink": change.sink,
        "within": change.within,
        "content": change.content,
        "sink_first": binary + moved * (before.sinks - before.content),
        "sink_last": binary + moved * (after.sinks - after.content),
    }
    means = torch.stack([values[name].mean(-1) for name in CHANNELS], -1)
    depth, heads, _ = means.shape
    index = pd.MultiIndex.from_product(
        [[text], range(depth), range(heads)], names=["text", "layer", "head"]
    )
    table = pd.DataFrame(means.flatten(0, 1).numpy(), index, CHANNELS)
    return table.reset_index()


def sink_shares(
    changes: pd.DataFrame,
    scope: str = "model",
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return which share of the change of entropy is the sink's.

    A share is a ratio of means, over passages and the heads of a scope. It is only
    given where the change itself is of a known sign: if the interval of the change has
    0 in it, a ratio to it says nothing, and is NaN. A share may lie outside 0 to 1:
    sink and content then pull in opposite directions.

    Args:
        changes: what `entropy_changes` returned.
        scope: what is taken together, of `SCOPES`: ``model``, ``layer`` or ``head``.
        level: of the percentile intervals.
        draws: of passages, with replacement; intervals are NaN for a single passage.
        seed: of these draws.

    Returns:
        One row a step, ``before`` and layer or head of the scope: means
        ``delta_entropy``, ``sink``, ``within``, ``content`` (nats), ``delta_low`` and
        ``delta_high``, then ``sink_share`` with ``low`` and ``high``, and by the other
        orders ``sink_share_first`` and ``sink_share_last``.

    Raises:
        UserError: for another scope.
    """
    if scope not in SCOPES:
        raise UserError(f"a scope is one of {', '.join(SCOPES)}, got {scope!r}")
    keys = ["step", "before", *SCOPES[scope]]
    by_text = changes.groupby([*keys, "text"])[CHANNELS].mean()
    generator = np.random.default_rng(seed)
    texts = by_text.index.unique("text")
    picks = generator.integers(len(texts), size=(draws, len(texts)))
    found = []
    for key, table in by_text.groupby(keys):
        values = table.to_numpy()
        given = dict(zip(keys, key, strict=True))
        found.append(given | _share(values, values[picks].mean(1), level))
    return pd.DataFrame(found)


def _share(
    values: NDArray[np.float64], drawn: NDArray[np.float64], level: float
) -> dict[str, float]:
    """Return a scope's row from (texts, channels) and (draws, channels)."""
    means = dict(zip(CHANNELS, values.mean(0), strict=True))
    drawn_delta, drawn_sink = drawn[:, 0], drawn[:, 1]
    ends = [(1 - level) / 2, (1 + level) / 2]
    delta = np.quantile(drawn_delta, ends) if len(values) > 1 else np.full(2, np.nan)
    known = means["delta_entropy"] != 0 and not delta[0] <= 0 <= delta[1]
    share = np.full(2, np.nan)
    if known and len(values) > 1:
        share = np.quantile(drawn_sink / drawn_delta, ends)
    whole = means["delta_entropy"] if known else np.nan
    return {
        **{name: float(means[name]) for name in CHANNELS[:4]},
        "delta_low": float(delta[0]),
        "delta_high": float(delta[1]),
        "sink_share": float(means["sink"] / whole),
        "low": float(share[0]),
        "high": float(share[1]),
        "sink_share_first": float(means["sink_first"] / whole),
        "sink_share_last": float(means["sink_last"] / whole),
    }

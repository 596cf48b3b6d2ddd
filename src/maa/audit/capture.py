"""Rows of attention of all heads of a model, captured while it reads passages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maa.attention.adapters.huggingface import attending
from maa.attention.lp import lp_normalize
from maa.audit.models import Pretrained
from maa.audit.texts import sink_positions
from maa.errors import UserError


@dataclass(frozen=True)
class Captured:
    """Some queries' rows of one passage.

    Attributes:
        text: number of the passage.
        queries: their positions, (N,), ascending.
        logits: of L layers' H heads, (L, H, N, D).
        support: keys that the queries may attend to, (N, D), or None for all.
        sinks: keys that are sinks, (D,).
    """

    text: int
    queries: NDArray[np.int64]
    logits: Tensor
    support: Tensor | None
    sinks: Tensor

    @property
    def content(self) -> Tensor:
        """Keys that the queries may attend to and that are no sinks, (N, D)."""
        shape = (len(self.queries), len(self.sinks))
        content = (~self.sinks).expand(shape)
        return content if self.support is None else content & self.support


def captured(
    pretrained: Pretrained,
    texts: Sequence[Sequence[int]],
    sinks: str,
    generator: np.random.Generator,
    rows: int | None = None,
    first_row: int = 8,
    p: float = 1.0,
    report: Callable[[str], None] = print,
) -> Iterator[Captured]:
    """Yield the rows of one passage after the other.

    Args:
        pretrained: the model.
        texts: passages as tokens.
        sinks: which tokens are sinks, as `maa.audit.texts.sink_positions` says.
        generator: source of the draws.
        rows: queries that are drawn of a passage; None: all of them.
        first_row: queries before it, which see few keys, are left out.
        p: order of the norm that the model's attention takes; 1 is softmax.
        report: takes one line a passage, once its rows have been worked on.

    Raises:
        UserError: if a passage has no query from ``first_row`` on, or layers differ in
            their heads or in the keys that a query may attend to.
    """
    for number, passage in enumerate(texts):
        choice = np.arange(first_row, len(passage))
        if not len(choice):
            raise UserError(
                f"passage {number + 1} has {len(passage)} tokens, which leaves no row "
                f"behind the first {first_row}; take longer passages"
            )
        if rows is not None:
            count = min(rows, len(choice))
            choice = np.sort(generator.choice(choice, count, replace=False))
        logits, support = rows_of(pretrained, passage, choice, p)
        where = sink_positions(pretrained.tokenizer, passage, sinks)
        mask = torch.zeros(len(passage), dtype=torch.bool, device=logits.device)
        mask[where] = True
        yield Captured(number, choice, logits, support, mask)
        report(f"passage {number + 1} of {len(texts)}")


def rows_of(
    pretrained: Pretrained,
    passage: Sequence[int],
    queries: NDArray[np.int64],
    p: float = 1.0,
) -> tuple[Tensor, Tensor | None]:
    """Return some queries' logits of all heads, (L, H, N, D), and their support.

    Memory is that of one layer's attention, and of what is returned.

    Raises:
        UserError: if layers differ in their heads or their support.
    """
    layers: list[Tensor] = []
    supports: list[Tensor | None] = []
    chosen = torch.from_numpy(queries)

    def weigh(_: int, logits: Tensor, support: Tensor | None) -> Tensor:
        layers.append(logits[0, :, chosen].clone())
        supports.append(None if support is None else support[0, 0, chosen].clone())
        return lp_normalize(logits, p, support)

    device = next(pretrained.model.parameters()).device
    tokens = torch.tensor([list(passage)], device=device)
    with torch.inference_mode(), attending(pretrained.model, weigh):
        pretrained.model(tokens)
    if len({layer.shape for layer in layers}) > 1:
        raise UserError(
            f"{pretrained.name} has layers that differ in their number of heads, whose "
            "rows cannot be set side by side; take a model whose layers are alike"
        )
    if not all(_same(supports[0], support) for support in supports):
        raise UserError(
            f"{pretrained.name} has layers that see different keys (a sliding window); "
            "take passages that are shorter than the window"
        )
    return torch.stack(layers), supports[0]


def _same(first: Tensor | None, second: Tensor | None) -> bool:
    if first is None or second is None:
        return first is second
    return torch.equal(first, second)


def need_sinks(sinks: str) -> None:
    """Raise unless there are sinks to be kept or dropped.

    Raises:
        UserError: for ``none``.
    """
    if sinks == "none":
        raise UserError(
            "sinks are none, so that keeping and dropping them is the same; name the "
            "tokens that are sinks: first or special"
        )

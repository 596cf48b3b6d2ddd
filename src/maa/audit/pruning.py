"""Heads taken out by what a criterion says of their rows, and what that costs.

The criteria are channels of a row's entropy: a head may look dispensable because its
sink holds much, because its rows are spread, or because its content is.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from maa.attention.adapters.huggingface import attending, softmax
from maa.audit.audit import next_token_loss
from maa.audit.models import Pretrained, check_causal

CRITERIA = ("sink_share", "entropy", "content_entropy")


def prune(
    pretrained: Pretrained,
    heads: pd.DataFrame,
    texts: Sequence[Sequence[int]],
    fraction: float = 0.2,
    draws: int = 3,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Take out the heads that are highest or lowest in each criterion, or random ones.

    Args:
        pretrained: a causal model.
        heads: measures by ``layer`` and ``head``, taken on other texts than these.
        texts: passages as tokens, on which the perplexity is measured.
        fraction: share of the heads that is taken out.
        draws: how often heads are taken at random.
        seed: of these draws.
        report: takes one line a variant.

    Returns:
        One row a variant: ``criterion`` (``none``, one of `CRITERIA`, or ``random``),
        ``side`` (``highest``, ``lowest``, or the number of the draw), ``loss`` (nats a
        token) and ``perplexity``.

    Raises:
        UserError: if the model predicts no next token.
    """
    check_causal(pretrained)
    depth, width = pretrained.shape
    table = heads.set_index(["layer", "head"]).sort_index()
    count = round(fraction * len(table))
    variants: list[tuple[str, str, NDArray[np.int64]]] = [
        ("none", "", np.empty(0, dtype=np.int64))
    ]
    for criterion in CRITERIA:
        order = np.argsort(table[criterion].to_numpy(), kind="stable")
        variants.append((criterion, "highest", order[len(order) - count :]))
        variants.append((criterion, "lowest", order[:count]))
    generator = np.random.default_rng(seed)
    for number in range(draws):
        order = generator.permutation(len(table))
        variants.append(("random", str(number), order[:count]))
    found = []
    for criterion, side, taken in variants:
        keep = torch.ones(depth * width)
        keep[torch.from_numpy(taken)] = 0
        with pruned(pretrained.model, keep.view(depth, width)):
            loss = mean_loss(pretrained, texts)
        found.append((criterion, side, loss, np.exp(loss)))
        report(f"{criterion} {side}: perplexity {np.exp(loss):.4g}")
    return pd.DataFrame(found, columns=["criterion", "side", "loss", "perplexity"])


@contextmanager
def pruned(model: nn.Module, keep: Tensor) -> Iterator[None]:
    """Multiply each head's output by an entry of ``keep``, (layers, heads)."""

    def weigh(layer: int, logits: Tensor, support: Tensor | None) -> Tensor:
        kept = keep[layer].to(logits)[None, :, None, None]
        return softmax(logits, support) * kept

    with attending(model, weigh):
        yield


def mean_loss(pretrained: Pretrained, texts: Sequence[Sequence[int]]) -> float:
    """Return the mean negative log-likelihood of the texts' next tokens, nats."""
    device = next(pretrained.model.parameters()).device
    losses = []
    with torch.inference_mode():
        for passage in texts:
            tokens = torch.tensor([list(passage)], device=device)
            logits = pretrained.model(tokens).logits
            losses.append(float(next_token_loss(logits, tokens)))
    return float(np.mean(losses))

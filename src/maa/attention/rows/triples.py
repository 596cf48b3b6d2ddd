"""How often a convention decides which of two heads is closer to a third.

`flip_rates` asks that of heads that were seen; `model_free_rates` of rows that are
drawn at random, before any model is run: given the sinks' shares alone, so many
verdicts must be expected to flip.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maa.attention.rows.chunks import slices
from maa.attention.rows.dissimilarity import DISSIMILARITIES, flips


def sample_triples(
    groups: Sequence[Sequence[int]], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw triples of distinct heads, each from within one group, (count, 3).

    Args:
        groups: heads by group: all in one, or one group a layer; each at least three.
        count: number of triples; as many of each group as of any other, or one more.
        generator: source of the draws.

    Raises:
        ValueError: if a group has fewer than three heads.
    """
    if any(len(group) < 3 for group in groups):
        raise ValueError("a triple takes three heads, and a group here has fewer")
    shares = np.diff(np.linspace(0, count, len(groups) + 1).round().astype(int))
    found = []
    for group, share in zip(groups, shares, strict=True):
        order = generator.random((share, len(group))).argsort(1)[:, :3]
        found.append(np.asarray(group, dtype=np.int64)[order])
    return np.concatenate(found)


def flip_rates(
    logits: Tensor,
    triples: NDArray[np.int64],
    sinks: Tensor,
    support: Tensor | None = None,
    elements: int = 2**24,
) -> dict[str, Tensor]:
    """Return for each dissimilarity the rate of flips of each row, (N,) float64.

    Args:
        logits: (H, N, D): H heads' rows of the same N queries.
        triples: (T, 3) heads: the anchor and the two that are compared with it.
        sinks: keys that are kept or dropped, broadcastable to (N, D).
        support: keys that the rows may attend to, broadcastable to (N, D).
        elements: how many logits are worked on at a time; bounds the memory.
    """
    heads = torch.from_numpy(triples).to(logits.device)
    _, rows, keys = logits.shape
    rates = {
        name: torch.zeros(rows, dtype=torch.float64, device=logits.device)
        for name in DISSIMILARITIES
    }
    for part in slices(len(triples), 3 * rows * keys, elements):
        anchor, first, second = logits[heads[part].T]
        for name, measure in DISSIMILARITIES.items():
            found = flips(measure, anchor, first, second, sinks, support)
            rates[name] += found.sum(0) / len(triples)
    return rates


def model_free_rates(
    share: float,
    spread: float,
    generator: np.random.Generator,
    keys: int = 33,
    concentration: float = 0.5,
    triples: int = 20_000,
) -> dict[str, float]:
    """Return each dissimilarity's rate of flips among rows that no model made.

    The logits of the sinks' shares are normal and the contents Dirichlet, all of them
    independent: what would flip if heads had nothing in common.

    Args:
        share: the share whose logit is the mean of the sinks' logits, in (0, 1).
        spread: standard deviation of the sinks' logits.
        generator: source of the draws.
        keys: number of keys of a row, the sink among them; at least 3.
        concentration: of the Dirichlet distribution; below 1 contents are uneven.
        triples: number of triples.
    """
    logit = np.log(share / (1 - share)) + spread * generator.normal(
        size=(3, triples, 1)
    )
    content = generator.dirichlet([concentration] * (keys - 1), size=(3, triples))
    rows = np.concatenate([logit, np.log(content)], axis=-1)
    anchor, first, second = torch.from_numpy(rows)
    sinks = torch.arange(keys) == 0
    return {
        name: float(flips(measure, anchor, first, second, sinks).double().mean())
        for name, measure in DISSIMILARITIES.items()
    }

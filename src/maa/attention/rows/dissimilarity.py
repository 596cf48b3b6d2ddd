"""Dissimilarities of attention rows, and whether a convention decides their verdict.

The question is which of two heads is closer to a third. The sink may be *kept* in the
rows or *dropped* (and the rest renormalised); a verdict *flips* if it depends on that.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from maa.attention.rows.entropy import jensen_shannon
from maa.attention.rows.geometry import distance, log_closure
from maa.attention.rows.split import rest_of

Dissimilarity = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def cosine(first: Tensor, second: Tensor, support: Tensor | None = None) -> Tensor:
    """Return 1 minus the cosine of rows of probabilities, (...)."""
    a, b = log_closure(first, support).exp(), log_closure(second, support).exp()
    return 1 - cosine_similarity(a, b, dim=-1, eps=1e-30)


def euclid(first: Tensor, second: Tensor, support: Tensor | None = None) -> Tensor:
    """Return the Euclidean distance of rows of probabilities, (...)."""
    a, b = log_closure(first, support).exp(), log_closure(second, support).exp()
    length: Tensor = torch.linalg.vector_norm(a - b, dim=-1)
    return length


def total_variation(
    first: Tensor, second: Tensor, support: Tensor | None = None
) -> Tensor:
    """Return half the absolute difference of rows of probabilities, (...)."""
    a, b = log_closure(first, support).exp(), log_closure(second, support).exp()
    return (a - b).abs().sum(-1) / 2


DISSIMILARITIES: dict[str, Dissimilarity] = {
    "cosine": cosine,
    "js": jensen_shannon,
    "euclid": euclid,
    "aitchison": distance,
}


def verdict(
    measure: Dissimilarity,
    anchor: Tensor,
    first: Tensor,
    second: Tensor,
    support: Tensor | None = None,
) -> Tensor:
    """Return which row is closer to the anchor, (...): -1 the first, 1 the second.

    0 is a draw.
    """
    return torch.sign(
        measure(anchor, first, support) - measure(anchor, second, support)
    )


def flips(
    measure: Dissimilarity,
    anchor: Tensor,
    first: Tensor,
    second: Tensor,
    sinks: Tensor,
    support: Tensor | None = None,
) -> Tensor:
    """Return where the verdict with the sinks kept is not that without them, (...)."""
    dropped = rest_of(anchor, (sinks,), support)
    kept = verdict(measure, anchor, first, second, support)
    return kept != verdict(measure, anchor, first, second, dropped)

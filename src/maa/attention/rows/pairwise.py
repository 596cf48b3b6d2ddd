"""Dissimilarities between every two heads at once, and all triples' verdicts.

What `maa.attention.rows.dissimilarity` gives for two rows, for all pairs of heads in
matrix products and blocks. In float64: where a sink holds nearly all, what is left of a
dissimilarity is small against its terms.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import normalize

from maa.attention.rows.chunks import slices
from maa.attention.rows.geometry import clr, log_closure, widened

# What Clark et al.'s analysis (2019) replaces of a row by even attention.
SMOOTHED = 0.001
# A block of it stays within a core's cache.
ELEMENTS = 2**18


def pairwise(
    name: str,
    logits: Tensor,
    support: Tensor | None = None,
    elements: int = ELEMENTS,
) -> Tensor:
    """Return a dissimilarity between every two of H heads, (..., H, H) float64.

    Args:
        name: one of `PAIRWISE`.
        logits: H heads' rows of the same query, (..., H, D).
        support: keys that the query may attend to, broadcastable to (..., D).
        elements: how many weights are worked on at a time, beside the result.

    Returns:
        Symmetric matrices with a diagonal of 0. A row without any key has no weight and
        is at distance 0 from another of the kind.

    Raises:
        KeyError: for a name that is not known.
    """
    measure = PAIRWISE[name]
    inside = None if support is None else support.unsqueeze(-2)
    z = widened(logits, inside).double()
    flat = math.prod(z.shape[:-2]), *z.shape[-2:]
    if inside is not None:
        inside = inside.expand_as(z).reshape(flat)
    found = measure(z.reshape(flat), inside, elements)
    found = ((found + found.mT) / 2).clamp(min=0)
    found.diagonal(dim1=-2, dim2=-1).zero_()
    return found.view(*logits.shape[:-1], logits.shape[-2])


def _probabilities(z: Tensor, support: Tensor | None) -> Tensor:
    return log_closure(z, support).exp()


def _cosine(z: Tensor, support: Tensor | None, _: int) -> Tensor:
    unit = normalize(_probabilities(z, support), dim=-1, eps=1e-30)
    return 1 - unit @ unit.mT


def _euclid(z: Tensor, support: Tensor | None, _: int) -> Tensor:
    return _apart(_probabilities(z, support))


def _aitchison(z: Tensor, support: Tensor | None, _: int) -> Tensor:
    return _apart(clr(z, support))


def _apart(points: Tensor) -> Tensor:
    # by differences: products lose what near rows have left
    return torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")


def _js(z: Tensor, support: Tensor | None, elements: int) -> Tensor:
    return _divergences(_probabilities(z, support), elements)


def _js_smoothed(z: Tensor, support: Tensor | None, elements: int) -> Tensor:
    """Return the divergences of rows that are mixed with even attention."""
    inside = torch.ones_like(z) if support is None else support.to(z)
    even = inside / inside.sum(-1, keepdim=True).clamp(min=1)
    weights = _probabilities(z, support)
    return _divergences((1 - SMOOTHED) * weights + SMOOTHED * even, elements)


def _divergences(weights: Tensor, elements: int) -> Tensor:
    """Return H((p + q) / 2) - (H(p) + H(q)) / 2 of every two heads, (B, H, H)."""
    batch, heads, keys = weights.shape
    mixed = weights.new_zeros(batch, heads, heads)
    for some in slices(batch, heads * keys, elements):
        rows = weights[some]
        for these in slices(heads, rows.numel(), elements):
            others = rows[:, these.start :]
            half = (rows[:, these, None] + others[:, None]) / 2
            mixed[some, these, these.start :] = _negative_entropy(half)
    upper = mixed.triu(1)
    own = _negative_entropy(weights) / 2
    return own[:, :, None] + own[:, None, :] - upper - upper.mT


def _negative_entropy(weights: Tensor) -> Tensor:
    tiny = torch.finfo(weights.dtype).tiny
    return weights.clamp(min=tiny).log_().mul_(weights).sum(-1)


PAIRWISE: dict[str, Callable[[Tensor, Tensor | None, int], Tensor]] = {
    "cosine": _cosine,
    "js": _js,
    "js-smoothed": _js_smoothed,
    "euclid": _euclid,
    "aitchison": _aitchison,
}


def all_flips(kept: Tensor, dropped: Tensor) -> Tensor:
    """Return the rate at which verdicts flip among all triples of heads, (...).

    A triple is an anchor and two others; its verdict is which of the two is closer.

    Args:
        kept: dissimilarities of H heads with the sinks, (..., H, H); H is at least 3.
        dropped: those without.

    Raises:
        ValueError: if there are fewer than three heads.
    """
    heads = kept.shape[-1]
    if heads < 3:
        raise ValueError(f"a triple takes three heads, and there are {heads}")
    total = torch.zeros(kept.shape[:-2], dtype=torch.float64, device=kept.device)
    for anchor in range(heads):
        others = [head for head in range(heads) if head != anchor]
        with_sinks = _order(kept[..., anchor, others])
        without = _order(dropped[..., anchor, others])
        total += (with_sinks != without).sum((-2, -1))
    return total / (heads * (heads - 1) * (heads - 2))


def _order(distances: Tensor) -> Tensor:
    return torch.sign(distances.unsqueeze(-1) - distances.unsqueeze(-2))

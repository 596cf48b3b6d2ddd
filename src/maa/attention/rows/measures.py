"""All measures of attention rows in one pass over their logits."""

import math

import torch
from torch import Tensor

from maa.attention.lp import check_order
from maa.attention.rows.entropy import binary_entropy, entropy
from maa.attention.rows.geometry import widened

# The smallest positive number of half precision: below it a probability is stored as 0.
HALF_FLOOR = 2.0**-24
MEASURES = {
    "keys": "keys that the row may attend to",
    "sink_share": "attention that the sinks hold",
    "diagonal_share": "attention that the row's own key holds",
    "entropy": "entropy of the row, nats",
    "entropy_binary": "of it, how sinks and content share the attention",
    "entropy_sinks": "of it, within the sinks",
    "entropy_content": "of it, within the content",
    "content_entropy": "entropy of the content by itself: with the sinks dropped",
    "balance": "the sinks' balance against the content",
    "unevenness": "KL divergence of the content from even attention, nats",
    "hill_kept": "Hill's number of order p: how many keys share the attention",
    "hill_dropped": "the same with the sinks dropped",
    "gain": "mass-aware attention's gain at p",
    "elasticity": "growth of the content's amplitude with its count, softmax",
    "elasticity_p": "the same for mass-aware attention at p",
    "below_half": "share of the row's keys that half precision rounds to 0",
}


def row_measures(
    logits: Tensor, sinks: Tensor, support: Tensor | None = None, p: float = 1.1
) -> dict[str, Tensor]:
    """Return every measure of `MEASURES`, each (..., N) float32 or wider.

    They are what the functions of this package give one by one, from two exponentials a
    logit. A row without content has an entropy of 0 in it and its Hill number is 0.

    Args:
        logits: rows of N queries on D keys, (..., N, D); the row's own key is that of
            the same number, counted from the end, as in a causal model.
        sinks: keys that are sinks, bool, (D,) or (N, D).
        support: keys that a row may attend to, broadcastable to the logits.
        p: order of the Hill numbers and the gain, above 1 and finite.

    Raises:
        ValueError: if p is 1, infinite or out of range.
    """
    if not 1 < check_order(p) < math.inf:
        raise ValueError(f"p lies above 1 and is finite, got {p}")
    z = widened(logits, support)
    rows, keys = z.shape[-2:]
    inside = torch.ones((rows, keys), dtype=torch.bool, device=z.device)
    inside = inside if support is None else inside & support
    sink = inside & sinks
    content = inside & ~sinks

    # Content: moments of exp(z - largest); sinks: few keys, column by column.
    masked = z.masked_fill(~content, -math.inf)
    top = masked.amax(-1, keepdim=True)
    top = top.masked_fill(top == -math.inf, 0.0)
    apart = masked - top
    weight = apart.exp()
    mass = weight.sum(-1)
    log_content = mass.log() + top.squeeze(-1)
    finite = torch.where(content, apart, 0.0)
    content_entropy = mass.log() - (weight * finite).sum(-1) / mass
    content_entropy = torch.where(mass > 0, content_entropy, 0.0).clamp(min=0)
    log_power = (p * apart).exp().sum(-1).log() - p * mass.log()
    log_power = torch.where(mass > 0, log_power, 0.0)

    column = sinks.reshape(-1, keys).any(0).nonzero().squeeze(-1)
    few, held = z[..., column], sink[..., column]
    few = few.masked_fill(~held, -math.inf)
    log_sinks = few.logsumexp(-1)
    shares = few - log_sinks.masked_fill(log_sinks == -math.inf, 0.0).unsqueeze(-1)
    log_sinks_power = torch.logsumexp(p * shares, -1)

    logit = log_sinks - log_content
    share, rest = torch.sigmoid(logit), torch.sigmoid(-logit)
    total = torch.logaddexp(log_sinks, log_content)
    powers = torch.stack(
        [
            p * torch.nn.functional.logsigmoid(logit) + log_sinks_power,
            p * torch.nn.functional.logsigmoid(-logit) + log_power,
        ]
    )
    whole = torch.logsumexp(powers, 0)
    escort = (powers[1] - whole).exp()

    k, m = (mask.sum(-1).to(z.dtype) for mask in (sink, content))
    mean = finite.sum(-1) / m.clamp(min=1)
    uneven = torch.where(m > 0, mass.log() - m.clamp(min=1).log() - mean, 0.0)
    sinks_mean = few.masked_fill(~held, 0.0).sum(-1) / k.clamp(min=1)
    size = (k * m / (k + m).clamp(min=1)).sqrt()
    diagonal = torch.diagonal(z, keys - rows, -2, -1)
    own = torch.diagonal(inside.expand_as(z), keys - rows, -2, -1)
    tiny = (masked - total.unsqueeze(-1) < math.log(HALF_FLOOR / 2)) & content
    sinks_entropy = entropy(few, held)
    binary = binary_entropy(logit)
    return {
        "keys": (k + m).expand_as(share),
        "sink_share": share,
        "diagonal_share": torch.where(own, (diagonal - total).exp(), 0.0),
        "entropy": binary + share * sinks_entropy + rest * content_entropy,
        "entropy_binary": binary,
        "entropy_sinks": share * sinks_entropy,
        "entropy_content": rest * content_entropy,
        "content_entropy": content_entropy,
        "balance": size * torch.where(size > 0, sinks_mean - mean - top.squeeze(-1), 0),
        "unevenness": uneven,
        "hill_kept": (whole / (1 - p)).exp(),
        "hill_dropped": torch.where(m > 0, (log_power / (1 - p)).exp(), 0.0),
        "gain": (-whole / p).exp(),
        "elasticity": share,
        "elasticity_p": 1 - escort / p,
        "below_half": tiny.sum(-1) / (k + m).clamp(min=1),
    }

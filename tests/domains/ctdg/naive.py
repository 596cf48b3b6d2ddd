"""The backbones once more, one candidate at a time, straight from their description.

Slow and plain on purpose: keys and values are formed, padding does not exist, nothing
is shared between candidates, and nothing of the library is used.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Weights = Mapping[str, Tensor]


def lp_weights(logits: Tensor, p: float) -> Tensor:
    """beta = m / ||m||_p with m = exp(a - max a)."""
    m = torch.exp(logits - logits.max())
    return m / (m**p).sum() ** (1 / p)


def linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]


def norm(weights: Weights, name: str, x: Tensor, eps: float) -> Tensor:
    centred = x - x.mean()
    scaled = centred / torch.sqrt((centred**2).mean() + eps)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def time_features(seconds: float, width: int) -> Tensor:
    frequency = torch.exp(torch.linspace(0, 6, width // 2))
    angle = math.log1p(seconds) / frequency
    return torch.cat([torch.sin(angle), torch.cos(angle)])


def past(stream: Any, row: int, depth: int) -> list[int]:
    """Return the rows of the source's last `depth` earlier events, oldest first."""
    same = np.flatnonzero(stream.source[:row] == stream.source[row])
    return [int(other) for other in same[-depth:]]


def attend(
    weights: Weights,
    name: str,
    query: Tensor,
    tokens: list[Tensor],
    heads: int,
    p: float,
) -> tuple[Tensor, list[Tensor]]:
    """Return the concatenated heads' outputs, and each head's logits."""
    q = linear(weights, f"{name}.query", query).chunk(heads)
    keys = [linear(weights, f"{name}.key", token).chunk(heads) for token in tokens]
    values = [linear(weights, f"{name}.value", token).chunk(heads) for token in tokens]
    outputs, asked = [], []
    for head in range(heads):
        if not tokens:
            outputs.append(torch.zeros_like(q[head]))
            continue
        size = len(q[head])
        logits = torch.stack([q[head] @ k[head] / math.sqrt(size) for k in keys])
        beta = lp_weights(logits, p)
        outputs.append(
            sum((b * v[head] for b, v in zip(beta, values, strict=True)), 0 * q[head])
        )
        asked.append(logits)
    return torch.cat(outputs), asked


def tgat(
    weights: Weights, stream: Any, row: int, destination: int, p: float, width: int
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return score, Z and logits; `width` is that of the time encoding."""
    source = weights["embedding.weight"][int(stream.source[row])]
    target = weights["embedding.weight"][destination]
    tokens = []
    for event in past(stream, row, stream.depth):
        neighbour = weights["embedding.weight"][int(stream.destination[event])]
        age = time_features(float(stream.time[row] - stream.time[event]), width)
        token = linear(weights, "token", torch.cat([neighbour, weights["edge"], age]))
        tokens.append(F.gelu(norm(weights, "token_norm", token, 1e-5)))
    now = time_features(float(stream.time[row]), width)
    query = linear(weights, "query", torch.cat([source, target, now]))
    query = F.gelu(norm(weights, "query_norm", query, 1e-5))
    context, logits = attend(weights, "attention", query, tokens, 1, p)
    state = norm(weights, "state_norm", source + context, 1e-5)
    z = torch.cat([state, target, query, context])
    network = linear(weights, "output", F.gelu(linear(weights, "hidden", z)))[0]
    return state @ target / math.sqrt(len(target)) + network, z, logits


def craft(
    weights: Weights,
    stream: Any,
    row: int,
    destination: int,
    p: float,
    layers: int,
    heads: int,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return score, Z and logits."""
    eps = 1e-12
    events = past(stream, row, stream.depth)
    tokens = []
    for place, event in enumerate(events):
        position = weights["position.weight"][stream.depth - len(events) + place]
        neighbour = weights["embedding.weight"][int(stream.destination[event])]
        tokens.append(norm(weights, "embedding_norm", neighbour + position, eps))
    x = norm(weights, "embedding_norm", weights["embedding.weight"][destination], eps)
    asked = []
    for layer in range(layers):
        name = f"layers.{layer}"
        context, logits = attend(weights, f"{name}.attention", x, tokens, heads, p)
        mixed = linear(weights, f"{name}.mix", context)
        x = x + norm(weights, f"{name}.attention_norm", mixed, eps)
        wide = F.gelu(linear(weights, f"{name}.expand", x))
        x = x + norm(
            weights, f"{name}.norm", linear(weights, f"{name}.contract", wide), eps
        )
        asked.extend(logits)
    elapsed = torch.tensor([elapsed_time(stream, row, destination)])
    encoded = norm(weights, "elapsed_norm", linear(weights, "elapsed", elapsed), eps)
    z = torch.cat([x, encoded])
    return linear(weights, "output", z)[0], z, asked


def elapsed_time(stream: Any, row: int, destination: int) -> float:
    """Return the seconds since the destination's last earlier event, or -100000."""
    met = stream.destination[:row] == destination
    if not stream.bipartite:
        met = met | (stream.source[:row] == destination)
    if not met.any():
        return -100000.0
    return float(stream.time[row] - stream.time[np.flatnonzero(met)[-1]])

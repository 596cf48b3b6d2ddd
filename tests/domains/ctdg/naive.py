"""The backbones once more, one candidate at a time, straight from their description.

Slow and plain on purpose: keys and values are formed, padding does not exist, nothing
is shared between candidates, and nothing of the library is used.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Weights = Mapping[str, Tensor]
Mix = Callable[[list[Tensor]], list[Tensor]]


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


def source_reader(
    weights: Weights,
    stream: Any,
    row: int,
    destination: int,
    p: float,
    width: int,
    mix: Mix,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return score, Z and logits; `mix` acts on the history's tokens, oldest first.

    `width` is that of the time encoding.
    """
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
    context, logits = attend(weights, "attention", query, mix(tokens), 1, p)
    state = norm(weights, "state_norm", source + context, 1e-5)
    z = torch.cat([state, target, query, context])
    network = linear(weights, "output", F.gelu(linear(weights, "hidden", z)))[0]
    return state @ target / math.sqrt(len(target)) + network, z, logits


def tgat(
    weights: Weights, stream: Any, row: int, destination: int, p: float, width: int
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return score, Z and logits."""
    return source_reader(weights, stream, row, destination, p, width, lambda x: x)


def patches(weights: Weights, layers: int, heads: int, patch: int) -> Mix:
    """Return DyGFormer's `mix`."""

    def mix(tokens: list[Tensor]) -> list[Tensor]:
        missing = -len(tokens) % patch
        filled = [torch.zeros_like(token) for token in tokens[:1] * missing] + tokens
        entries = []
        for start in range(0, len(filled), patch):
            joined = torch.cat(filled[start : start + patch])
            entry = norm(
                weights, "project_norm", linear(weights, "project", joined), 1e-5
            )
            entries.append(F.gelu(entry))
        for layer in range(layers):
            entries = transform(weights, f"transformer.layers.{layer}", entries, heads)
        return entries

    return mix


def transform(
    weights: Weights, name: str, entries: list[Tensor], heads: int
) -> list[Tensor]:
    """Return what a pre-norm transformer layer makes of a sequence."""
    normed = [norm(weights, f"{name}.norm1", entry, 1e-5) for entry in entries]
    projected = [
        weights[f"{name}.self_attn.in_proj_weight"] @ entry
        + weights[f"{name}.self_attn.in_proj_bias"]
        for entry in normed
    ]
    changed = []
    for place, entry in enumerate(entries):
        outputs = []
        query = projected[place].chunk(3)[0].chunk(heads)
        for head in range(heads):
            keys = torch.stack([x.chunk(3)[1].chunk(heads)[head] for x in projected])
            values = torch.stack([x.chunk(3)[2].chunk(heads)[head] for x in projected])
            logits = keys @ query[head] / math.sqrt(len(query[head]))
            outputs.append(torch.softmax(logits, dim=0) @ values)
        mixed = linear(weights, f"{name}.self_attn.out_proj", torch.cat(outputs))
        entry = entry + mixed
        wide = linear(
            weights, f"{name}.linear1", norm(weights, f"{name}.norm2", entry, 1e-5)
        )
        changed.append(entry + linear(weights, f"{name}.linear2", F.gelu(wide)))
    return changed


def mixers(weights: Weights, layers: int) -> Mix:
    """Return GraphMixer's `mix`."""

    def mix(tokens: list[Tensor]) -> list[Tensor]:
        for layer in range(layers):
            tokens = mix_once(weights, f"blocks.{layer}", tokens) if tokens else []
        return tokens

    return mix


def mix_once(weights: Weights, name: str, tokens: list[Tensor]) -> list[Tensor]:
    """Return what a mixer block makes of a history."""
    changed, asked = [], []
    for token in tokens:
        wide = linear(
            weights, f"{name}.expand", norm(weights, f"{name}.norm", token, 1e-5)
        )
        token = token + linear(weights, f"{name}.contract", F.gelu(wide))
        gate = norm(weights, f"{name}.gate_norm", token, 1e-5)
        gate = F.gelu(linear(weights, f"{name}.gate", gate))
        asked.append((weights[f"{name}.gate_output.weight"] @ gate)[0])
        changed.append(token)
    shares = torch.softmax(torch.stack(asked), dim=0)
    mean = sum(share * token for share, token in zip(shares, changed, strict=True))
    return [token + mean for token in changed]


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

"""Small event streams and a transparent model, for tests of what reads them."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from maa.domains.ctdg.backbones.layers import Backbone, Reading
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.stream import EventStream


def make_stream(
    source: Sequence[int],
    destination: Sequence[int],
    time: Sequence[float],
    *,
    sources: int,
    nodes: int,
    depth: int,
    train_end: int,
    validation_end: int,
    negatives: dict[str, Sequence[int]] | None = None,
) -> EventStream:
    """Make a stream by the definitions, one event at a time.

    `sources` is 0 for a unipartite stream. Negatives default to the pool's first member
    that is not the event's destination, and may be given as "{part}_{kind}".
    """
    history = np.full((len(source), depth), -1, dtype=np.int32)
    for row, node in enumerate(source):
        earlier = [other for other in range(row) if source[other] == node][-depth:]
        history[row, depth - len(earlier) :] = earlier
    pool = sorted(set(destination))
    bounds = {
        "validation": (train_end, validation_end),
        "test": (validation_end, len(source)),
    }
    parts: dict[str, Any] = {}
    for part, (start, stop) in bounds.items():
        parts[f"{part}_rows"] = np.arange(start, stop, dtype=np.int32)
        for kind in ("unseen", "random", "historical"):
            default = [
                next(node for node in pool if node != destination[row])
                for row in range(start, stop)
            ]
            given = (negatives or {}).get(f"{part}_{kind}", default)
            parts[f"{part}_{kind}"] = np.array(given, dtype=np.int32)
    return EventStream(
        source=np.array(source, dtype=np.int32),
        destination=np.array(destination, dtype=np.int32),
        time=np.array(time, dtype=np.float64),
        history=history,
        pool=np.array(pool, dtype=np.int32),
        nodes=nodes,
        sources=sources,
        bipartite=sources > 0,
        train_end=train_end,
        validation_end=validation_end,
        **parts,
    )


def random_stream(
    events: int = 60, *, bipartite: bool = True, depth: int = 5, seed: int = 0
) -> EventStream:
    """Make a stream of 6 sources and 8 destinations with ties in time."""
    rng = np.random.default_rng(seed)
    first = 6 if bipartite else 0
    source = rng.integers(0, 6, events)
    destination = rng.integers(first, first + 8, events)
    if not bipartite:
        destination = np.where(destination == source, (source + 1) % 8, destination)
    time = np.sort(rng.integers(0, 4 * events, events)) - 0.0
    return make_stream(
        source.tolist(),
        destination.tolist(),
        (time - time[0]).tolist(),
        sources=first,
        nodes=first + 8,
        depth=depth,
        train_end=int(0.6 * events),
        validation_end=int(0.7 * events),
    )


def habitual_stream(events: int = 3000, seed: int = 0) -> EventStream:
    """Make an easy stream: each of 20 sources keeps to its own two of 40 items."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 20, events)
    destination = 20 + 2 * source + rng.integers(0, 2, events)
    start, stop = int(0.63 * events), int(0.7 * events)
    foreign = 20 + (2 * source + 2 + rng.integers(0, 38, events)) % 40
    return make_stream(
        source.tolist(),
        destination.tolist(),
        np.arange(events, dtype=float).tolist(),
        sources=20,
        nodes=60,
        depth=5,
        train_end=start,
        validation_end=stop,
        negatives={
            "validation_unseen": foreign[start:stop].tolist(),
            "test_unseen": foreign[stop:].tolist(),
        },
    )


class Transparent(Backbone):
    """A model whose score is the destination's id plus `scale` times summed ages."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([scale]))

    def read(self, batch: Batch) -> Reading:
        ages = self.scale * batch.age.sum(dim=1, keepdim=True)
        z = (batch.destination + ages).unsqueeze(-1)
        return Reading(z, [], torch.zeros_like(z), {"z": z})

    def predict(self, z: Tensor) -> Tensor:
        return z.squeeze(-1)


def transparent_backbone(scale: float) -> SimpleNamespace:
    """Return `Transparent` in the form of a backbone's module."""
    return SimpleNamespace(build=lambda stream, operator, settings: Transparent(scale))

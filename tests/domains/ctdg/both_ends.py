"""Help for the tests of models that read the events of both ends."""

import dataclasses
from typing import Any

import numpy as np
import torch

from maa.domains.ctdg.backbones.official import EndsBatch
from maa.domains.ctdg.stream import EventStream
from tests.domains.ctdg.small_streams import make_stream, random_stream


def last_events(
    stream: EventStream, node: int, row: int, depth: int
) -> list[tuple[int, int]]:
    """Return other end and row of a node's last events before a row, oldest first.

    A self-loop is met once from each of its ends.
    """
    met = []
    for event in range(row):
        ends = int(stream.source[event]), int(stream.destination[event])
        met += [(ends[1 - end], event) for end in (0, 1) if ends[end] == node]
    return met[-depth:]


def looping_stream() -> EventStream:
    """Make a unipartite stream where about a third of the events are self-loops."""
    rng = np.random.default_rng(3)
    source, destination = rng.integers(0, 6, (2, 60))
    destination = np.where(rng.random(60) < 0.3, source, destination)
    return make_stream(
        source.tolist(),
        destination.tolist(),
        (np.sort(rng.integers(0, 90, 60)) - 0.0).tolist(),
        sources=0,
        nodes=6,
        depth=5,
        train_end=36,
        validation_end=42,
    )


STREAMS = {
    "bipartite": random_stream,
    "unipartite": lambda: random_stream(bipartite=False),
    "self-loops": looping_stream,
}


def later_changed(stream: EventStream, row: int, seed: int = 5) -> EventStream:
    """Return the stream with other events from a row on, all else as before."""
    rng = np.random.default_rng(seed)
    source, destination = stream.source.copy(), stream.destination.copy()
    time = stream.time.copy()
    source[row + 1 :] = rng.permutation(source[row + 1 :])
    destination[row:] = rng.permutation(destination[row:])
    time[row + 1 :] += 1000.0
    return dataclasses.replace(
        stream, source=source, destination=destination, time=time
    )


def rows_alone(batch: EndsBatch) -> list[EndsBatch]:
    """Return the batch's rows as batches of one."""
    return [batch[row : row + 1] for row in range(len(batch))]


def assert_rows_are_alone(model: Any, batch: EndsBatch) -> None:
    """Check that a row's scores do not depend on the rows it is scored with."""
    model.eval()
    together = model(batch)
    alone = torch.cat([model(row) for row in rows_alone(batch)])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)

"""History windows against the neighbour loader that a PyG user would take.

    python benchmarks/history_lookup.py

`LastNeighborLoader` of PyTorch Geometric keeps the last events of each node and is
asked and fed batch by batch, so all events of a batch see the state before the batch.
Our windows give, in one pass over the whole stream, each event's own last rows. In a
bipartite stream with batches of one event both are the same, which is checked first.
"""

import argparse
import time
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import torch
from growing import growing_events
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.nn.models.tgn import LastNeighborLoader

from maa.domains.ctdg.history import windows

DEPTH = 20
TIMES = 20

Ids = NDArray[np.int32]


def ids(events: int) -> tuple[Ids, Ids, int]:
    """Return sources, destinations and the number of nodes of a generated stream."""
    table = growing_events(events)
    source, destination = table["source"], table["destination"]
    nodes = int(destination.max()) + 1
    return source.to_numpy(np.int32), destination.to_numpy(np.int32), nodes


def look_up(source: Ids, destination: Ids, nodes: int, batch: int) -> Iterator[Tensor]:
    """Go through the stream with PyG; yield the rows found for each batch's sources.

    Only sources are asked about; a training loop asks about destinations as well.
    """
    loader = LastNeighborLoader(nodes, DEPTH)
    sources = torch.from_numpy(source).long()
    destinations = torch.from_numpy(destination).long()
    for start in range(0, len(source), batch):
        piece = slice(start, start + batch)
        _, _, rows = loader(sources[piece].unique())
        loader.insert(sources[piece], destinations[piece])
        yield rows


def seconds(task: Callable[[], object], repeats: int) -> float:
    """Return the time of the fastest of some repeats."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        taken.append(time.perf_counter() - start)
    return min(taken)


def check() -> None:
    """Stop unless both find the same rows, event by event."""
    source, destination, nodes = ids(2000)
    ours = windows(source, DEPTH, nodes)
    found = look_up(source, destination, nodes, batch=1)
    theirs = [sorted(rows.tolist()) for rows in found]
    if [row[row >= 0].tolist() for row in ours] != theirs:
        raise SystemExit("the two disagree on a stream of 2,000 events")
    print(f"both find the same last {DEPTH} rows of 2,000 events, one at a time")


def main() -> None:
    """Check that both agree, then time both over a whole stream."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    check()
    source, destination, nodes = ids(arguments.events)
    ours = seconds(lambda: windows(source, DEPTH, nodes), arguments.repeats)
    print(f"{'windows, whole stream':<32}{1e9 * ours / len(source):>8.0f} ns/event")
    for batch in (128, 200):
        theirs = seconds(
            lambda size=batch: deque(look_up(source, destination, nodes, size), 0),
            arguments.repeats,
        )
        ratio = theirs / ours
        verdict = "at least" if ratio >= TIMES else "NOT"
        print(
            f"{f'LastNeighborLoader, batches of {batch}':<32}"
            f"{1e9 * theirs / len(source):>8.0f} ns/event"
            f"{ratio:>8.1f} times as long ({verdict} {TIMES})"
        )


if __name__ == "__main__":
    main()

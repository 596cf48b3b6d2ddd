"""Stage: the eight statistics that the probes recover (paper, Table 11).

All from observations strictly before a query's time, ties excluded, inside the window.
They depend on the stream and its queries alone, so they are computed once, for all
models, in one vectorised pass.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maa.domains.ctdg.buckets import buckets
from maa.domains.ctdg.grouping import Integers, strictly_before
from maa.domains.ctdg.neighbourhood import Endpoints, common_neighbours, degrees
from maa.domains.ctdg.recurrence import Contacts, Statistic, recurrence
from maa.domains.ctdg.statistics import STATISTICS
from maa.domains.ctdg.stream import PARTS, EventStream


def targets(stream: str | Path) -> pd.DataFrame:
    """Compute the targets of a prepared stream's queries.

    Args:
        stream: the file that the prepare stage wrote.

    Returns:
        What `compute` returns.
    """
    return compute(EventStream.load(stream))


def compute(stream: EventStream) -> pd.DataFrame:
    """Compute the eight statistics of all queries of both parts.

    Returns:
        One row a query: part; query, the index into ``stream.queries(part)``; the
        eight of `STATISTICS` (float64); and a ``support_`` column (bool) for each:
        whether the query had the observations that its formula needs. A query without
        them has the fallback value of Table 11 and counts like any other.
    """
    asked = {part: stream.queries(part) for part in PARTS}
    row = np.concatenate([queries.row for queries in asked.values()])
    destination = np.concatenate([queries.destination for queries in asked.values()])
    found = _recurrence(stream, row, destination) | _graph(stream, row, destination)
    sizes = [len(queries.row) for queries in asked.values()]
    columns: dict[str, object] = {
        "part": pd.Categorical.from_codes(np.repeat([0, 1], sizes), pd.Index(PARTS)),
        "query": np.concatenate([np.arange(size) for size in sizes]),
    }
    columns |= {name: found[name][0] for name in STATISTICS}
    columns |= {f"support_{name}": found[name][1] for name in STATISTICS}
    return pd.DataFrame(columns)


def _recurrence(
    stream: EventStream, row: NDArray[np.int32], destination: NDArray[np.int32]
) -> dict[str, Statistic]:
    """The statistics of times, a bucket of sources after the other."""
    cutoff = strictly_before(stream.time, row)
    source = stream.source[row]
    found: dict[str, Statistic] = {}
    for bucket in buckets(stream.nodes, stream.source, source):
        rows, asked = bucket.members
        if not len(asked):
            continue
        events = Contacts(
            stream.source[rows] - bucket.first,
            stream.destination[rows],
            stream.time[rows],
        )
        queries = Contacts(
            source[asked] - bucket.first, destination[asked], stream.time[row[asked]]
        )
        before = np.searchsorted(rows, cutoff[asked])
        for name, (values, support) in recurrence(events, queries, before).items():
            if name not in found:
                found[name] = np.empty(len(row)), np.empty(len(row), dtype=np.bool_)
            found[name][0][asked] = values
            found[name][1][asked] = support
    return found


def _graph(
    stream: EventStream, row: NDArray[np.int32], destination: NDArray[np.int32]
) -> dict[str, Statistic]:
    """The statistics of degrees and neighbours."""
    cutoff = strictly_before(stream.time, row)
    source = stream.source[row]
    endpoints = Endpoints.of(stream.source, stream.destination, stream.nodes)
    ends = np.concatenate([source, destination])
    degree, near = degrees(endpoints, ends, np.tile(cutoff, 2))
    (degree_u, degree_v), (near_u, near_v) = np.split(degree, 2), np.split(near, 2)
    common: Integers = np.zeros(len(row), dtype=np.int64)
    if not stream.bipartite:  # disjoint sides have no neighbours in common
        common = common_neighbours(endpoints, source, destination, cutoff)
    union = near_u + near_v - common
    always = np.ones(len(row), dtype=np.bool_)
    return {
        "density": (near_u / (stream.nodes - 1), always),
        "homophily": (common / np.maximum(union, 1), union > 0),
        "preferential_attachment": (np.log1p(degree_u * degree_v), always),
    }

"""Degrees and neighbours before a query: density, homophily, preferential attachment.

A node's neighbours and degree count events in either role. In a bipartite stream that
is the same as counting by role.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maa.domains.ctdg.buckets import buckets
from maa.domains.ctdg.grouping import Grouping, Integers
from maa.domains.ctdg.meetings import Meetings

PIECE = 1 << 22
"""Neighbours listed at a time while sets are compared."""

Ids = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Endpoints:
    """Each event as two entries, one an endpoint, in time order.

    Attributes:
        node: int32 [2n], source and destination in turn.
        other: int32 [2n], the node at the other end.
        nodes: number of nodes.
    """

    node: Ids
    other: Ids
    nodes: int

    @classmethod
    def of(cls, source: Ids, destination: Ids, nodes: int) -> "Endpoints":
        """List the endpoints of events; a self-loop has its node twice."""
        node = np.stack([source, destination], axis=1)
        other = node[:, ::-1].reshape(-1)
        return cls(node.reshape(-1), other, nodes)


def degrees(
    endpoints: Endpoints, node: Ids, cutoff: Integers
) -> tuple[Integers, Integers]:
    """Return degree and number of distinct neighbours before a cutoff.

    Args:
        endpoints: the events.
        node: int32 [q], nodes asked about.
        cutoff: int64 [q], events before this row count.

    Returns:
        Two int64 arrays [q]. A self-loop adds 2 to the degree, and the node to its own
        neighbours.
    """
    degree = np.empty(len(node), dtype=np.int64)
    neighbours = np.empty(len(node), dtype=np.int64)
    for bucket in buckets(endpoints.nodes, endpoints.node, node):
        entries, asked = bucket.members
        local = endpoints.node[entries] - bucket.first
        wanted = node[asked] - bucket.first
        before = np.searchsorted(entries, 2 * cutoff[asked])
        grouping = Grouping(local, bucket.groups)
        degree[asked] = grouping.stop(wanted, before) - grouping.starts[wanted]
        met = Meetings(local, endpoints.other[entries], bucket.groups)
        neighbours[asked] = met.stop(wanted, before) - met.starts[wanted]
    return degree, neighbours


def common_neighbours(
    endpoints: Endpoints, left: Ids, right: Ids, cutoff: Integers
) -> Integers:
    """Return int64 [q]: how many nodes both had as neighbour before a cutoff.

    The smaller of the two sets is listed, and each of its members looked up in the
    other.

    Args:
        endpoints: the events.
        left: int32 [q], nodes.
        right: int32 [q], nodes.
        cutoff: int64 [q], events before this row count.
    """
    met = Meetings(endpoints.node, endpoints.other, endpoints.nodes)
    before = 2 * cutoff
    sizes = [met.stop(node, before) - met.starts[node] for node in (left, right)]
    swap = sizes[1] < sizes[0]
    small, large = np.where(swap, right, left), np.where(swap, left, right)
    size = np.minimum(sizes[0], sizes[1])
    common = np.zeros(len(left), dtype=np.int64)
    portion = np.cumsum(size) // PIECE
    for asked in np.split(np.arange(len(left)), np.flatnonzero(np.diff(portion)) + 1):
        listed = size[asked]
        entry = np.repeat(np.arange(len(asked)), listed)
        ahead = np.repeat(np.cumsum(listed) - listed, listed)
        query = asked[entry]
        place = met.starts[small[query]] + np.arange(len(entry)) - ahead
        found = met.first[met.place(large[query], met.other[place])] < before[query]
        common[asked] = np.bincount(entry[found], minlength=len(asked))
    return common

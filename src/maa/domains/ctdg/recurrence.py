"""What the times of a source's and a pair's earlier events say: five of the eight.

Pair frequency, recency, persistence, periodicity and granularity of the paper's Table
11, for many queries at once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maa.domains.ctdg.grouping import Grouping, Integers
from maa.domains.ctdg.prefixes import prefix_medians, prefix_moments

Floats = NDArray[np.float64]
Statistic = tuple[Floats, NDArray[np.bool_]]
"""Values float64 [q], and bool [q]: whether a query had what the formula needs."""

MOST_BINS = 10
EPSILON = 1e-12


@dataclass(frozen=True, eq=False)
class Contacts:
    """Events in time order, or queries in any order.

    Attributes:
        source: integers [n], from 0.
        destination: integers [n].
        time: float64 [n].
    """

    source: NDArray[np.integer]
    destination: NDArray[np.integer]
    time: Floats


@dataclass(frozen=True, eq=False)
class Past:
    """Event times group by group, and for each query the slice it may look at.

    Attributes:
        times: float64 [n], ascending within a group.
        ranks: int64 [n], place within the group.
        start: int64 [q], where a query's group begins.
        stop: int64 [q], where the events strictly before the query end.
    """

    times: Floats
    ranks: Integers
    start: Integers
    stop: Integers

    @property
    def count(self) -> Integers:
        """Number of events before each query."""
        return self.stop - self.start

    @property
    def final(self) -> Integers:
        """Index of the last event before each query; any index where there is none."""
        return np.maximum(self.stop - 1, 0)

    def select(self, chosen: NDArray[np.bool_]) -> "Past":
        """Return the same events for some of the queries."""
        return Past(self.times, self.ranks, self.start[chosen], self.stop[chosen])


def recurrence(
    events: Contacts, queries: Contacts, cutoff: Integers
) -> dict[str, Statistic]:
    """Compute the five statistics that only need a source's own events.

    Args:
        events: all events of some sources, in time order.
        queries: questions about these sources.
        cutoff: int64 [q], how many of the events are strictly earlier than a query.
    """
    source = _source_past(events, queries, cutoff)
    pair = _pair_past(events, queries, cutoff)
    return {
        "pair_frequency": (np.log1p(pair.count), pair.count > 0),
        "recency": _recency(pair, source, queries.time),
        "persistence": _persistence(pair, source),
        "periodicity": _periodicity(pair),
        "granularity": _granularity(source),
    }


def _source_past(events: Contacts, queries: Contacts, cutoff: Integers) -> Past:
    """T_u: the events that have the query's source as source."""
    sources = int(max(events.source.max(), queries.source.max())) + 1
    grouping = Grouping(events.source, sources)
    start = grouping.starts[queries.source]
    stop = grouping.stop(queries.source, cutoff)
    return Past(events.time[grouping.order], grouping.ranks(), start, stop)


def _pair_past(events: Contacts, queries: Contacts, cutoff: Integers) -> Past:
    """T_uv: the events from the query's source to its candidate."""
    width = int(max(events.destination.max(), queries.destination.max())) + 1
    keys = events.source.astype(np.int64) * width + events.destination
    wanted = queries.source.astype(np.int64) * width + queries.destination
    distinct, pair = np.unique(keys, return_inverse=True)
    grouping = Grouping(pair, len(distinct))
    place = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    start = grouping.starts[place]
    known = distinct[place] == wanted
    stop = np.where(known, grouping.stop(place, cutoff), start)
    return Past(events.time[grouping.order], grouping.ranks(), start, stop)


def _recency(pair: Past, source: Past, time: Floats) -> Statistic:
    """Time since the pair's last event; since the source's last for an unseen pair."""
    seen = pair.count > 0
    last = np.where(seen, pair.times[pair.final], source.times[source.final])
    age = np.where(source.count > 0, time - last, 0.0)
    return np.log1p(age), seen


def _persistence(pair: Past, source: Past) -> Statistic:
    """Share of the source's history span, cut in bins, that holds pair events."""
    supported = pair.count >= 2
    chosen = source.select(supported)
    bins = np.clip(np.floor(np.sqrt(chosen.count + 1.0)), 2, MOST_BINS)
    values = np.zeros(len(supported))
    values[supported] = _occupied(pair.select(supported), chosen, bins) / bins
    return values, supported


def _occupied(pair: Past, source: Past, bins: Floats) -> Integers:
    """Count the bins that hold pair events, of pairs that have some.

    From a pair's first event on, it jumps to the pair's first event in a later bin: at
    most ten jumps, each a binary search.
    """
    first = source.times[source.start]
    span = source.times[source.final] - first
    scale = np.where(span > 0, span, np.inf)  # no span: all is in the first bin
    occupied = np.zeros(len(bins), dtype=np.int64)
    cursor = pair.start.copy()
    active = np.arange(len(bins))

    def bin_of(query: Integers, event: Integers) -> Floats:
        offset = (pair.times[event] - first[query]) * bins[query]
        return np.minimum(np.floor(offset / scale[query]), bins[query] - 1)

    while len(active):
        occupied[active] += 1
        here = bin_of(active, cursor[active])
        low, high = cursor[active] + 1, pair.stop[active]
        while np.any(low < high):
            middle = (low + high) // 2
            later = bin_of(active, np.minimum(middle, len(pair.times) - 1)) > here
            open_ = low < high
            high = np.where(open_ & later, middle, high)
            low = np.where(open_ & ~later, middle + 1, low)
        cursor[active] = low
        active = active[low < pair.stop[active]]
    return occupied


def _periodicity(pair: Past) -> Statistic:
    """Regularity of the gaps between the pair's events."""
    gaps = _gaps(pair, pair.ranks > 0)
    mean, spread = prefix_moments(gaps.values, gaps.ranks)
    supported = pair.count >= 3
    place = gaps.upto[pair.final[supported]] - 1
    values = np.zeros(len(supported))
    values[supported] = 1 / (1 + spread[place] / (mean[place] + EPSILON))
    # A mean of zero has no rhythm: all of the pair's events fell at one time.
    values[supported] *= mean[place] > 0
    return values, values > 0


def _granularity(source: Past) -> Statistic:
    """Median of the positive gaps between the source's events."""
    positive = np.diff(source.times, prepend=source.times[:1]) > 0
    gaps = _gaps(source, positive & (source.ranks > 0))
    medians = prefix_medians(gaps.values, gaps.ranks)
    start = np.minimum(source.start, len(source.times) - 1)
    some = gaps.upto[source.final] > gaps.upto[start]
    supported = (source.count > 0) & some
    values = np.zeros(len(supported))
    place = gaps.upto[source.final[supported]] - 1
    values[supported] = np.log1p(medians[place])
    return values, supported


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Gaps that some events have to their group's event before.

    Attributes:
        values: float64 [g], the gaps, group by group.
        ranks: int64 [g], place within the group.
        upto: int64 [n], how many gaps end at an event or ahead of it in the list.
    """

    values: Floats
    ranks: Integers
    upto: Integers


def _gaps(past: Past, kept: NDArray[np.bool_]) -> _Gaps:
    """Collect the gaps that end at the kept events; a group's first event has none."""
    event = np.flatnonzero(kept)
    values = past.times[event] - past.times[event - 1]
    upto = np.cumsum(kept, dtype=np.int64)
    ahead = upto[event - past.ranks[event]]
    return _Gaps(values, np.arange(len(event)) - ahead, upto)

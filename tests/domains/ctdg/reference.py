"""The statistics of Table 11 for one query, straight from their definitions.

Slow and plain on purpose: lists, sets and fractions, and nothing of the library.
"""

import itertools
import math
import statistics
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class Past(NamedTuple):
    """The events strictly before a time."""

    events: list[tuple[int, int, float]]

    def times(self, source: int, destination: int | None = None) -> list[float]:
        return [
            t for u, v, t in self.events if u == source and destination in (None, v)
        ]

    def neighbours(self, node: int) -> set[int]:
        out = {v for u, v, _ in self.events if u == node}
        return out | {u for u, v, _ in self.events if v == node}

    def degree(self, node: int) -> int:
        return sum((u == node) + (v == node) for u, v, _ in self.events)


def persistence(pair: list[float], source: list[float]) -> float:
    if len(pair) < 2:
        return 0.0
    bins = min(10, max(2, math.isqrt(len(source) + 1)))
    first, span = Fraction(source[0]), Fraction(source[-1]) - Fraction(source[0])
    if span == 0:
        return 1 / bins
    places = {math.floor((Fraction(t) - first) * bins / span) for t in pair}
    return len({min(place, bins - 1) for place in places}) / bins


def periodicity(pair: list[float]) -> float:
    if len(pair) < 3 or pair[0] == pair[-1]:
        return 0.0
    gaps = np.diff(pair)
    return float(1 / (1 + np.std(gaps) / (np.mean(gaps) + 1e-12)))


def granularity(source: list[float]) -> float:
    gaps = [b - a for a, b in itertools.pairwise(source) if b > a]
    return math.log1p(statistics.median(gaps)) if gaps else 0.0


def recency(pair: list[float], source: list[float], time: float) -> float:
    if pair:
        return math.log1p(time - pair[-1])
    return math.log1p(time - source[-1]) if source else 0.0


def query(stream: Any, row: int, destination: int) -> dict[str, float]:
    """Return the eight statistics and their support of a stream's query."""
    everything = zip(
        stream.source.tolist(),
        stream.destination.tolist(),
        stream.time.tolist(),
        strict=True,
    )
    source, time = int(stream.source[row]), float(stream.time[row])
    past = Past([event for event in everything if event[2] < time])
    mine, pair = past.times(source), past.times(source, destination)
    near, far = past.neighbours(source), past.neighbours(destination)
    degrees = past.degree(source) * past.degree(destination)
    return {
        "pair_frequency": math.log1p(len(pair)),
        "recency": recency(pair, mine, time),
        "persistence": persistence(pair, mine),
        "periodicity": periodicity(pair),
        "granularity": granularity(mine),
        "density": len(near) / (stream.nodes - 1),
        "homophily": len(near & far) / len(near | far) if near | far else 0.0,
        "preferential_attachment": math.log1p(degrees),
        "support_pair_frequency": len(pair) > 0,
        "support_recency": len(pair) > 0,
        "support_persistence": len(pair) >= 2,
        "support_periodicity": len(pair) >= 3 and pair[-1] > pair[0],
        "support_granularity": granularity(mine) > 0,
        "support_density": True,
        "support_homophily": bool(near | far),
        "support_preferential_attachment": True,
    }

"""Whole groups in portions that fit the processor's cache.

Sorting and looking up in 1e7 events costs several times as much an event as in 1e5,
because each access then misses the cache. Groups are independent of one another, so
they are taken in buckets of about 1e5 events: the cost of an event stays flat.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

BUCKET = 1 << 17
"""Entries a bucket should have: 1 MiB for each array of 8-byte values."""


@dataclass(frozen=True, eq=False)
class Bucket:
    """A range of keys, and everything that carries one of them.

    Attributes:
        first: the smallest key.
        groups: how many keys there are, from `first` on.
        members: for each array of keys given to `buckets`, int64 positions of its
            entries in this range, ascending.
    """

    first: int
    groups: int
    members: tuple[Integers, ...]


def buckets(
    groups: int, *keys: NDArray[np.int32], size: int = BUCKET
) -> Iterator[Bucket]:
    """Split keys into ranges that hold about ``size`` entries of the first array each.

    A key is never split, so one with more than ``size`` entries makes a larger bucket.

    Args:
        groups: number of keys.
        *keys: integer arrays with values in 0..groups-1; the first decides the split.
        size: entries a bucket should have.
    """
    counts = np.bincount(keys[0], minlength=groups)
    # Bucket numbers in 16 bits let NumPy sort them by radix, in linear time.
    size = max(size, len(keys[0]) // np.iinfo(np.uint16).max + 1)
    number = ((np.cumsum(counts) - counts) // size).astype(np.uint16)
    edges = np.flatnonzero(np.diff(number, prepend=-1, append=1 << 16))
    splits = [_split(number[key], number[edges[:-1]]) for key in keys]
    for first, stop, *members in zip(edges, edges[1:], *splits, strict=False):
        yield Bucket(int(first), int(stop - first), tuple(members))


def _split(number: NDArray[np.uint16], present: NDArray[np.uint16]) -> list[Integers]:
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=int(present[-1]) + 1))
    return np.split(order, ends[present[:-1]])

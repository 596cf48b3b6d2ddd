"""History windows and the index behind them, against slow loops."""

import functools

import numpy as np
import pytest
from numpy.typing import NDArray

from maa.domains.ctdg import history
from maa.domains.ctdg.buckets import buckets
from maa.domains.ctdg.grouping import Grouping, strictly_before
from maa.domains.ctdg.meetings import Meetings


def slow_windows(source: NDArray[np.int32], depth: int) -> list[list[int]]:
    """Remember every source's rows in a list."""
    rows: dict[int, list[int]] = {}
    found = []
    for row, node in enumerate(source.tolist()):
        last = rows.setdefault(node, [])[-depth:]
        found.append([-1] * (depth - len(last)) + last)
        rows[node].append(row)
    return found


def test_windows_of_a_few_events() -> None:
    source = np.array([1, 0, 1, 1, 0, 1], dtype=np.int32)
    assert history.windows(source, 2, 3).tolist() == [
        [-1, -1],
        [-1, -1],
        [-1, 0],
        [0, 2],
        [-1, 1],
        [2, 3],
    ]


@pytest.mark.parametrize("depth", [1, 3, 20])
@pytest.mark.parametrize("size", [1, 9, 10_000])
def test_windows_whatever_the_buckets(
    depth: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "buckets", functools.partial(buckets, size=size))
    monkeypatch.setattr(history, "PIECE", 13)
    rng = np.random.default_rng(depth)
    source = (40 * rng.random(700) ** 3).astype(np.int32)
    found = history.windows(source, depth, 45)
    assert found.dtype == np.int32
    assert found.tolist() == slow_windows(source, depth)


def test_windows_of_wikipedia(wikipedia) -> None:  # type: ignore[no-untyped-def]
    assert wikipedia.history.tolist() == slow_windows(wikipedia.source, 20)


def test_grouping_finds_what_comes_before_a_cutoff() -> None:
    rng = np.random.default_rng(2)
    key = rng.integers(0, 6, 64)  # a power of two fills its bits to the last
    grouping = Grouping(key, 8)
    for group in range(8):
        for cutoff in (0, 1, 31, 63, 64):
            stop = int(grouping.stop(group, cutoff))
            found = grouping.order[grouping.starts[group] : stop].tolist()
            assert found == [k for k in range(cutoff) if key[k] == group]
    by_key = [np.count_nonzero(key[:k] == key[k]) for k in grouping.order]
    assert grouping.ranks().tolist() == by_key


def test_strictly_before_excludes_ties() -> None:
    time = np.array([0.0, 1.0, 1.0, 1.0, 2.5])
    assert strictly_before(time, np.array([4, 2, 1, 0])).tolist() == [4, 1, 1, 0]


def test_meetings_list_distinct_others_in_order() -> None:
    node = np.array([0, 2, 0, 0, 2, 0])
    other = np.array([5, 5, 3, 5, 1, 0])
    met = Meetings(node, other, 4)
    assert met.other[met.starts[0] : met.stop(0, np.int64(6))].tolist() == [5, 3, 0]
    assert met.other[met.starts[0] : met.stop(0, np.int64(5))].tolist() == [5, 3]
    assert met.other[met.starts[2] : met.stop(2, np.int64(2))].tolist() == [5]
    first = met.first[met.place([0, 0, 2, 2, 1, 0], [5, 0, 1, 3, 5, 9])]
    assert first.tolist() == [0, 5, 4, 6, 6, 6]  # 6 contacts: never


def test_buckets_split_keys_and_lose_nothing() -> None:
    rng = np.random.default_rng(4)
    keys = (30 * rng.random(500) ** 4).astype(np.int32)
    others = rng.integers(0, 33, 90).astype(np.int32)
    found = list(buckets(33, keys, others, size=20))
    assert len(found) > 5
    next_key = 0
    for bucket in found:
        assert bucket.first == next_key
        next_key += bucket.groups
        for array, members in zip((keys, others), bucket.members, strict=True):
            inside = (array >= bucket.first) & (array < next_key)
            assert members.tolist() == np.flatnonzero(inside).tolist()
    assert next_key == 33

"""Negatives: never what they must not be, and uniform over the rest."""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from maa.domains.ctdg import candidates as module
from maa.domains.ctdg.candidates import Candidates
from maa.domains.ctdg.negatives import training_negatives
from maa.domains.ctdg.stream import NEGATIVES, PARTS, EventStream

DRAWS = 4000


def contacts(
    source: Sequence[int], destination: Sequence[int], bipartite: bool
) -> SimpleNamespace:
    return SimpleNamespace(
        source=np.array(source, dtype=np.int32),
        destination=np.array(destination, dtype=np.int32),
        pool=np.unique(destination).astype(np.int32),
        bipartite=bipartite,
    )


def drawn(
    events: SimpleNamespace, time: Sequence[float], kind: str, row: int
) -> NDArray[np.int32]:
    """Draw many negatives of one row."""
    rng = np.random.default_rng(11)
    rows = np.full(DRAWS, row, dtype=np.int32)
    chosen = Candidates(events, np.array(time), 20).draw(kind, rng, rows)
    assert chosen.dtype == np.int32
    return chosen


def assert_uniform(chosen: NDArray[np.int32], over: Sequence[int]) -> None:
    values, counts = np.unique(chosen, return_counts=True)
    assert values.tolist() == sorted(over)
    # With the seed fixed this is no gamble; a twofold bias gives p below 1e-30.
    assert chisquare(counts).pvalue > 1e-3


# One source, items 10 to 17. Row 6 and row 7 share their time.
SOURCE = [0, 1, 0, 0, 1, 1, 0, 0, 1, 1]
ITEMS = [10, 11, 12, 10, 13, 14, 15, 16, 17, 11]
TIME = [0, 1, 2, 3, 4, 5, 6, 6, 7, 8]


def test_random_is_uniform_over_all_but_the_own() -> None:
    chosen = drawn(contacts(SOURCE, ITEMS, True), TIME, "random", 6)
    assert_uniform(chosen, [10, 11, 12, 13, 14, 16, 17])


def test_unseen_is_uniform_over_what_was_not_met_strictly_before() -> None:
    # By row 7 source 0 has met 10 and 12; its event in row 6 has the same time.
    chosen = drawn(contacts(SOURCE, ITEMS, True), TIME, "unseen", 7)
    assert_uniform(chosen, [11, 13, 14, 15, 17])


def test_historical_is_uniform_over_what_was_met() -> None:
    events = contacts(SOURCE, ITEMS, True)
    assert_uniform(drawn(events, TIME, "historical", 7), [10, 12])
    # Row 9 is 11 again, which source 1 met first, before 13, 14 and 17.
    assert_uniform(drawn(events, TIME, "historical", 9), [13, 14, 17])


def test_historical_is_missing_where_nothing_else_was_met() -> None:
    events = contacts(SOURCE, ITEMS, True)
    assert set(drawn(events, TIME, "historical", 0).tolist()) == {-1}
    assert set(drawn(events, TIME, "historical", 1).tolist()) == {-1}
    # In row 3 the source has met its own destination, 10, and 12.
    assert set(drawn(events, TIME, "historical", 3).tolist()) == {12}


@pytest.mark.parametrize("rounds", [0, 16])
def test_a_source_that_met_all_but_one(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROUNDS", rounds)
    items = [10, 11, 12, 13, 14, 10]
    events = contacts([0, 0, 0, 0, 1, 0], items, True)
    chosen = drawn(events, range(6), "unseen", 5)
    assert set(chosen.tolist()) == {14}


@pytest.mark.parametrize("rounds", [0, 16])
def test_a_source_that_met_all_gets_any_other(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROUNDS", rounds)
    events = contacts([0, 0, 0, 0, 0], [10, 11, 12, 13, 11], True)
    assert_uniform(drawn(events, range(5), "unseen", 4), [10, 12, 13])


def test_the_list_of_what_is_left_is_uniform_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ROUNDS", 0)
    monkeypatch.setattr(module, "CELLS", 50)
    chosen = drawn(contacts(SOURCE, ITEMS, True), TIME, "unseen", 7)
    assert_uniform(chosen, [11, 13, 14, 15, 17])


def test_unipartite_draws_leave_out_the_source() -> None:
    events = contacts([1, 2, 3, 1, 4, 3], [2, 3, 1, 1, 5, 2], False)
    assert_uniform(drawn(events, range(6), "random", 0), [3, 5])
    assert_uniform(drawn(events, range(6), "random", 3), [2, 3, 5])  # a self-loop
    assert_uniform(drawn(events, range(6), "random", 4), [1, 2, 3])  # 4 gets nothing
    # Who met 1 as its destination is not met by 1: only 2 is, in row 0.
    assert_uniform(drawn(events, range(6), "unseen", 3), [3, 5])


def test_training_negatives_are_as_random_ones() -> None:
    events = contacts(SOURCE, ITEMS, True)
    rows = np.repeat(np.arange(10), DRAWS)
    chosen = training_negatives(np.random.default_rng(3), events, rows)
    for row in range(10):
        others = sorted(set(ITEMS) - {ITEMS[row]})
        assert_uniform(chosen[rows == row], others)


@pytest.mark.parametrize("name", ["wikipedia", "enron"])
@pytest.mark.parametrize("part", PARTS)
def test_candidates_of_real_streams(
    name: str, part: str, request: pytest.FixtureRequest
) -> None:
    stream: EventStream = request.getfixturevalue(name)
    met: dict[int, set[int]] = {}
    waiting: list[tuple[int, int]] = []
    first, fallbacks = int(stream.rows(part)[0]), 0
    pool = set(stream.pool.tolist())
    for row in range(int(stream.rows(part)[-1]) + 1):
        source, own = int(stream.source[row]), int(stream.destination[row])
        if row and stream.time[row] > stream.time[row - 1]:
            for node, other in waiting:
                met.setdefault(node, set()).add(other)
            waiting = []
        waiting.append((source, own))
        if row < first:
            continue
        unseen, random, historical = (
            int(stream.negatives(part, kind)[row - first]) for kind in NEGATIVES
        )
        seen = met.get(source, set())
        left = pool - seen - {own} - (set() if stream.bipartite else {source})
        assert unseen in (left or pool) and unseen != own
        assert random in pool and random != own
        assert historical in seen - {own} or (historical == -1 and not seen - {own})
        assert stream.bipartite or source not in (unseen, random)
        fallbacks += not left
    assert fallbacks == 0 or name == "enron"

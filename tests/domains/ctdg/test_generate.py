"""The generated stream: its counts are exact, and what is planted can be seen."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge

from maa import config
from maa.domains.ctdg.generate import evidence_counts, planted_stream
from maa.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
REGISTRY = config.load(ROOT / "config/datasets.yaml")["ctdg"]
PLANTED: dict[str, Any] = REGISTRY["planted"]["generated"]
UNPLANTED: dict[str, Any] = REGISTRY["unplanted"]["generated"]
HISTORY = 20


@pytest.fixture(scope="module", params=[PLANTED, UNPLANTED], ids=["planted", "not"])
def parameters(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


def test_the_numbers_are_as_asked(parameters: dict[str, Any]) -> None:
    events = planted_stream(**parameters)
    sources, destinations = parameters["sources"], parameters["destinations"]
    assert len(events) == parameters["events"]
    assert sorted(events["source"].unique()) == list(range(sources))
    last = sources + destinations
    assert sorted(events["destination"].unique()) == list(range(sources, last))
    assert events["time"].is_monotonic_increasing
    assert events["time"].iloc[0] == 0
    assert (events["time"] % parameters["tick"] == 0).all()
    assert events["time"].iloc[-1] <= parameters["days"] * 86400
    assert list(events.dtypes) == [np.int64, np.int64, np.float64]


def test_equal_seeds_give_equal_streams(parameters: dict[str, Any]) -> None:
    first = planted_stream(**parameters)
    pd.testing.assert_frame_equal(first, planted_stream(**parameters))
    other = planted_stream(**parameters | {"seed": parameters["seed"] + 1})
    assert not first.equals(other)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_evidence_varies_only_if_planted(seed: int) -> None:
    planted = planted_stream(**PLANTED | {"seed": seed}).groupby("source").size()
    assert planted.max() / planted.min() > 8
    flat = planted_stream(**UNPLANTED | {"seed": seed}).groupby("source").size()
    assert set(flat) == {UNPLANTED["events"] // UNPLANTED["sources"]}


def test_totals_that_do_not_divide_still_sum_up() -> None:
    few = {"events": 1007, "sources": 90, "destinations": 7}
    for planted in (True, False):
        events = planted_stream(**PLANTED | few | {"planted": planted})
        sizes = events.groupby("source").size()
        assert sizes.sum() == 1007
        if not planted:
            assert set(sizes) == {11, 12}


def test_evidence_is_independent_of_the_destination() -> None:
    # over 40 streams, a favourite's popularity says nothing of the number of meetings
    correlations = []
    for seed in range(40):
        events = planted_stream(**PLANTED | {"seed": seed})
        first = events.groupby("source")["destination"].first()
        total = events.groupby("source").size()
        correlations.append(spearmanr(first, total).statistic)
    # standard error of the mean: 1 / sqrt(600 * 40) = 0.0065
    assert abs(np.mean(correlations)) < 0.025


def test_a_source_meets_its_favourites() -> None:
    events = planted_stream(**PLANTED | {"exploration": 0.0})
    met = events.groupby("source")["destination"].nunique()
    assert met.max() == PLANTED["favourites"]
    assert set(met) == {1, 2}
    explored = planted_stream(**PLANTED)
    favourite = explored.groupby("source")["destination"].transform(
        lambda ids: ids.isin(ids.value_counts().index[:2])
    )
    # up to 10 % of events explore, and some of those hit a favourite
    assert 0.88 < favourite.mean() < 0.97


def test_time_has_ties_and_both_bursts_and_clockwork() -> None:
    events = planted_stream(**PLANTED)
    assert 0.03 < 1 - events["time"].nunique() / len(events) < 0.3
    gaps = events.groupby("source")["time"].diff()
    sizes = events.groupby("source").size()
    by_source = gaps.groupby(events["source"])
    variation = (by_source.std() / by_source.mean())[sizes >= 10]
    assert variation.min() < 0.3
    assert variation.max() > 1.2
    # pace, which the tokens of a history show, does not give the number away
    pace = by_source.median()
    assert abs(spearmanr(pace, sizes).statistic) < 0.25


def test_evidence_counts_by_hand() -> None:
    events = pd.DataFrame(
        {
            "source": [0, 0, 1, 0, 0, 0],
            "destination": [5, 5, 5, 6, 5, 5],
            "time": [1.0, 2.0, 2.0, 2.0, 2.0, 3.0],
        }
    )
    # the two meetings of (0, 5) at time 2 are not evidence for each other
    assert evidence_counts(events).tolist() == [0, 1, 0, 0, 1, 3]
    assert evidence_counts(events[::-1]).tolist() == [3, 1, 0, 0, 1, 0]


def windows(events: pd.DataFrame, p: float) -> tuple[np.ndarray, np.ndarray]:
    """What uniform weights over the last events keep: (destination sums, target).

    Weights are n ** (-1 / p) for a history of n events: p = 1 is softmax at equal
    logits. The target is the log of how many of them are the event's own destination.
    """
    destination = (events["destination"] - events["source"].max() - 1).to_numpy()
    width = destination.max() + 2
    context = np.zeros((len(events), width))
    target = np.zeros(len(events))
    for rows in events.groupby("source").indices.values():
        for k in range(1, len(rows)):
            recent = destination[rows[max(0, k - HISTORY) : k]]
            own = destination[rows[k]]
            counts = np.bincount(recent, minlength=width).astype(float)
            weighted = counts * len(recent) ** (-1 / p)
            context[rows[k]] = weighted
            context[rows[k], -1] = weighted[own]
            target[rows[k]] = np.log1p(counts[own])
    return context, target


def gain(parameters: dict[str, Any]) -> float:
    """Held-out R2 of the evidence count, Lp weights minus softmax weights."""
    events = planted_stream(**parameters)
    start = int(len(events) * 0.7)
    middle = int(len(events) * 0.9)
    scores = []
    for p in (1.0, 1.1):
        context, target = windows(events, p)
        # shares and amounts are on one scale, as a layer norm would have it
        context /= context[start:middle].std()
        probe = Ridge().fit(context[start:middle], target[start:middle])
        scores.append(probe.score(context[middle:], target[middle:]))
    return scores[1] - scores[0]


def test_an_lp_norm_keeps_the_planted_evidence_and_no_other() -> None:
    seeds = range(4)
    planted = [gain(PLANTED | {"seed": seed}) for seed in seeds]
    absent = [gain(UNPLANTED | {"seed": seed}) for seed in seeds]
    assert np.mean(planted) > 0.2
    assert np.abs(absent).max() < 0.005


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"events": 1199},
            "1199 events are too few for 600 sources; expected at least 1200",
        ),
        ({"destinations": 601}, "601 destinations do not fit 600 sources"),
        ({"destinations": 1}, "1 destinations do not fit"),
        ({"favourites": 61}, "61 favourites do not fit 60 destinations"),
        ({"favourites": 0}, "0 favourites do not fit"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(
    change: dict[str, int], problem: str
) -> None:
    with pytest.raises(UserError, match=problem):
        planted_stream(**PLANTED | change)

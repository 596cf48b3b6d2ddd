"""Congestion events and targets: by hand, and those that were planted."""

import numpy as np
import pandas as pd
import pytest

from maa.domains.traffic.congestion import congested, free_flow, onsets
from maa.domains.traffic.generate import BLOCK, planted_roads
from maa.domains.traffic.prepare import Settings, build
from maa.domains.traffic.targets import compute
from maa.errors import UserError
from tests.domains.traffic.small import PREPARE, hand_made, series

# free flow of 60: below 36 is congested; 0 is missing
SPEEDS = [60, 20, 20, 60, 0, 20, 60, 60, 20, 0, 20, 60, 60, 60, 20, 60]
FLAGS = [0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0]
ONSETS = [0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]


def column(values):
    return [[float(value), 60.0 - step % 2] for step, value in enumerate(values)]


def test_onsets_by_hand():
    made = hand_made(column(SPEEDS))
    assert free_flow(made)[0] == 60
    assert congested(made)[:, 0].astype(int).tolist() == FLAGS
    # the gap before step 10 does not end the event that began at step 8
    assert onsets(made)[:, 0].astype(int).tolist() == ONSETS


def test_a_series_that_begins_congested_has_no_onset_there():
    made = hand_made(column([20, 20, *SPEEDS[2:]]))
    assert not onsets(made)[:2, 0].any()


def test_targets_by_hand():
    table = compute(hand_made(column(SPEEDS)))
    # sensors 0 and 1 of the one window of steps 8 and 9, then of 12 and 13
    assert table.part.tolist() == ["validation"] * 2 + ["test"] * 2
    assert table["query"].tolist() == [0, 1, 0, 1]
    first, second = table.iloc[0], table.iloc[2]
    assert first.window_onsets == 1 and first.congested_share == 1
    assert first.recent_onsets == 2  # steps 5 and 8 of 4 to 9
    assert first.since_onset == pytest.approx(np.log1p(1)) and first.support_since_onset
    assert (first.mean_speed, first.last_speed) == (20, 20)
    assert first.missing_share == 0.5
    assert first.support_mean_speed and not first.support_speed_trend
    assert second.window_onsets == 0 and second.recent_onsets == 1
    assert second.since_onset == pytest.approx(np.log1p(5))
    assert second.speed_spread == second.speed_trend == 0
    assert table.iloc[1].speed_trend == pytest.approx(-1)  # 60 then 59
    assert not table.support_neighbour_onsets.any()


def test_recent_steps_that_do_not_exist_have_no_support():
    table = compute(hand_made(column(SPEEDS), recent_steps=11))
    assert table.support_recent_onsets.tolist() == [False, False, True, True]


def test_neighbours_are_weighed_by_their_roads():
    made = series(sensors=4)
    table = compute(made)
    window = table.window_onsets.to_numpy().reshape(-1, 4)
    roads = made.weights * (1 - np.eye(4))
    expected = window @ (roads / roads.sum(1, keepdims=True)).T
    np.testing.assert_allclose(
        table.neighbour_onsets.to_numpy().reshape(-1, 4), expected, rtol=1e-5
    )


def test_every_planted_event_is_found_and_no_other():
    made = planted_roads(sensors=5, days=6, seed=3, planted=True, missing=0.05)
    prepared = build(made.recording, "2012-03-01", 5, Settings.parse(PREPARE))
    np.testing.assert_array_equal(onsets(prepared), made.onsets)
    starts = prepared.test_starts
    counts = np.stack([made.onsets[s : s + 12].sum(axis=0) for s in starts])
    table = compute(prepared).query("part == 'test'")
    assert table.window_onsets.tolist() == counts.reshape(-1).tolist()


def test_the_plant_hides_its_count_from_the_mean():
    made = planted_roads(sensors=6, days=20, seed=1, planted=True, missing=0.0)
    blocks = made.onsets.reshape(-1, BLOCK, 6).sum(axis=1)
    jammed = made.recording.speed < 0.6 * made.free_flow
    share = jammed.reshape(-1, BLOCK, 6).mean(axis=1)
    assert set(blocks.reshape(-1)) == {0, 1, 2, 3}
    assert set(share[blocks > 0]) == {0.5} and set(share[blocks == 0]) == {0.0}
    without = planted_roads(sensors=6, days=20, seed=1, planted=False)
    assert set(without.onsets.reshape(-1, BLOCK, 6).sum(axis=1).reshape(-1)) == {0, 1}


def test_the_same_arguments_give_the_same_roads():
    first, second = (
        planted_roads(sensors=3, days=2, seed=9, planted=True) for _ in range(2)
    )
    np.testing.assert_array_equal(first.recording.speed, second.recording.speed)
    other = planted_roads(sensors=3, days=2, seed=8, planted=True)
    assert (first.recording.speed != other.recording.speed).any()


def test_one_sensor_is_no_road():
    with pytest.raises(UserError, match="1 sensors and 2 days are too few"):
        planted_roads(sensors=1, days=2, seed=0, planted=True)


def test_targets_are_finite_and_have_support():
    table = compute(series())
    names = [name for name in table.columns if name.startswith("support_")]
    assert len(names) == 10
    values = table[[name.removeprefix("support_") for name in names]]
    assert np.isfinite(values.to_numpy()).all()
    assert all(pd.api.types.is_bool_dtype(table[name]) for name in names)

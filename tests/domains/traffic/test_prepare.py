"""Splits, windows, scales and time, by hand; and recordings that are refused."""

import json

import numpy as np
import pytest

from maa.domains.traffic.prepare import Settings, build, prepare, summary
from maa.domains.traffic.recording import Recording, check_recording
from maa.domains.traffic.series import Series
from maa.errors import UserError
from maa.files import write_tensors
from tests.domains.traffic.small import PREPARE, hand_made, series

RAMP = [[float(step), 50.0 + step % 2] for step in range(16)]


def test_the_windows_of_sixteen_steps():
    made = hand_made(RAMP)
    # 8 steps to train on, 4 to validate, 4 to test; a window has 4 and leaves no part
    assert (made.train_end, made.validation_end) == (8, 12)
    assert made.train_starts.tolist() == [0, 1, 2, 3, 4]
    assert made.validation_starts.tolist() == [8]
    assert made.test_starts.tolist() == [12]
    assert made.inputs("train")[1, :, 0].tolist() == [1, 2]
    assert made.outputs("train")[1, :, 0].tolist() == [3, 4]
    assert hand_made(RAMP, stride=4).train_starts.tolist() == [0, 4]


def test_windows_without_overlap_share_no_step():
    made = series()
    length = made.input_length + made.output_length
    for part in ("train", "validation", "test"):
        assert set(np.diff(made.starts(part))) == {length}


def test_the_scale_is_that_of_training_rows_with_zeros():
    rows = [[0.0, 60.0] if step in (2, 5) else row for step, row in enumerate(RAMP)]
    made = hand_made(rows)
    seen = np.array([row[0] for row in rows[:8]])
    assert made.mean[0] == pytest.approx(seen.mean())
    assert made.deviation[0] == pytest.approx(seen.std())
    assert made.scaled[2, 0] == pytest.approx(-seen.mean() / seen.std())


def test_times_of_day_and_weekdays():
    made = hand_made(RAMP)  # three steps a day, from a Thursday
    assert made.day_time[:4].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 0])
    assert made.weekday[[0, 2, 3, 12, 15]].tolist() == [3, 3, 4, 0, 1]


def test_it_comes_back_from_its_file_and_gives_the_same_bytes(tmp_path):
    made = series()
    for name in ("a", "b"):
        made.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = Series.load(tmp_path / "a")
    np.testing.assert_array_equal(again.scaled, made.scaled)
    assert again.congested_below == made.congested_below


def test_another_file_is_no_series(tmp_path):
    write_tensors(tmp_path / "x", {"speed": np.zeros(3)})
    with pytest.raises(UserError, match="is not a prepared series"):
        Series.load(tmp_path / "x")


def test_a_generated_data_set_through_the_stage(tmp_path):
    parameters = {"sensors": 3, "days": 4, "seed": 1, "planted": True}
    source = tmp_path / "source.json"
    record = {"dataset": "x", "format": "generated", "parameters": parameters}
    source.write_text(json.dumps(record))
    made = prepare(source, {"starts": "2012-03-01", "minutes": 5}, PREPARE)
    found = summary(made)
    assert (found["sensors"], found["steps"]) == (3, 4 * 288)
    assert 0 < found["missing"] < 0.03
    assert found["test"] == {"windows": (4 * 288 - made.validation_end) // 24}


def test_too_short_a_part_is_refused():
    settings = Settings.parse(PREPARE)
    with pytest.raises(UserError, match=r"70, 10, 20 steps, each needs a window of 24"):
        settings.split(100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stride": 0}, "stride is 0; expected a whole number of at least 1"),
        ({"test_fraction": 1.0}, "test_fraction is 1.0; expected a number between"),
        ({"window": 3}, "expected exactly"),
    ],
)
def test_wrong_settings_are_refused(change, message):
    with pytest.raises(UserError, match=message):
        Settings.parse(PREPARE | change)


def test_a_sensor_that_stands_still_is_refused():
    with pytest.raises(UserError, match="sensor 1 never varies in the training part"):
        hand_made([[float(step), 50.0] for step in range(16)])


def test_a_step_that_does_not_divide_a_day_is_refused():
    recording = Recording(np.array(RAMP), np.eye(2))
    with pytest.raises(UserError, match=r"minutes is 7 in datasets\.yaml"):
        build(recording, "2012-03-01", 7, Settings.parse(PREPARE))


@pytest.mark.parametrize(
    ("speed", "weights", "message"),
    [
        ([[1, 2]], np.eye(2), "x has 2 sensors where 3 are published"),
        ([[1, -2, 3]], np.eye(3), "speed of sensor 1 at step 0 is -2; expected mph"),
        ([[1, np.nan, 3]], np.eye(3), "speed of sensor 1 at step 0 is nan"),
        ([[1, 2, 3]], np.eye(2), "road graph is 2 x 2 where 3 sensors need 3 x 3"),
        ([[1, 2, 3]], -np.eye(3), "weights that are negative or not finite"),
    ],
)
def test_recordings_that_are_not_the_published_ones(speed, weights, message):
    recording = Recording(np.array(speed, dtype=float), weights)
    with pytest.raises(UserError, match=message):
        check_recording("x", recording, {"sensors": 3}, "source.json")

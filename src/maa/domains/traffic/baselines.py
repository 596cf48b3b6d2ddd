"""Forecasts that need no deep model: whoever loses to them has learned little.

The last value, the historical average of the time of day and day of the week, and a
ridge regression on the window; all from training rows alone.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from maa.domains.traffic.series import Series

Speeds = NDArray[np.float32]
PENALTY = 1.0


def last_value(series: Series, part: str) -> Speeds:
    """Repeat each window's last known speed (the training mean where none is known).

    Returns:
        mph [m, O, N] for the m windows of a part.
    """
    inputs = series.inputs(part)
    steps = np.arange(series.input_length)[:, None]
    last = np.where(inputs > 0, steps, -1).max(axis=1)
    found = np.take_along_axis(inputs, np.maximum(last, 0)[:, None], axis=1)[:, 0]
    known = np.where(last >= 0, found, series.mean)
    return np.repeat(known[:, None], series.output_length, axis=1)


def historical_average(series: Series, part: str) -> Speeds:
    """Predict the mean known training speed of the same time of the same weekday.

    A time that the training rows do not have falls back on the time of day, and then on
    the sensor's mean.

    Returns:
        mph [m, O, N].
    """
    steps = np.arange(len(series.speed))
    slot = steps % series.steps_per_day
    week = series.weekday * series.steps_per_day + slot
    by_week = _slot_means(series, week, 7 * series.steps_per_day)
    by_day = _slot_means(series, slot, series.steps_per_day)
    rows = series.starts(part)[:, None] + series.input_length
    rows = rows + np.arange(series.output_length)
    found = by_week[week[rows]]
    found = np.where(np.isnan(found), by_day[slot[rows]], found)
    average: Speeds = np.where(np.isnan(found), series.mean, found).astype(np.float32)
    return average


def linear(series: Series, part: str) -> Speeds:
    """Predict each step by ridge regression on the scaled window and the time of day.

    One model a step ahead for all sensors, fitted where the target is known.

    Returns:
        mph [m, O, N].
    """
    seen, asked = _features(series, "train"), _features(series, part)
    truth = series.outputs("train")
    goals = (truth - series.mean) / series.deviation
    shape = (len(series.starts(part)), series.sensors)
    found = []
    for step in range(series.output_length):
        known = (truth[:, step] != 0).reshape(-1)
        fitted = Ridge(alpha=PENALTY).fit(
            seen[known], goals[:, step].reshape(-1)[known]
        )
        found.append(fitted.predict(asked).reshape(shape))
    speeds: Speeds = np.stack(found, axis=1) * series.deviation + series.mean
    return speeds.astype(np.float32)


BASELINES = {
    "last_value": last_value,
    "historical_average": historical_average,
    "linear": linear,
}


def _slot_means(
    series: Series, slot: NDArray[np.int64], slots: int
) -> NDArray[np.float64]:
    """Mean known training speed of each slot and sensor, NaN where none is known."""
    seen = series.speed[: series.train_end].astype(np.float64)
    total, count = (np.zeros((slots, series.sensors)) for _ in range(2))
    np.add.at(total, slot[: series.train_end], seen)
    np.add.at(count, slot[: series.train_end], seen > 0)
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = total / count
    return means


def _features(series: Series, part: str) -> NDArray[np.float64]:
    """[m * N, 2 T + 2]: the window, what of it is known, and the time of day.

    Speeds are scaled; a missing one is as the last known before it in the window, the
    first known if there is none, or the mean, and a flag tells.
    """
    speed = series.inputs(part)
    known = speed > 0
    steps = np.arange(series.input_length)[:, None]
    before = np.maximum.accumulate(np.where(known, steps, -1), axis=1)
    source = np.where(before >= 0, before, known.argmax(axis=1)[:, None])
    filled = np.take_along_axis(speed, source, axis=1)
    scaled = (filled - series.mean) / series.deviation
    some = np.asarray(known.any(axis=1, keepdims=True))
    window = np.where(some, scaled, 0)
    columns = np.concatenate([window, known], axis=1)
    rows = columns.transpose(0, 2, 1).reshape(-1, 2 * series.input_length)
    last = series.starts(part) + series.input_length - 1
    angle = 2 * np.pi * series.day_time[last].repeat(series.sensors)
    return np.column_stack([rows, np.sin(angle), np.cos(angle)]).astype(np.float64)

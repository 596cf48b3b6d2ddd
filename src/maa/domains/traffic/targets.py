"""Stage: what the probes are to recover about every query (a sensor in a window).

All from the steps up to the window's last one, which are what a forecaster may know.
They depend on the series alone, so they are computed once, for all models, in one
vectorised pass.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maa.domains.traffic.congestion import congested, onsets
from maa.domains.traffic.series import PARTS, Series

Floats = NDArray[np.float64]
Statistic = tuple[Floats, NDArray[np.bool_]]


def targets(stream: str | Path) -> pd.DataFrame:
    """Compute the targets of a prepared series' queries; see `compute`."""
    return compute(Series.load(stream))


def compute(series: Series) -> pd.DataFrame:
    """Compute the targets of all queries of both parts.

    - ``window_onsets``: onsets of congestion in the window.
    - ``recent_onsets``: onsets in the last ``recent_steps``; needs as many steps.
    - ``since_onset``: log(1 + steps since the last onset) within ``recent_steps``, that
      of ``recent_steps`` where there is none.
    - ``neighbour_onsets``: mean of ``window_onsets`` over the other sensors, weighted
      by the road graph; needs a neighbour.
    - ``congested_share``: share of the window's known steps that are congested.
    - ``mean_speed``, ``speed_spread``: mean and standard deviation of the window's
      known speeds (mph); need one and two of them.
    - ``speed_trend``: slope of the least-squares line through them (mph a step).
    - ``last_speed``: the last of them.
    - ``missing_share``: share of the window's steps that are unknown.

    Returns:
        One row a query: part; query, window by window in time, sensors in order; the
        targets (float64); and a ``support_`` column (bool) for each: whether the query
        had the observations that it needs. Without them it has a fallback (the
        sensor's training mean for a speed, else 0) and counts like any other.
    """
    starts = np.concatenate([series.starts(part) for part in PARTS])
    sizes = [len(series.starts(part)) * series.sensors for part in PARTS]
    found = _counts(series, starts) | _speeds(series, starts)
    columns: dict[str, object] = {
        "part": pd.Categorical.from_codes(np.repeat([0, 1], sizes), pd.Index(PARTS)),
        "query": np.concatenate([np.arange(size) for size in sizes]),
    }
    columns |= {name: values.reshape(-1) for name, (values, _) in found.items()}
    columns |= {f"support_{name}": ok.reshape(-1) for name, (_, ok) in found.items()}
    return pd.DataFrame(columns)


def _counts(series: Series, starts: NDArray[np.int64]) -> dict[str, Statistic]:
    """What congestion events tell, each [m, N]."""
    began = onsets(series)
    total = np.vstack([np.zeros((1, series.sensors)), began.cumsum(axis=0)])
    end = starts + series.input_length
    recent = np.maximum(end - series.recent_steps, 0)
    always = np.ones((len(starts), series.sensors), dtype=np.bool_)
    window = total[end] - total[starts]
    long_enough = np.repeat((end >= series.recent_steps)[:, None], series.sensors, 1)
    steps = np.arange(len(began))[:, None]
    last = np.maximum.accumulate(np.where(began, steps, -1), axis=0)[end - 1]
    age = end[:, None] - 1 - last
    seen = (last >= 0) & (age < series.recent_steps)
    age = np.where(seen, age, series.recent_steps)
    roads = series.weights.astype(np.float64) * ~np.eye(series.sensors, dtype=bool)
    reach = roads.sum(axis=1)
    near = window @ roads.T / np.where(reach > 0, reach, 1)
    return {
        "window_onsets": (window, always),
        "recent_onsets": (total[end] - total[recent], long_enough),
        "since_onset": (np.log1p(age), seen),
        "neighbour_onsets": (near, always & (reach > 0)),
    }


def _speeds(series: Series, starts: NDArray[np.int64]) -> dict[str, Statistic]:
    """What the window's known speeds tell, each [m, N]."""
    rows = starts[:, None] + np.arange(series.input_length)
    speed = series.speed[rows].astype(np.float64)
    known = speed > 0
    number = known.sum(axis=1)
    some, several = number > 0, number > 1
    count = np.maximum(number, 1)
    step = np.arange(series.input_length)[:, None]
    usual = series.mean.astype(np.float64)
    mean = speed.sum(axis=1) / count
    apart = np.where(known, speed - mean[:, None], 0.0)
    centre = (step * known).sum(axis=1) / count
    place = np.where(known, step - centre[:, None], 0.0)
    spread = np.maximum((place**2).sum(axis=1), 1e-12)
    slope = np.where(several, (place * apart).sum(axis=1) / spread, 0.0)
    last = np.where(known, step, -1).max(axis=1)
    final = np.take_along_axis(speed, np.maximum(last, 0)[:, None], axis=1)[:, 0]
    jammed = (congested(series)[rows]).sum(axis=1)
    always = np.ones_like(some)
    return {
        "congested_share": (jammed / count, some),
        "mean_speed": (np.where(some, mean, usual), some),
        "speed_spread": (np.sqrt((apart**2).sum(axis=1) / count), several),
        "speed_trend": (slope, several),
        "last_speed": (np.where(some, final, usual), some),
        "missing_share": (1 - number / series.input_length, always),
    }

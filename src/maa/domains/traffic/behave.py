"""How a trained forecaster reacts to another history, and what simple forecasts reach.

The history margin is the error that a window's own history saves: each sensor's window
is exchanged for one that the same sensor had elsewhere in the test part, while the time
of day and what follows stay. Beside it stand the errors of forecasts that need no deep
model, and how far forecasts depart from the last value, which they could repeat.
"""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from maa.attention import Operator
from maa.domains.traffic.baselines import BASELINES, last_value
from maa.domains.traffic.metrics import COLUMNS, by_horizon, horizons, masked_errors
from maa.domains.traffic.reading import SEQUENCES, Trained, restore
from maa.errors import UserError


def behave(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> pd.DataFrame:
    """Return the history margin, the departures, and the baselines' errors (test part).

    Args:
        stream: path of the prepared series.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the temporal attention.
        settings: ``seed`` of the exchange, ``device`` and ``model``, the backbone's
            own.
        threads: CPU threads.

    Returns:
        measure, value and queries: ``history_margin`` (MAE with another window less
        that with its own, mph); ``departure_3`` and so on (mean distance of forecast
        and last value, mph), and ``departure_3_truth`` (the same of the truth); and
        ``mae_3_last_value`` and the like for each of `BASELINES`.

    Raises:
        UserError: if the test part has one window alone.
    """
    trained = restore(stream, model, backbone, operator, settings, threads)
    series = trained.series
    truth = series.outputs("test")
    if len(truth) < 2:
        raise UserError(
            f"{stream}: the test part has {len(truth)} window, which cannot be "
            "exchanged for another; lower prepare.query_stride or take longer data"
        )
    own = trained.predict(trained.windows.starts("test"))
    other = exchanged(trained, settings["seed"])
    margin = masked_errors(other, truth)["mae"] - masked_errors(own, truth)["mae"]
    first = pd.DataFrame(
        [("history_margin", margin, int(np.count_nonzero(truth)))], columns=COLUMNS
    )
    tables = [first, departures(own, truth, last_value(series, "test"))]
    for name, forecast in BASELINES.items():
        tables.append(by_horizon(forecast(series, "test"), truth, f"_{name}"))
    return pd.concat(tables, ignore_index=True)


@torch.no_grad()
def exchanged(trained: Trained, seed: int) -> NDArray[np.float32]:
    """Return forecasts [m, O, N] of the test part from other windows of each sensor.

    The windows go round by a seeded distance, one for each sensor and never none.
    """
    windows = trained.windows
    starts = windows.starts("test")
    rng = np.random.default_rng(seed)
    shift = rng.integers(1, len(starts), trained.series.sensors)
    whole = windows.at(starts)
    source = (torch.arange(len(starts)) + torch.from_numpy(shift)[:, None]) % len(
        starts
    )
    sensor = torch.arange(trained.series.sensors)[:, None]
    speed = whole.speed[sensor, source]
    found = []
    size = max(1, SEQUENCES // trained.series.sensors)
    for first in range(0, len(starts), size):
        some = slice(first, first + size)
        scaled = trained.model(speed[:, some], whole.day_time[some])
        found.append(windows.in_mph(scaled).permute(1, 2, 0))
    speeds: NDArray[np.float32] = torch.cat(found).cpu().numpy()
    return speeds


def departures(
    predicted: NDArray[np.float32],
    truth: NDArray[np.float32],
    last: NDArray[np.float32],
) -> pd.DataFrame:
    """Return how far forecasts and the truth lie from the last value, mph.

    Args:
        predicted: mph [m, O, N].
        truth: the same, 0 where nothing was measured; such values count in neither.
        last: the last known value, repeated [m, O, N].
    """
    rows = []
    for step in horizons(truth.shape[1]):
        known = truth[:, step - 1] != 0
        count = int(known.sum())
        at = last[:, step - 1]
        for name, values in (("", predicted), ("_truth", truth)):
            apart = np.abs(values[:, step - 1] - at)[known]
            mean = float(apart.mean()) if count else float("nan")
            rows.append((f"departure_{step}{name}", mean, count))
    return pd.DataFrame(rows, columns=COLUMNS)

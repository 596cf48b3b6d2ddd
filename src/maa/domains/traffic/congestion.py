"""Congestion events: when a sensor's speed falls below a share of its free flow."""

import numpy as np
from numpy.typing import NDArray

from maa.domains.traffic.series import Series

FREE_FLOW_QUANTILE = 0.85
Flags = NDArray[np.bool_]


def free_flow(series: Series) -> NDArray[np.float64]:
    """Return float64 [N], the 85th percentile of known training speeds, mph.

    A sensor without any known training speed has 0, so that it is never congested.
    """
    seen = series.speed[: series.train_end].astype(np.float64)
    known = np.where(seen > 0, seen, np.nan)
    empty = np.isnan(known).all(axis=0)
    known[:, empty] = 0.0
    return np.nanquantile(known, FREE_FLOW_QUANTILE, axis=0)


def congested(series: Series) -> Flags:
    """Return bool [S, N]: the speed is known, and below the share of free flow."""
    limit = series.congested_below * free_flow(series)
    return (series.speed > 0) & (series.speed < limit)


def onsets(series: Series) -> Flags:
    """Return bool [S, N]: congested, and not so at the last known step before.

    Missing steps are passed over. A sensor that is congested at its first known step
    has no onset there, since nobody knows what came before.
    """
    now, known = congested(series), series.speed > 0
    steps = np.arange(len(now))[:, None]
    last = np.maximum.accumulate(np.where(known, steps, -1), axis=0)
    before = np.vstack([np.full((1, now.shape[1]), -1), last[:-1]])
    was = np.take_along_axis(now, np.maximum(before, 0), axis=0)
    return now & (before >= 0) & ~was

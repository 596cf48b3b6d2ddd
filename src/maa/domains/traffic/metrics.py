"""Errors of forecasts where the truth was measured, step by step.

Diagonal sink, section 3: masked MAE, RMSE and MAPE over all windows and sensors, at the
steps 3, 6 and 12 (15, 30 and 60 minutes); 24 and 36 too where a window predicts them.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

HORIZONS = (3, 6, 12, 24, 36)
COLUMNS = ["measure", "value", "queries"]
Speeds = NDArray[np.float32]


def horizons(ahead: int) -> list[int]:
    """Return the steps ahead, from 1, at which forecasts of some length are judged."""
    return [step for step in HORIZONS if step <= ahead] or [ahead]


def masked_errors(predicted: Speeds, truth: Speeds) -> dict[str, float]:
    """Return ``mae`` (mph), ``rmse`` (mph) and ``mape`` (%) where the truth is not 0.

    NaN where nothing was measured. Arrays are of one shape, any.
    """
    known = truth != 0
    if not known.any():
        return dict.fromkeys(("mae", "rmse", "mape"), float("nan"))
    right = truth[known].astype(np.float64)
    apart = np.abs(predicted[known].astype(np.float64) - right)
    return {
        "mae": float(apart.mean()),
        "rmse": float(np.sqrt((apart**2).mean())),
        "mape": float(100 * (apart / right).mean()),
    }


def by_horizon(predicted: Speeds, truth: Speeds, suffix: str = "") -> pd.DataFrame:
    """Return the errors at each horizon and, of the absolute one, over all steps.

    Args:
        predicted: mph [B, O, N].
        truth: mph [B, O, N]; 0 where nothing was measured.
        suffix: what to put behind every measure's name.

    Returns:
        Columns measure (as in ``mae_3``; ``mae`` is over all steps), value, and
        queries, how many known values went into it.
    """
    rows = list(_rows(predicted, truth))
    named = [(f"{name}{suffix}", value, count) for name, value, count in rows]
    return pd.DataFrame(named, columns=COLUMNS)


def _rows(predicted: Speeds, truth: Speeds) -> Iterator[tuple[str, float, int]]:
    for step in horizons(truth.shape[1]):
        at = predicted[:, step - 1], truth[:, step - 1]
        for name, value in masked_errors(*at).items():
            yield f"{name}_{step}", value, int(np.count_nonzero(at[1]))
    whole = masked_errors(predicted, truth)["mae"]
    yield "mae", whole, int(np.count_nonzero(truth))

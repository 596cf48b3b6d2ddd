"""How far a trained model's forecasts are off: with its last and its best weights."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from maa.attention import Operator
from maa.domains.traffic.fit import KEPT
from maa.domains.traffic.metrics import COLUMNS, by_horizon, masked_errors
from maa.domains.traffic.reading import Trained, restore


def utility(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> pd.DataFrame:
    """Return the masked errors on the test part, and one on the validation part.

    Args:
        stream: path of the prepared series.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the temporal attention.
        settings: ``device`` and ``model``, the backbone's own.
        threads: CPU threads.

    Returns:
        measure, value and queries. Test: ``mae_3``, ``rmse_3``, ``mape_3`` and so on
        (mph, mph, %) of the last weights, which the released code tests, and ``mae``
        over all steps; the same with ``_best`` for the weights of the epoch with the
        lowest validation loss. ``validation_mae`` and ``validation_mae_best`` are for
        choices.
    """
    tables = []
    for kept, suffix in zip(KEPT, ("", "_best"), strict=True):
        arguments = (stream, model, backbone, operator, settings, threads)
        trained = restore(*arguments, kept)
        predicted = trained.predict(trained.windows.starts("test"))
        tables += [by_horizon(predicted, trained.series.outputs("test"), suffix)]
        tables += [_validation(trained, suffix)]
    return pd.concat(tables, ignore_index=True)


def _validation(trained: Trained, suffix: str) -> pd.DataFrame:
    truth = trained.series.outputs("validation")
    predicted = trained.predict(trained.windows.starts("validation"))
    error = masked_errors(predicted, truth)["mae"]
    row = (f"validation_mae{suffix}", error, int(np.count_nonzero(truth)))
    return pd.DataFrame([row], columns=COLUMNS)

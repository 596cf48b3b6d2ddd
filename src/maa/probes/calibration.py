"""Choosing the forest's settings: what each option recovers, and what it costs.

Meant for validation queries, which nothing else reports on. What is compared is the
mean R2 over targets that are not constant, and the processor time of one forest probe.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from maa.errors import UserError
from maa.probes.recovery import INPUTS, ProbeData, recover
from maa.probes.settings import ProbeSettings, parse_settings
from maa.probes.split import constant_targets, split_at

GRID: Mapping[str, Sequence[Any]] = {
    "joint": (True, False),
    "min_samples_leaf": (2, 5, 10),
    "max_features": (0.1, 0.2, 1 / 3),
    "trees": (12, 25),
}


def calibrate_forest(
    data: ProbeData,
    base: ProbeSettings,
    grid: Mapping[str, Sequence[Any]],
    seed: int,
    threads: int = 1,
) -> pd.DataFrame:
    """Compare every combination of ``grid`` on one representation.

    Args:
        data: inputs and targets of the queries.
        base: the settings that the grid does not name.
        grid: for each setting, the values to try.
        seed: seed of the trees.
        threads: CPU threads.

    Returns:
        One row a combination and inputs: the grid's settings (as text, since a column
        may mix words and numbers), ``inputs``, ``targets`` (number in the mean),
        ``mean_r2``, and ``cpu_seconds`` for splitting, fitting and scoring all targets.

    Raises:
        UserError: for a setting that is unknown or out of range, or if the queries
            cannot be split or have no varying target.
    """
    for name, choices in grid.items():
        if isinstance(choices, str) or not isinstance(choices, Sequence) or not choices:
            raise UserError(
                f"the grid has {choices!r} for {name!r}; expected a list of values"
            )
    rows = []
    for values in product(*grid.values()):
        option = dict(zip(grid, values, strict=True))
        settings = parse_settings({**asdict(base), **option})
        label = {name: _text(value) for name, value in option.items()}
        for inputs in INPUTS:
            result = _evaluate(data, inputs, settings, seed, threads)
            rows.append({**label, "inputs": inputs, **result})
    return pd.DataFrame(rows)


def _evaluate(
    data: ProbeData, inputs: str, settings: ProbeSettings, seed: int, threads: int
) -> dict[str, float]:
    cut = split_at(len(data.targets), settings.train_fraction)
    targets = data.targets[:, ~constant_targets(data.targets, cut)]
    if targets.shape[1] == 0:
        raise UserError(
            "every target is constant on one side of the split, so there is nothing "
            "to calibrate on; use another data set or train_fraction"
        )
    start = time.process_time()
    values = data.inputs(inputs)
    scores = recover("extratrees", values, targets, settings, seed, threads)
    seconds = time.process_time() - start
    return {
        "targets": targets.shape[1],
        "mean_r2": float(np.mean(scores)),
        "cpu_seconds": seconds,
    }


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)

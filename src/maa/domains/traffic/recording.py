"""A recording: the speeds of some sensors and the road graph between them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maa.errors import UserError


@dataclass(frozen=True, eq=False)
class Recording:
    """What sensors of a road network measured, at equal steps of time.

    Attributes:
        speed: float64 [S, N], mph; 0 where nothing was measured.
        weights: float64 [N, N], the road graph: how near one sensor is to another.
    """

    speed: NDArray[np.float64]
    weights: NDArray[np.float64]


def check_recording(
    dataset: str, recording: Recording, counts: Mapping[str, int], where: str
) -> None:
    """Compare a recording with the published counts, and look for what cannot be.

    Args:
        dataset: the data set's name, for the error.
        recording: what was read.
        counts: expected numbers under ``sensors`` and ``steps``; only those given.
        where: the file that says where the data came from, for the error.

    Raises:
        UserError: naming every count that differs, a speed that is negative or not
            finite, or a graph that does not fit the sensors.
    """
    steps, sensors = recording.speed.shape
    found = {"sensors": sensors, "steps": steps}
    wrong = [
        f"{found[what]:,} {what} where {expected:,} are published"
        for what, expected in counts.items()
        if found[what] != expected
    ]
    if wrong:
        raise UserError(
            f"{dataset} has {', '.join(wrong)}; the files that {where} lists are not "
            "the published data: remove them under data/downloads and data/raw and "
            "run again, or name another source in datasets.yaml"
        )
    bad = ~(np.isfinite(recording.speed) & (recording.speed >= 0))
    if bad.any():
        step, sensor = np.argwhere(bad)[0]
        raise UserError(
            f"{dataset}: the speed of sensor {sensor} at step {step} is "
            f"{recording.speed[step, sensor]:g}; expected mph from 0, with 0 for a "
            f"missing value: look at the files that {where} lists"
        )
    _check_graph(dataset, recording, where)


def _check_graph(dataset: str, recording: Recording, where: str) -> None:
    sensors = recording.speed.shape[1]
    weights = recording.weights
    if weights.shape != (sensors, sensors):
        raise UserError(
            f"{dataset}: the road graph is {' x '.join(map(str, weights.shape))} where "
            f"{sensors} sensors need {sensors} x {sensors}; mend the files of {where}"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise UserError(
            f"{dataset}: the road graph has weights that are negative or not finite; "
            f"expected numbers from 0: look at the files that {where} lists"
        )

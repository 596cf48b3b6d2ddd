"""Small series and models that several tests use."""

from typing import Any

import numpy as np

from maa.domains.traffic.generate import planted_roads
from maa.domains.traffic.prepare import Settings, build
from maa.domains.traffic.recording import Recording
from maa.domains.traffic.series import Series

PREPARE: dict[str, Any] = {
    "input_length": 12,
    "output_length": 12,
    "stride": 24,
    "query_stride": 24,
    "validation_fraction": 0.1,
    "test_fraction": 0.2,
    "congested_below": 0.6,
    "recent_steps": 72,
}
MODEL = {"hidden": 8, "heads": 2, "depth": 2, "dropout": 0.1, "embedding": 3}
FIT: dict[str, Any] = {
    "epochs": 2,
    "warm_up": 1,
    "batch_size": 8,
    "learning_rate": 0.001,
    "weight_decay": 0.01,
    "clip": 5.0,
    "patience": 20,
    "least_progress": 0.0001,
    "sequences": 64,
    "autocast": False,
    "device": "cpu",
    "model": MODEL,
}


def series(days: int = 4, sensors: int = 3, seed: int = 0, **changes: Any) -> Series:
    """A prepared series of generated roads."""
    made = planted_roads(sensors=sensors, days=days, seed=seed, planted=True)
    settings = Settings.parse(PREPARE | changes)
    return build(made.recording, "2012-03-01", 5, settings)


def hand_made(speed: list[list[float]], **changes: Any) -> Series:
    """A series of given speeds, one row a step, windows of two in and two out."""
    values = np.array(speed)
    short = {"input_length": 2, "output_length": 2, "stride": 1, "query_stride": 1}
    shares = {"validation_fraction": 0.25, "test_fraction": 0.25, "recent_steps": 6}
    recording = Recording(values, np.eye(values.shape[1]))
    settings = Settings.parse(PREPARE | short | shares | changes)
    return build(recording, "2012-03-01", 480, settings)

"""Stage: from a recording to scaled speeds and the windows of each part.

Diagonal sink, section 3: 12 steps in and 12 out, a split .7/.1/.2 in time, windows
inside a part, each sensor scaled by the mean and deviation of its training rows, zeros
included.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maa.domains.traffic.readers import read_recording
from maa.domains.traffic.recording import Recording
from maa.domains.traffic.series import PARTS, Series
from maa.errors import UserError

MINUTES_PER_DAY = 1440
_COUNTS = ("input_length", "output_length", "stride", "query_stride", "recent_steps")
_SHARES = ("validation_fraction", "test_fraction", "congested_below")


@dataclass(frozen=True)
class Settings:
    """How a series is prepared: the ``prepare`` settings of the domain.

    Attributes:
        input_length: steps that a window reads.
        output_length: steps that it predicts.
        stride: steps from one training window to the next.
        query_stride: the same for validation and test windows.
        validation_fraction: share of all steps, before the last, to validate on.
        test_fraction: share of all steps, the last ones, to test on.
        congested_below: share of a sensor's free-flow speed below which it is
            congested.
        recent_steps: how far back "recent" congestion reaches, in steps.
    """

    input_length: int
    output_length: int
    stride: int
    query_stride: int
    validation_fraction: float
    test_fraction: float
    congested_below: float
    recent_steps: int

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> "Settings":
        """Check the settings.

        Raises:
            UserError: if one is missing, unknown, or out of range.
        """
        names = set(cls.__dataclass_fields__)
        if set(settings) != names:
            raise UserError(
                f"the prepare settings are {', '.join(sorted(settings)) or 'empty'}; "
                f"expected exactly {', '.join(sorted(names))}"
            )
        for name in _COUNTS:
            value = settings[name]
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UserError(
                    f"prepare setting {name} is {value!r}; expected a whole number of "
                    "at least 1"
                )
        for name in _SHARES:
            value = settings[name]
            if not isinstance(value, float | int) or not 0 < value < 1:
                raise UserError(
                    f"prepare setting {name} is {value!r}; expected a number between "
                    "0 and 1, both excluded"
                )
        return cls(**settings)

    def split(self, steps: int) -> tuple[int, int]:
        """Return the ends of the training and the validation part of some steps.

        Raises:
            UserError: if a part is too short for one window.
        """
        # 10 * (1 - 0.3) is a little below 7 in floating point, and means 7.
        shares = (self.validation_fraction + self.test_fraction, self.test_fraction)
        train_end, validation_end = (
            int(round(steps * (1 - share), 6)) for share in shares
        )
        parts = (train_end, validation_end - train_end, steps - validation_end)
        length = self.input_length + self.output_length
        if min(parts) < length:
            raise UserError(
                f"a recording of {steps} steps is too short: of training, validation "
                f"and test part, which have {', '.join(map(str, parts))} steps, each "
                f"needs a window of {length}; choose a longer recording, or shorter "
                "windows by prepare.input_length and prepare.output_length"
            )
        return train_end, validation_end

    def starts(self, first: int, end: int, stride: int) -> NDArray[np.int64]:
        """Return the first steps of the windows that lie in [first, end)."""
        last = end - self.input_length - self.output_length
        return np.arange(first, last + 1, stride, dtype=np.int64)


def prepare(
    source: str | Path, entry: Mapping[str, Any], settings: Mapping[str, Any]
) -> Series:
    """Read a downloaded data set and prepare its series.

    Args:
        source: the ``source.json`` of the download.
        entry: the data set's entry in the registry: ``starts`` (a date), ``minutes``
            a step, and ``counts`` where there are published ones.
        settings: as in `Settings`.

    Raises:
        UserError: if the data or a setting is not as expected.
    """
    checked = Settings.parse(settings)
    recording = read_recording(source, entry)
    return build(recording, entry["starts"], entry["minutes"], checked)


def build(
    recording: Recording, starts: str, minutes: int, settings: Settings
) -> Series:
    """Scale a recording and cut its windows.

    Args:
        recording: speeds and road graph.
        starts: the date of the first step, which is midnight, as in 2012-03-01.
        minutes: length of a step; divides a day.
        settings: split, windows, congestion.

    Raises:
        UserError: if it is too short, a step does not divide a day, or a sensor never
            varies in the training part.
    """
    if MINUTES_PER_DAY % minutes:
        raise UserError(
            f"minutes is {minutes} in datasets.yaml; expected a divisor of 1440, so "
            "that days have whole steps"
        )
    train_end, validation_end = settings.split(len(recording.speed))
    seen = recording.speed[:train_end]
    deviation = seen.std(axis=0)
    if (deviation == 0).any():
        sensor = int(np.flatnonzero(deviation == 0)[0])
        raise UserError(
            f"sensor {sensor} never varies in the training part, so that it cannot be "
            "scaled; leave it out, or train on a longer part"
        )
    edges = {
        "train": (0, train_end, settings.stride),
        "validation": (train_end, validation_end, settings.query_stride),
        "test": (validation_end, len(recording.speed), settings.query_stride),
    }
    return Series(
        speed=recording.speed.astype(np.float32),
        mean=seen.mean(axis=0).astype(np.float32),
        deviation=deviation.astype(np.float32),
        weights=recording.weights.astype(np.float32),
        **{f"{part}_starts": settings.starts(*edge) for part, edge in edges.items()},
        steps_per_day=MINUTES_PER_DAY // minutes,
        first_weekday=date.fromisoformat(starts).weekday(),
        input_length=settings.input_length,
        output_length=settings.output_length,
        train_end=train_end,
        validation_end=validation_end,
        congested_below=float(settings.congested_below),
        recent_steps=settings.recent_steps,
    )


def summary(stream: Series) -> dict[str, Any]:
    """Return the numbers that tell a reader what a series holds."""
    parts = {part: {"windows": len(stream.starts(part))} for part in ("train", *PARTS)}
    return {
        "sensors": stream.sensors,
        "steps": len(stream.speed),
        "missing": float((stream.speed == 0).mean()),
        "roads": int(np.count_nonzero(stream.weights)),
        "mean_speed": float(stream.speed[stream.speed > 0].mean()),
        **parts,
    }

"""A prepared series: the speeds, their scale, and the windows of each part.

Everything later reads from this one file; nothing in it depends on a model.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maa.errors import UserError
from maa.files import read_tensors, write_tensors

PARTS = ("validation", "test")
_METADATA = (
    *("steps_per_day", "first_weekday", "input_length", "output_length"),
    *("train_end", "validation_end", "congested_below", "recent_steps"),
)


@dataclass(frozen=True, eq=False)
class Series:
    """The speeds of N sensors at S steps, and the windows that are cut from them.

    A window starts at a step, reads ``input_length`` steps and predicts the
    ``output_length`` that follow; it lies inside its part.

    Attributes:
        speed: float32 [S, N], mph; 0 where nothing was measured.
        mean: float32 [N], of the training rows, zeros included.
        deviation: float32 [N], standard deviation of the same.
        weights: float32 [N, N], the road graph.
        train_starts: int64 [m], first steps of the training windows, ascending.
        validation_starts: int64 [m].
        test_starts: int64 [m].
        steps_per_day: steps of one day.
        first_weekday: day of the week of the first step, Monday 0.
        input_length: steps that a window reads.
        output_length: steps that it predicts.
        train_end: rows [0, train_end) are for fitting.
        validation_end: rows [train_end, validation_end) are for validation, the rest
            for testing.
        congested_below: share of a sensor's free-flow speed below which it is
            congested.
        recent_steps: how far back "recent" congestion reaches, in steps.
    """

    speed: NDArray[np.float32]
    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]
    weights: NDArray[np.float32]
    train_starts: NDArray[np.int64]
    validation_starts: NDArray[np.int64]
    test_starts: NDArray[np.int64]
    steps_per_day: int
    first_weekday: int
    input_length: int
    output_length: int
    train_end: int
    validation_end: int
    congested_below: float
    recent_steps: int

    @property
    def sensors(self) -> int:
        """The number of sensors N."""
        return int(self.speed.shape[1])

    @property
    def scaled(self) -> NDArray[np.float32]:
        """float32 [S, N], speeds less the mean, over the standard deviation."""
        scaled: NDArray[np.float32] = (self.speed - self.mean) / self.deviation
        return scaled

    @property
    def day_time(self) -> NDArray[np.float32]:
        """float32 [S], the time of day as a fraction of the day, from 0 to below 1."""
        step = np.arange(len(self.speed)) % self.steps_per_day
        return (step / self.steps_per_day).astype(np.float32)

    @property
    def weekday(self) -> NDArray[np.int64]:
        """int64 [S], Monday 0."""
        day = np.arange(len(self.speed)) // self.steps_per_day
        return (day + self.first_weekday) % 7

    def starts(self, part: str) -> NDArray[np.int64]:
        """int64 [m], first steps of the windows of train, validation or test."""
        starts: NDArray[np.int64] = getattr(self, f"{part}_starts")
        return starts

    def inputs(self, part: str) -> NDArray[np.float32]:
        """float32 [m, T, N], speeds that the windows of a part read, mph."""
        return self._rows(part, np.arange(self.input_length))

    def outputs(self, part: str) -> NDArray[np.float32]:
        """float32 [m, O, N], speeds that follow, mph; 0 where nothing was measured."""
        ahead = self.input_length + np.arange(self.output_length)
        return self._rows(part, ahead)

    def _rows(self, part: str, steps: NDArray[np.int64]) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = self.speed[self.starts(part)[:, None] + steps]
        return rows

    def save(self, path: str | Path) -> None:
        """Write it to one file; the same data give the same bytes."""
        names = [field.name for field in fields(self) if field.name not in _METADATA]
        tensors = {name: getattr(self, name) for name in names}
        write_tensors(path, tensors, {name: getattr(self, name) for name in _METADATA})

    @classmethod
    def load(cls, path: str | Path) -> "Series":
        """Read what `save` wrote.

        Raises:
            UserError: if the file is missing, broken, or holds something else.
        """
        tensors, metadata = read_tensors(path)
        whole: dict[str, Any] = {**tensors, **metadata}
        names = {field.name for field in fields(cls)}
        if set(whole) != names:
            apart = ", ".join(sorted(names ^ set(whole)))
            raise UserError(
                f"{path} is not a prepared series (it differs in {apart}); delete it "
                "and run the prepare step again"
            )
        return cls(**whole)

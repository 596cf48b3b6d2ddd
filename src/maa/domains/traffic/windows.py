"""Windows as index arithmetic over tensors that are laid out once.

Sensors come first and time last, so that a sensor's window is contiguous, a layer's
sequences are rows of one matrix, and the road graph is a product with one matrix.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from maa.domains.traffic.series import Series


@dataclass(frozen=True, eq=False)
class Batch:
    """B windows of N sensors.

    Attributes:
        speed: float32 [N, B, T], scaled.
        day_time: float32 [B, T], fraction of the day.
        target: float32 [N, B, O], mph; 0 where nothing was measured.
    """

    speed: Tensor
    day_time: Tensor
    target: Tensor

    @property
    def measured(self) -> Tensor:
        """Bool [N, B, O], where the target is known."""
        return self.target != 0


class Windows:
    """The windows of a series, on one device.

    Args:
        series: the prepared series.
        device: where the tensors go.
    """

    def __init__(self, series: Series, device: torch.device | str = "cpu") -> None:
        def on(values: object) -> Tensor:
            return torch.as_tensor(values).to(device)

        self.series = series
        self.scaled = on(series.scaled.T.copy())
        self.speed = on(series.speed.T.copy())
        self.day_time = on(series.day_time)
        self.mean = on(series.mean).view(-1, 1, 1)
        self.deviation = on(series.deviation).view(-1, 1, 1)
        self._reads = torch.arange(series.input_length, device=device)
        ahead = torch.arange(series.output_length, device=device)
        self._predicts = series.input_length + ahead

    def starts(self, part: str) -> Tensor:
        """int64 [m], first steps of the windows of a part."""
        return torch.from_numpy(self.series.starts(part)).to(self.scaled.device)

    def at(self, starts: Tensor) -> Batch:
        """Return the windows that start at some steps, int64 [B]."""
        reads = starts[:, None] + self._reads
        predicts = starts[:, None] + self._predicts
        return Batch(
            self.scaled[:, reads], self.day_time[reads], self.speed[:, predicts]
        )

    def slices(self, starts: Tensor, sequences: int) -> Iterator[Batch]:
        """Yield windows a few at a time, at most so many sequences (one if need be)."""
        size = max(1, sequences // self.series.sensors)
        for first in range(0, len(starts), size):
            yield self.at(starts[first : first + size])

    def in_mph(self, scaled: Tensor) -> Tensor:
        """Return predictions [N, B, O] in mph."""
        return scaled * self.deviation + self.mean

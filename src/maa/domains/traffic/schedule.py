"""The learning rate of each epoch, and when to stop (diagonal sink, section 3)."""

import math
from dataclasses import dataclass

START = 0.1  # share of the full rate in the first epoch
LOWEST = 1e-6  # the rate that the cosine falls to


def learning_rate(epoch: int, epochs: int, warm_up: int, full: float) -> float:
    """Return the rate of an epoch, counted from 0.

    It grows linearly from a tenth of the full rate over the first epochs and then falls
    along half a cosine, which it would end one epoch after the last.

    Args:
        epoch: from 0.
        epochs: epochs of the whole schedule.
        warm_up: epochs of growth; at most ``epochs``.
        full: the rate after growth.
    """
    growing = min(warm_up, epochs)
    if epoch < growing:
        return full * (START + (1 - START) * epoch / growing)
    done = (epoch - growing) / (epochs - growing)
    return LOWEST + (full - LOWEST) * (1 + math.cos(math.pi * done)) / 2


@dataclass
class Patience:
    """Stops a training whose validation loss no longer falls.

    Attributes:
        epochs: how many epochs without progress end it.
        least: a smaller fall than this is no progress.
    """

    epochs: int
    least: float
    best: float = math.inf
    waited: int = 0

    def exhausted(self, loss: float) -> bool:
        """Take an epoch's loss; tell whether to stop after it."""
        if loss < self.best - self.least:
            self.best, self.waited = loss, 0
        else:
            self.waited += 1
        return self.waited >= self.epochs

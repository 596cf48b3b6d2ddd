"""Stage: training a forecaster on the masked absolute error in mph.

Diagonal sink, section 3: AdamW, a linear warm-up and a cosine, clipped gradients, an
early stop on the validation loss. The released code tests the last weights; those of
the best epoch are kept beside them. Order, initialisation, dropout and the draws of a
regulariser each take a stream of their own from the run's seed.
"""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW, Optimizer

from maa.attention import Operator
from maa.attention.aggregation.base import anneal, draw
from maa.devices import use
from maa.domains.traffic.backbones.layers import Forecaster
from maa.domains.traffic.schedule import Patience, learning_rate
from maa.domains.traffic.series import Series
from maa.domains.traffic.windows import Batch, Windows
from maa.errors import UserError
from maa.seeds import derive, generator

say = partial(print, flush=True)
KEPT = ("last", "best")
State = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained model and its course.

    Attributes:
        weights: the parameters by name, ``last.`` or ``best.`` before it.
        curve: one row an epoch: epoch, loss (masked absolute error over the training
            windows in mph, with dropout), validation_loss (without), learning_rate.
    """

    weights: dict[str, NDArray[Any]]
    curve: pd.DataFrame


def fit(
    stream: str | Path,
    backbone: ModuleType,
    operator: Operator,
    seed: int,
    settings: Mapping[str, Any],
    threads: int = 1,
    report: Callable[[str], None] = say,
) -> Fitted:
    """Train one run.

    Args:
        stream: path of the prepared series.
        backbone: the backbone's module.
        operator: the normalisation of the temporal attention.
        seed: the run's seed.
        settings: ``epochs``, ``warm_up``, ``batch_size`` (windows), ``learning_rate``,
            ``weight_decay``, ``clip``, ``patience`` (epochs), ``least_progress``,
            ``sequences`` (of one pass: a larger batch is taken in slices),
            ``autocast``, ``device`` and ``model``, the backbone's own.
        threads: CPU threads.
        report: takes one line an epoch.

    Raises:
        UserError: if the device is missing or training diverges.
    """
    series = Series.load(stream)
    device = use(settings["device"], threads)
    model = initialise(series, backbone, operator, seed, settings["model"]).to(device)
    best, curve = train(model, Windows(series, device), seed, settings, report)
    states = dict(zip(KEPT, (model.state_dict(), best), strict=True))
    weights = {
        f"{kept}.{name}": value.cpu().numpy()
        for kept, state in states.items()
        for name, value in state.items()
    }
    return Fitted(weights, curve)


def initialise(
    series: Series,
    backbone: ModuleType,
    operator: Operator,
    seed: int,
    settings: Mapping[str, Any],
) -> Forecaster:
    """Build a model from the seed's stream of initial weights.

    PyTorch's global generator is left at the start of the seed's stream of dropout.
    """
    torch.manual_seed(derive(seed, "initialisation"))
    model: Forecaster = backbone.build(series, operator, settings)
    torch.manual_seed(derive(seed, "dropout"))
    return model


def train(
    model: Forecaster,
    windows: Windows,
    seed: int,
    settings: Mapping[str, Any],
    report: Callable[[str], None] = say,
) -> tuple[State, pd.DataFrame]:
    """Train a model in place; arguments and errors are those of `fit`.

    Returns:
        The weights of the epoch with the lowest validation loss, and the curve.
    """
    step = Step(model, windows, seed, settings)
    order, starts = generator(seed, "order"), windows.starts("train")
    patience = Patience(settings["patience"], settings["least_progress"])
    best, lowest, curve = model.state_dict(), math.inf, []
    epochs, started = settings["epochs"], time.perf_counter()
    for epoch in range(epochs):
        anneal(model, epoch / max(epochs - 1, 1))
        rate = step.set_rate(epoch)
        shuffled = starts[torch.from_numpy(order.permutation(len(starts)))]
        loss = step.epoch(shuffled)
        _check(loss, epoch, rate)
        validation = masked_error(model, windows, "validation", settings)
        if validation < lowest:
            best, lowest = copy.deepcopy(model.state_dict()), validation
        curve.append((epoch + 1, loss, validation, rate))
        left = (time.perf_counter() - started) * (epochs / (epoch + 1) - 1)
        report(
            f"epoch {epoch + 1}/{epochs}  loss {loss:.4f}  validation loss "
            f"{validation:.4f}  at most {left:.0f} s left"
        )
        if patience.exhausted(validation):
            report(f"no progress for {patience.waited} epochs: stopped")
            break
    columns = ["epoch", "loss", "validation_loss", "learning_rate"]
    return best, pd.DataFrame(curve, columns=columns)


class Step:
    """Steps of the optimiser over batches of windows.

    Args:
        model: the model, on its device.
        windows: the data, on the same.
        seed: the run's seed.
        settings: as in `fit`.
    """

    def __init__(
        self,
        model: Forecaster,
        windows: Windows,
        seed: int,
        settings: Mapping[str, Any],
    ) -> None:
        self.model = model
        self.windows = windows
        self.settings = settings
        self.optimiser: Optimizer = AdamW(
            model.parameters(),
            lr=settings["learning_rate"],
            weight_decay=settings["weight_decay"],
            fused=True,
        )
        self.draws = torch.Generator().manual_seed(derive(seed, "regulariser"))

    def set_rate(self, epoch: int) -> float:
        """Set and return the learning rate of an epoch, from 0."""
        names = ("epochs", "warm_up", "learning_rate")
        rate = learning_rate(epoch, *(self.settings[name] for name in names))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        return rate

    def epoch(self, starts: Tensor) -> float:
        """Train on windows in this order; return the masked error over all of them."""
        self.model.train()
        size = self.settings["batch_size"]
        batches = range(0, len(starts), size)
        sums = [self.batch(starts[first : first + size]) for first in batches]
        total, count = torch.stack(sums).sum(0).tolist()
        return float(total / max(count, 1))

    def batch(self, starts: Tensor) -> Tensor:
        """Take one step; return [2], the sum of errors (mph) and their number.

        A batch that is larger than a pass is taken in slices, whose gradients add up to
        that of the batch's mean error.
        """
        draw(self.model, self.draws)
        count = self.windows.at(starts).measured.sum()
        scale = 1 / count.clamp(min=1)
        self.optimiser.zero_grad(set_to_none=True)
        total = torch.zeros((), dtype=torch.float64, device=count.device)
        for data in self.windows.slices(starts, self.settings["sequences"]):
            error = summed_error(self.model, self.windows, data, self.settings)
            (error * scale).backward()  # type: ignore[no-untyped-call]
            total += error.detach()
        clip_grad_norm_(self.model.parameters(), self.settings["clip"])
        self.optimiser.step()
        return torch.stack([total, count.double()])


def summed_error(
    model: Forecaster, windows: Windows, data: Batch, settings: Mapping[str, Any]
) -> Tensor:
    """Return the sum of absolute errors in mph over known targets."""
    device = data.speed.device.type
    with torch.autocast(device, torch.bfloat16, enabled=settings["autocast"]):
        scaled = model(data.speed, data.day_time)
    error = (windows.in_mph(scaled.float()) - data.target).abs()
    return (error * data.measured).sum()


@torch.no_grad()
def masked_error(
    model: Forecaster, windows: Windows, part: str, settings: Mapping[str, Any]
) -> float:
    """Return the mean absolute error in mph of a part, without dropout."""
    model.eval()
    total, count = 0.0, 0
    for data in windows.slices(windows.starts(part), settings["sequences"]):
        total += float(summed_error(model, windows, data, settings))
        count += int(data.measured.sum())
    return total / max(count, 1)


def _check(loss: float, epoch: int, rate: float) -> None:
    if not math.isfinite(loss):
        raise UserError(
            f"training diverged: the loss of epoch {epoch + 1} is {loss}; lower "
            f"fit.learning_rate (it was {rate:g} in this epoch)"
        )

"""Training a backbone to tell the observed destination from a sampled one.

Bayesian personalised ranking over training events, one fresh negative each, for a fixed
number of epochs; the last epoch is kept (paper 5.1). Four random streams of a run's
seed (initialisation, order, negatives, dropout) are kept apart, so that two runs that
differ in the operator alone share all four.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import AdamW, Optimizer

from maa.attention import Operator
from maa.attention.aggregation.base import anneal
from maa.devices import use
from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.negatives import training_negatives
from maa.domains.ctdg.ranking import auc
from maa.domains.ctdg.scoring import score
from maa.domains.ctdg.stream import EventStream
from maa.errors import UserError
from maa.seeds import derive, generator

say = partial(print, flush=True)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained model and its course.

    Attributes:
        weights: the model's parameters by name.
        curve: one row an epoch: epoch, loss (mean over training events, with dropout)
            and validation_auc (positives against unseen negatives).
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
        stream: path of the prepared event stream.
        backbone: the backbone's module.
        operator: the normalisation of the attention weights.
        seed: the run's seed.
        settings: ``epochs``, ``batch_size``, ``learning_rate``, ``weight_decay``,
            ``device`` (cpu or cuda) and ``model``, the backbone's own.
        threads: CPU threads.
        report: takes one line an epoch.

    Raises:
        UserError: if the device is missing or training diverges.
    """
    events = EventStream.load(stream)
    device = use(settings["device"], threads)
    model = initialise(events, backbone, operator, seed, settings["model"]).to(device)
    curve = train(model, events, seed, settings, report)
    weights = {name: value.cpu().numpy() for name, value in model.state_dict().items()}
    return Fitted(weights, curve)


def initialise(
    stream: EventStream,
    backbone: ModuleType,
    operator: Operator,
    seed: int,
    settings: Mapping[str, Any],
) -> Backbone:
    """Build a model from the seed's stream of initial weights.

    PyTorch's global generator is left at the start of the seed's stream of dropout.
    """
    torch.manual_seed(derive(seed, "initialisation"))
    model: Backbone = backbone.build(stream, operator, settings)
    torch.manual_seed(derive(seed, "dropout"))
    return model


def train(
    model: Backbone,
    stream: EventStream,
    seed: int,
    settings: Mapping[str, Any],
    report: Callable[[str], None] = say,
) -> pd.DataFrame:
    """Train a model in place; arguments and errors are those of `fit`.

    Returns:
        The curve of `Fitted`.
    """
    order, negatives = generator(seed, "order"), generator(seed, "negatives")
    optimiser = adamw(model, settings)
    started, curve = time.perf_counter(), []
    for epoch in range(1, settings["epochs"] + 1):
        anneal(model, (epoch - 1) / max(settings["epochs"] - 1, 1))
        data = epoch_data(model, stream, order, negatives)
        loss = _mean_loss(model.train(), optimiser, data, settings["batch_size"])
        if not math.isfinite(loss):
            raise UserError(
                f"training diverged: the loss of epoch {epoch} is {loss}; lower "
                f"fit.learning_rate (now {settings['learning_rate']})"
            )
        auc = validation_auc(model, stream)
        curve.append((epoch, loss, auc))
        left = (time.perf_counter() - started) * (settings["epochs"] / epoch - 1)
        report(
            f"epoch {epoch}/{settings['epochs']}  loss {loss:.4f}  "
            f"validation AUC {auc:.4f}  {left:.0f} s left"
        )
    return pd.DataFrame(curve, columns=["epoch", "loss", "validation_auc"])


def adamw(model: Backbone, settings: Mapping[str, Any]) -> AdamW:
    """Return AdamW over all parameters, in its fused form (one pass over them)."""
    return AdamW(
        model.parameters(),
        lr=settings["learning_rate"],
        weight_decay=settings["weight_decay"],
        fused=True,
    )


def epoch_data(
    model: Backbone,
    stream: EventStream,
    order: np.random.Generator,
    negatives: np.random.Generator,
) -> Batch:
    """Gather an epoch: training rows in a new order, candidates [observed, negative].

    Args:
        model: the model that reads it; the epoch lies on its device.
        stream: the events; rows before its ``train_end`` are used.
        order: the generator of the order.
        negatives: the generator of the negatives.
    """
    rows = order.permutation(stream.train_end)
    sampled = training_negatives(negatives, stream, rows)
    candidates = np.stack([stream.destination[rows], sampled], axis=1)
    data = model.gather(stream, rows, candidates)
    return data.to(next(model.parameters()).device)


def steps(
    model: Backbone, optimiser: Optimizer, data: Batch, batch_size: int
) -> Iterator[Tensor]:
    """Take one step of the optimiser a batch; yield each batch's mean loss."""
    for start in range(0, len(data), batch_size):
        loss = bpr(model(data[start : start + batch_size]))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        yield loss.detach()


def bpr(scores: Tensor) -> Tensor:
    """Return the mean of -log sigmoid(observed - negative) over scores [B, 2]."""
    observed, negative = scores.unbind(dim=1)
    return F.softplus(negative - observed).mean()


def validation_auc(model: Backbone, stream: EventStream) -> float:
    """Return the ROC-AUC of validation events against their unseen negatives."""
    queries = stream.queries("validation")
    scores = score(model, stream, queries.row[::2], queries.destination.reshape(-1, 2))
    return auc(scores[:, 0], scores[:, 1])


def _mean_loss(
    model: Backbone, optimiser: Optimizer, data: Batch, batch_size: int
) -> float:
    """Train for an epoch; return the mean loss over its rows."""
    losses = torch.stack(list(steps(model, optimiser, data, batch_size))).cpu()
    sizes = torch.full((len(losses),), batch_size, dtype=torch.float64)
    sizes[-1] = len(data) - batch_size * (len(losses) - 1)
    return float((losses.double() * sizes).sum() / len(data))

"""Reading a frozen model: rebuilding it from its weights, and scoring many rows."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from maa.attention import Operator
from maa.devices import use
from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.stream import EventStream
from maa.errors import UserError
from maa.files import read_tensors

ROWS_AT_ONCE = 512


def load(
    path: str | Path,
    stream: EventStream,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
) -> Backbone:
    """Rebuild a trained model in evaluation mode.

    Args:
        path: the model's weights, as the training step writes them.
        stream: the events that it was trained on.
        backbone: the backbone's module.
        operator: the normalisation of the attention weights.
        settings: the model's settings.

    Raises:
        UserError: if the file is missing or broken, or holds another model.
    """
    weights, identity = read_tensors(path)
    if identity.get("operator") != operator.name:
        raise UserError(
            f"{path} was trained with the operator {identity.get('operator')}, not "
            f"{operator.name}; give that operator, or run the train step again"
        )
    model: Backbone = backbone.build(stream, operator, settings)
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: value.shape for name, value in weights.items()}
    for name in sorted(expected | found):
        if expected.get(name) != found.get(name):
            raise UserError(
                f"{path} holds another model: {name} is {found.get(name, 'absent')} "
                f"where {expected.get(name, 'nothing')} was expected; run the train "
                "step again with these settings"
            )
    tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
    model.load_state_dict(tensors)
    return model.eval()


def restore(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int,
) -> tuple[EventStream, Backbone]:
    """Read a prepared stream and the model that was trained on it, on its device.

    Args:
        stream: path of the prepared event stream.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the attention weights.
        settings: ``device`` and ``model``, the backbone's own.
        threads: CPU threads.

    Raises:
        UserError: as `load`, or if the device is missing.
    """
    events = EventStream.load(stream)
    device = use(settings["device"], threads)
    trained = load(model, events, backbone, operator, settings["model"])
    return events, trained.to(device)


def pieces(
    model: Backbone,
    stream: EventStream,
    rows: ArrayLike,
    destination: ArrayLike,
    history_rows: ArrayLike | None = None,
) -> Iterator[Batch]:
    """Yield the rows a few hundred at a time, as the model gathers them."""
    device = next(model.parameters()).device
    row, candidates = np.asarray(rows), np.asarray(destination)
    readers = row if history_rows is None else np.asarray(history_rows)
    for start in range(0, len(row), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        batch = model.gather(stream, row[some], candidates[some], readers[some])
        yield batch.to(device)


@torch.no_grad()
def score(
    model: Backbone,
    stream: EventStream,
    rows: ArrayLike,
    destination: ArrayLike,
    history_rows: ArrayLike | None = None,
) -> NDArray[np.float32]:
    """Return float32 [B, C], the scores (logits) of candidates, without dropout.

    The model's mode is restored afterwards. Arguments are those of
    `maa.domains.ctdg.batches.collect`.
    """
    training = model.training
    model.eval()
    batches = pieces(model, stream, rows, destination, history_rows)
    scores = [model(batch).cpu().numpy() for batch in batches]
    model.train(training)
    return np.concatenate(scores) if scores else np.empty((0, 0), np.float32)

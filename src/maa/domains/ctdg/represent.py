"""Reading out what a frozen model makes of every query (paper 4.1)."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maa.attention import Operator
from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.scoring import pieces, restore
from maa.domains.ctdg.stream import PARTS, EventStream, Queries


def represent(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> dict[str, NDArray[np.float32]]:
    """Return the representation of each part's queries (each event and its negative).

    Args:
        stream: path of the prepared event stream.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the attention weights.
        settings: ``coordinates_p``, ``device`` and ``model``, the backbone's own.
        threads: CPU threads.

    Returns:
        For ``validation`` and ``test``: ``{part}_z`` [2m, d], the predictor's input;
        ``{part}_c`` [2m, k], log||m||_1 and log||m||_p for each layer and head with
        p = ``coordinates_p`` whatever the operator; ``{part}_keys`` [2m, e], the
        numbers of valid keys; ``{part}_score`` [2m].
    """
    events, trained = restore(stream, model, backbone, operator, settings, threads)
    read: dict[str, NDArray[np.float32]] = {}
    for part in PARTS:
        queries = events.queries(part)
        arrays = encode(trained, events, queries, settings["coordinates_p"])
        read |= {f"{part}_{name}": array for name, array in arrays.items()}
    return read


@torch.no_grad()
def encode(
    model: Backbone, stream: EventStream, queries: Queries, p: float
) -> dict[str, NDArray[np.float32]]:
    """Return ``z`` [2m, d], ``c`` [2m, k], ``keys`` [2m, e] and ``score`` [2m].

    Args:
        model: the model, in evaluation mode.
        stream: the events.
        queries: some queries, pairs of an event and its negative.
        p: the power of the second coordinate.
    """
    rows, candidates = queries.row[::2], queries.destination.reshape(-1, 2)
    encodings = [
        model.encode(batch, p) for batch in pieces(model, stream, rows, candidates)
    ]
    joined = {
        "z": torch.cat([encoding.z for encoding in encodings]).flatten(0, 1),
        "c": torch.cat([encoding.coordinates for encoding in encodings]).flatten(0, 1),
        "keys": torch.cat([encoding.keys for encoding in encodings]).flatten(0, 1),
        "score": torch.cat([encoding.score for encoding in encodings]).flatten(),
    }
    return {name: tensor.cpu().numpy() for name, tensor in joined.items()}

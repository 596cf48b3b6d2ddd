"""Reading out what a frozen forecaster makes of every query (a sensor in a window)."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maa.attention import Operator, log_norms
from maa.domains.traffic.backbones.layers import Record
from maa.domains.traffic.reading import SEQUENCES, Trained, restore
from maa.domains.traffic.series import PARTS


def represent(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> dict[str, NDArray[np.float32]]:
    """Return the representation of each part's queries, in the order of the targets.

    Args:
        stream: path of the prepared series.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the temporal attention.
        settings: ``coordinates_p``, ``device`` and ``model``, the backbone's own.
        threads: CPU threads.

    Returns:
        For ``validation`` and ``test``: ``{part}_z`` [m N, T (h + 1)], what the output
        head reads; ``{part}_c`` [m N, k], log||m||_1 and log||m||_p for each block and
        head, the mean over the window's steps, with p = ``coordinates_p`` whatever the
        operator; ``{part}_keys`` [m N, 1], the number of steps; ``{part}_score``
        [m N], the mean forecast in mph.
    """
    trained = restore(stream, model, backbone, operator, settings, threads)
    read: dict[str, NDArray[np.float32]] = {}
    for part in PARTS:
        arrays = encode(trained, part, settings["coordinates_p"])
        read |= {f"{part}_{name}": array for name, array in arrays.items()}
    return read


@torch.no_grad()
def encode(trained: Trained, part: str, p: float) -> dict[str, NDArray[np.float32]]:
    """Return ``z``, ``c``, ``keys`` and ``score`` of a part's queries.

    Args:
        trained: the model and its data.
        part: validation or test.
        p: the power of the second coordinate.
    """
    windows = trained.windows
    found: dict[str, list[Tensor]] = {name: [] for name in ("z", "c", "score")}
    for data in windows.slices(windows.starts(part), SEQUENCES):
        record = Record()
        z = trained.model.read(data.speed, data.day_time, record)
        ahead = windows.in_mph(trained.model.predict(z)).mean(-1)
        found["z"].append(_by_window(z.flatten(2)))
        found["c"].append(_by_window(_coordinates(record, p).view(*z.shape[:2], -1)))
        found["score"].append(_by_window(ahead))
    arrays = {name: torch.cat(parts).cpu().numpy() for name, parts in found.items()}
    keys = np.full((len(arrays["z"]), 1), trained.series.input_length, np.float32)
    return arrays | {"keys": keys}


def _coordinates(record: Record, p: float) -> Tensor:
    """[N * B, k] of all blocks and heads."""
    norms = [
        torch.stack(log_norms(logits, p), dim=-1).mean(1) for logits in record.logits
    ]
    return torch.cat(norms, dim=1).flatten(1)


def _by_window(values: Tensor) -> Tensor:
    """Return [B * N, *] of [N, B, *]: window by window, sensors in order."""
    return values.transpose(0, 1).flatten(0, 1)

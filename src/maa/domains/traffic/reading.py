"""Reading a frozen model: rebuilding it from its weights, and predicting."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maa.attention import Operator
from maa.devices import use
from maa.domains.traffic.backbones.layers import Forecaster
from maa.domains.traffic.series import Series
from maa.domains.traffic.windows import Windows
from maa.errors import UserError
from maa.files import read_tensors

SEQUENCES = 2048  # of one pass without gradients


@dataclass(frozen=True, eq=False)
class Trained:
    """A frozen model with its data, on one device.

    Attributes:
        model: the model, in evaluation mode.
        windows: the series' windows.
    """

    model: Forecaster
    windows: Windows

    @property
    def series(self) -> Series:
        """The prepared series."""
        return self.windows.series

    @torch.no_grad()
    def predict(self, starts: Tensor) -> NDArray[np.float32]:
        """Return float32 [B, O, N], speeds in mph that follow the windows' inputs."""
        found = [
            self.windows.in_mph(self.model(data.speed, data.day_time)).permute(1, 2, 0)
            for data in self.windows.slices(starts, SEQUENCES)
        ]
        speeds: NDArray[np.float32] = torch.cat(found).cpu().numpy()
        return speeds


def restore(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int,
    kept: str = "last",
) -> Trained:
    """Read a prepared series and a model that was trained on it.

    Args:
        stream: path of the prepared series.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the temporal attention.
        settings: ``device`` and ``model``, the backbone's own.
        threads: CPU threads.
        kept: ``last`` for the weights of the last epoch, ``best`` for those with the
            lowest validation loss.

    Raises:
        UserError: if a file is missing or broken, or holds another model, or the
            device is missing.
    """
    series = Series.load(stream)
    device = use(settings["device"], threads)
    weights, identity = read_tensors(model)
    if identity.get("operator") != operator.name:
        raise UserError(
            f"{model} was trained with the operator {identity.get('operator')}, not "
            f"{operator.name}; give that operator, or run the train step again"
        )
    built: Forecaster = backbone.build(series, operator, settings["model"])
    prefix = f"{kept}."
    found = {
        name.removeprefix(prefix): torch.from_numpy(value)
        for name, value in weights.items()
        if name.startswith(prefix)
    }
    _check(built, found, model)
    built.load_state_dict(found)
    return Trained(built.to(device).eval(), Windows(series, device))


def _check(built: Forecaster, found: Mapping[str, Tensor], path: str | Path) -> None:
    expected = {name: tuple(value.shape) for name, value in built.state_dict().items()}
    shapes = {name: tuple(value.shape) for name, value in found.items()}
    for name in sorted(expected | shapes):
        if expected.get(name) != shapes.get(name):
            raise UserError(
                f"{path} holds another model: {name} is {shapes.get(name, 'absent')} "
                f"where {expected.get(name, 'nothing')} was expected; run the train "
                "step again with these settings"
            )

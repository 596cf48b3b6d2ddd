"""What a training that was killed goes on from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW

from maa.errors import UserError
from maa.files import read_json, read_tensors, write_tensors

STATE = "state.safetensors"
DONE = "training.json"


def save(
    folder: Path,
    model: nn.Module,
    optimizer: AdamW,
    about: Mapping[str, Any],
) -> None:
    """Write the weights, the optimizer's moments, and what else is known."""
    tensors = {}
    for name, weight in model.named_parameters():
        tensors[f"weight.{name}"] = weight.detach()
        for kind, value in optimizer.state[weight].items():
            tensors[f"{kind}.{name}"] = value
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    write_tensors(folder / STATE, arrays, about)


def restore(folder: Path, model: nn.Module, optimizer: AdamW) -> dict[str, Any] | None:
    """Put a saved state into a model and its optimizer; return what else was known.

    None, and nothing is changed, if there is no state.
    """
    if not (folder / STATE).exists():
        return None
    arrays, about = read_tensors(folder / STATE)
    for name, weight in model.named_parameters():
        weight.data.copy_(torch.from_numpy(arrays[f"weight.{name}"]))
        moments = {
            kind: torch.from_numpy(arrays[f"{kind}.{name}"].copy())
            for kind in ("exp_avg", "exp_avg_sq")
        }
        # the file's arrays have one dimension at least; the count of steps has none
        count = torch.from_numpy(arrays[f"step.{name}"].copy()).reshape(())
        optimizer.state[weight] = {"step": count, **moments}
    return about


def finished(folder: Path) -> dict[str, Any] | None:
    """Return what a finished training wrote at its end, or None."""
    path = folder / DONE
    return dict(read_json(path)) if path.exists() else None


def check_same(
    folder: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]
) -> None:
    """Check that what a folder holds is the training that is wanted.

    Raises:
        UserError: if it is another one.
    """
    other = [key for key in wanted if found.get(key) != wanted[key]]
    if other:
        raise UserError(
            f"{folder} holds another training, which differs in {', '.join(other)}; "
            "give another folder, or delete this one"
        )

"""Holding a backbone against a plain description of it, forward and backward."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.stream import EventStream

ROWS = np.array([0, 1, 7, 23, 40, 59])
Weights = dict[str, Tensor]
Describe = Callable[[Weights, int, int], tuple[Tensor, Tensor]]


def shaken(model: Backbone) -> Backbone:
    """Move all parameters, so that no norm is the identity and no bias zero."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def candidates(stream: EventStream, seed: int = 1) -> np.ndarray:
    """The observed destination of each of `ROWS`, and any other one."""
    sampled = np.random.default_rng(seed).choice(stream.pool, len(ROWS))
    return np.stack([stream.destination[ROWS], sampled], axis=1)


def doubled(part: Any) -> Any:
    """Return a batch, or what it holds, in double precision."""
    if isinstance(part, Tensor):
        return part.double() if part.is_floating_point() else part
    values = {f.name: getattr(part, f.name) for f in dataclasses.fields(part)}
    return type(part)(**{name: doubled(value) for name, value in values.items()})


def assert_described(model: Backbone, batch: Batch, describe: Describe) -> None:
    """Compare Z, scores and gradients over a batch of `ROWS` with a description.

    ``describe(weights, row, destination)`` returns one candidate's score and Z.
    """
    weights = {
        name: value.detach().clone().requires_grad_()
        for name, value in model.named_parameters()
    }
    described = [
        [describe(weights, int(row), int(node)) for node in nodes]
        for row, nodes in zip(ROWS, batch.destination, strict=True)
    ]
    expected, z = (
        torch.stack([torch.stack([one[part] for one in row]) for row in described])
        for part in (0, 1)
    )
    reading = model.read(batch)
    scores = model.predict(reading.z)
    torch.testing.assert_close(scores, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(reading.z, z, atol=1e-5, rtol=1e-5)
    direction = torch.linspace(-1, 1, scores.numel()).view_as(scores)
    (scores * direction).sum().backward()
    (expected * direction).sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(
            parameter.grad, weights[name].grad, atol=2e-5, rtol=1e-4, msg=name
        )

"""How much each input step moves each output step: Frobenius norms by random probes.

For random signs v, E |v' J|^2 = ||J||_F^2 (Hutchinson). One backward pass a probe and
output step gives an estimate for all input steps and windows at once.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maa.domains.traffic.backbones.layers import Forecaster


def step_influence(
    model: Forecaster, speed: Tensor, day_time: Tensor, probes: int, seed: int
) -> NDArray[np.float64]:
    """Estimate ||dy_o / dx_i||_F over all sensors, both scaled.

    Args:
        model: the model, in evaluation mode.
        speed: [N, B, T], scaled.
        day_time: [B, T].
        probes: vectors of random signs for each output step, 1 or more.
        seed: of the signs.

    Returns:
        float64 [O, T]: the root of the mean square over windows and probes.
    """
    source = torch.Generator().manual_seed(seed)
    inputs = speed.detach().requires_grad_()
    outputs = model(inputs, day_time)
    rows = []
    for step in range(outputs.shape[-1]):
        squares = torch.zeros(speed.shape[-1], dtype=torch.float64)
        for _ in range(probes):
            bits = torch.randint(2, outputs.shape[:2], generator=source)
            signs = (2 * bits - 1).to(outputs)
            (pulled,) = torch.autograd.grad(
                outputs[..., step], inputs, signs, retain_graph=True
            )
            squares += pulled.double().square().sum((0, 1)).cpu()
        rows.append((squares / (probes * speed.shape[1])).sqrt().numpy())
    return np.stack(rows)

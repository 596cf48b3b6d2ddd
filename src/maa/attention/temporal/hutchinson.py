r"""Hutchinson's estimate of the size of a Jacobian, for any module.

With random signs u of the output's shape, ``E ||J^T u||^2 = ||J||_F^2`` (Hutchinson,
1990); each probe is one backward pass. The released code of arXiv 2602.10956 logs the
root of such a mean, of one or two probes on a single sample, without its error.

The root of a mean is biased downwards, by about ``error^2 / (2 norm)``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Estimate:
    """An estimate of Frobenius norms.

    Attributes:
        norm: the root of the mean over probes.
        error: its standard error (by the delta method); NaN for a single probe.
    """

    norm: Tensor
    error: Tensor


def frobenius(
    function: Function, x: Tensor, probes: int = 16, seed: int = 0
) -> Estimate:
    """Estimate ``||dy/dx||_F`` of a whole output and input; scalars.

    Args:
        function: a module or function of one tensor. It is called once, in the mode in
            which it is: dropout that is on is drawn once for all probes.
        x: the input, any shape; a batch is part of it.
        probes: number of random probes.
        seed: of the probes.

    Raises:
        ValueError: if there are no probes, or the output does not depend on x.
        TypeError: if the output is not one tensor.
    """
    x, y = _evaluated(function, x, probes)
    squares = [_pulled_back(u, y, x).square().sum() for u in _signs(y, probes, seed)]
    return _estimate(torch.stack(squares))


def frobenius_blocks(
    function: Function,
    x: Tensor,
    probes: int = 16,
    seed: int = 0,
    input_time: int = -2,
    output_time: int = -2,
) -> Estimate:
    """Estimate ``||dy_i/dx_j||_F`` for all pairs of time steps, (T_out, T_in).

    A backward pass for each probe and output step. All other dimensions (batch, nodes,
    features) are summed over.

    Args:
        function: as for `frobenius`, whose errors are these.
        x: the input.
        probes: number of random probes.
        seed: of the probes.
        input_time: dimension of x that is time.
        output_time: dimension of the output that is time.
    """
    x, y = _evaluated(function, x, probes)
    squares = []
    for u in _signs(y, probes, seed):
        rows = []
        for step in range(y.shape[output_time]):
            one = torch.zeros_like(u)
            one.select(output_time, step).copy_(u.select(output_time, step))
            pulled = _pulled_back(one, y, x).square()
            rows.append(pulled.movedim(input_time, 0).flatten(1).sum(1))
        squares.append(torch.stack(rows))
    return _estimate(torch.stack(squares))


def _evaluated(function: Function, x: Tensor, probes: int) -> tuple[Tensor, Tensor]:
    if probes < 1:
        raise ValueError(f"an estimate needs a probe or more, got {probes}")
    x = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        y = function(x)
    if not isinstance(y, Tensor):
        raise TypeError(
            f"the function returns one tensor, got {type(y).__name__}; wrap it so that "
            "it returns the output alone"
        )
    if not y.requires_grad:
        raise ValueError("the output does not depend on x: there is no Jacobian")
    return x, y


def _signs(y: Tensor, probes: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    bits = torch.randint(0, 2, (probes, *y.shape), generator=generator)
    return list((2 * bits - 1).to(y))


def _pulled_back(u: Tensor, y: Tensor, x: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(
        y, x, u, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    return gradient.detach()


def _estimate(squares: Tensor) -> Estimate:
    norm = squares.mean(0).sqrt()
    error = squares.std(0) / len(squares) ** 0.5 if len(squares) > 1 else torch.nan
    # A norm of 0 is one that every probe found, without error.
    return Estimate(norm, torch.where(norm > 0, error / (2 * norm), 0.0))

"""Norms of the Jacobian of temporal attention, for each pair of time steps."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from maa.attention.rows.chunks import slices
from maa.attention.temporal.jacobian import key_directions, paths_of
from maa.attention.temporal.layer import Layer, Rows, rows

Norm = Callable[[Tensor], Tensor]
# Elements of a path that are held at once, 4 MiB in double precision; more are slower.
ELEMENTS = 2**19


@dataclass(frozen=True)
class Norms:
    """Norms of the Jacobian's blocks d h_i / d x_j.

    Attributes:
        total: of all paths and the residual, (..., T, T).
        value: of the value path, (..., T, T).
        key: of the key path, (..., T, T).
        attended: of value and key path together on a row's own time step, (..., T).
        query: of the query path, (..., T); it has no other block than the own one.
    """

    total: Tensor
    value: Tensor
    key: Tensor
    attended: Tensor
    query: Tensor

    @property
    def diagonal(self) -> Tensor:
        """Of a row's own time step, all paths, (..., T)."""
        return torch.diagonal(self.total, dim1=-2, dim2=-1)


def spectral(matrices: Tensor) -> Tensor:
    """Return the largest singular value of matrices (..., O, D), (...).

    From the smaller Gram matrix: the largest one loses no digits by that, and small
    matrices take half the time.
    """
    wide = matrices.shape[-1] > matrices.shape[-2]
    gram = matrices @ matrices.mT if wide else matrices.mT @ matrices
    largest: Tensor = torch.linalg.eigvalsh(gram)[..., -1]
    return largest.clamp(min=0).sqrt()


def frobenius(matrices: Tensor) -> Tensor:
    """Return the root of the sum of squares of matrices (..., O, D), (...)."""
    norm: Tensor = torch.linalg.matrix_norm(matrices)
    return norm


def norms(
    layer: Layer,
    x: Tensor,
    bias: Tensor | None = None,
    elements: int = ELEMENTS,
    norm: Norm = spectral,
) -> Norms:
    """Return the norms of all blocks, some rows at a time.

    Args:
        layer: the layer.
        x: (..., T, D).
        bias: as for `maa.attention.temporal.layer.rows`, whose errors are these.
        elements: the most elements of a path of the Jacobian that are held at once.
        norm: `spectral`, the paper's, or `frobenius`, which takes a fraction of the
            time for wide layers.
    """
    batch = torch.broadcast_shapes(x.shape[:-2], layer.value.shape[:-3])  # type: ignore[no-untyped-call]
    steps, size = (
        x.shape[-2],
        torch.Size(batch).numel() * layer.value.shape[-3:].numel(),
    )
    parts = [
        _norms_of(layer, rows(layer, x, bias, part), norm)
        for part in slices(steps, steps * size, elements)
    ]
    whole = {
        field.name: torch.cat(
            [getattr(part, field.name) for part in parts],
            -2 if field.name in ("total", "value", "key") else -1,
        )
        for field in fields(Norms)
    }
    return Norms(**whole)


def _norms_of(layer: Layer, found: Rows, norm: Norm) -> Norms:
    by_path = paths_of(layer, found)
    row = torch.arange(len(found.index), device=found.index.device)
    own = (by_path.value + by_path.key)[..., row, found.index, :, :]
    value, key = _factored(layer, found, norm)
    if layer.value.shape[-3] > 1:
        value, key = norm(by_path.value), norm(by_path.key)
    return Norms(norm(by_path.total), value, key, norm(own), norm(by_path.query))


def _factored(layer: Layer, found: Rows, norm: Norm) -> tuple[Tensor, Tensor]:
    """Return the norms of the value and the key path of the first head, (..., R, T).

    Equalities: the value path is a multiple of W_V, the key path of rank 1.
    """
    weight = norm(layer.value)[..., 0, None, None]
    force = torch.linalg.vector_norm(found.forces[..., 0, :, :, :], dim=-1)
    direction = torch.linalg.vector_norm(key_directions(layer, found), dim=-1)
    return found.weights[..., 0, :, :] * weight, force * direction[..., 0, :, None]

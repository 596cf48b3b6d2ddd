r"""The exact Jacobian of one layer of temporal attention, path by path.

With ``f_ij = w_ij v_j - e_ij h_i``, how h_i moves with the logit of i on j (e is the
escort ``w ** p``; h_i without the residual), the Jacobian d h_i / d x_j of a head is

    w_ij W_V                                        value
  + f_ij (W_K^T q_i)^T / sqrt(d)                    key, of rank 1
  + [i = j] (sum_m f_im k_m^T) W_Q / sqrt(d)        query
  + [i = j] I                                       residual, once for all heads.

At p = 1, w = e = a and ``f_ij = a_ij (v_j - h_i)``: the query path is the covariance of
values and keys under a row's attention (times W_Q / sqrt(d)). Beyond, it is the gain
times that covariance plus ``mean_a(v) (mean_a(k) - mean_e(k))^T``, which is 0 for even
and for one-hot rows. Heads add up, path by path; norms of their sum do not.

The paper splits value, key and query paths and bounds them (arXiv 2602.10956, section
3 and appendix A); these closed forms are ours.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from maa.attention.temporal.layer import Layer, Rows, rows


@dataclass(frozen=True)
class Paths:
    """The Jacobian of R rows on T time steps, by path, summed over heads.

    Attributes:
        index: time steps of the rows, (R,).
        value: (..., R, T, O, D).
        key: (..., R, T, O, D).
        query: (..., R, O, D), of a row on its own time step; it is 0 elsewhere.
        residual: whether the identity belongs to a row's own time step.
    """

    index: Tensor
    value: Tensor
    key: Tensor
    query: Tensor
    residual: bool

    @property
    def total(self) -> Tensor:
        """The whole Jacobian, (..., R, T, O, D)."""
        whole = self.value + self.key
        row = torch.arange(len(self.index), device=self.index.device)
        own = whole[..., row, self.index, :, :] + self.query
        if self.residual:
            own = own + torch.eye(own.shape[-1], dtype=own.dtype, device=own.device)
        whole[..., row, self.index, :, :] = own
        return whole

    @property
    def matrix(self) -> Tensor:
        """The whole Jacobian as a matrix, (..., R O, T D)."""
        return self.total.transpose(-3, -2).flatten(-2).flatten(-3, -2)


def paths(
    layer: Layer, x: Tensor, bias: Tensor | None = None, part: slice = slice(None)
) -> Paths:
    """Return the Jacobian of a layer by path; arguments and errors as for `rows`.

    It holds R T O D numbers twice: for long sequences take some rows at a time.
    """
    return paths_of(layer, rows(layer, x, bias, part))


def paths_of(layer: Layer, found: Rows) -> Paths:
    """Return the Jacobian of rows that are there already."""
    forces = found.forces
    value = torch.einsum("...hij,...hod->...ijod", found.weights, layer.value)
    key = torch.einsum("...hijo,...hid->...ijod", forces, key_directions(layer, found))
    query = query_paths(layer, found, forces).sum(-4)
    return Paths(found.index, value, key, query, layer.residual)


def key_directions(layer: Layer, found: Rows) -> Tensor:
    """Return ``W_K^T q_i / sqrt(d)``, (..., H, R, D): a logit's move with x_j."""
    return found.queries @ layer.key * layer.scale


def query_paths(layer: Layer, found: Rows, forces: Tensor) -> Tensor:
    """Return each head's query path, (..., H, R, O, D)."""
    moments = torch.einsum("...hijo,...hjd->...hiod", forces, found.keys)
    return moments @ layer.query.unsqueeze(-3) * layer.scale

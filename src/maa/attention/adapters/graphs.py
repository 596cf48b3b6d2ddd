"""Mass-aware attention for PyG: convolutions, an aggregation, and a switch.

    conv = MassAwareTransformerConv(16, 8, heads=4, p=1.1)
    use_mass_aware(model, p=1.1)  # all attention convolutions of a model, in place

An edge's weight is that of softmax over its target's edges, times the target's gain
``1 / ||a||_p`` (Yu and Ha, eq. 3); at ``p = 1`` it is softmax.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch_geometric.nn import (
    GATConv,
    GATv2Conv,
    TransformerConv,
)
from torch_geometric.nn.aggr import Aggregation
from torch_geometric.typing import OptTensor
from torch_geometric.utils import scatter, softmax

from maa.attention.lp import check_order

OptInt = Optional[int]  # noqa: UP045 (PyG cannot read the newer form)


def segment_gain(
    weights: Tensor, p: float, index: Tensor, size: int | None = None
) -> Tensor:
    """Return each entry's gain ``1 / ||a||_p`` of its group, of the weights' shape.

    Args:
        weights: softmax weights, (E, ...): those of a group add up to 1.
        p: order of the norm, in [1, inf].
        index: the group of each entry, (E,).
        size: number of groups.
    """
    if p == 1:
        return torch.ones_like(weights)
    if p == float("inf"):
        norms = scatter(weights, index, 0, size, "max")
    else:
        norms = scatter(weights**p, index, 0, size, "sum") ** (1 / p)
    gain: Tensor = norms.index_select(0, index).reciprocal()
    return gain


def segment_lp(
    logits: Tensor, p: float, index: Tensor, size: int | None = None
) -> Tensor:
    """Return weights ``m / ||m||_p`` by group, of the logits' shape, (E, ...)."""
    weights: Tensor = softmax(logits, index, num_nodes=size)
    return weights * segment_gain(weights, p, index, size)


class _MassAware:
    """What the convolutions share: the order, and how it is shown."""

    p: float
    dropout: float
    training: bool

    def __init__(self, *arguments: Any, p: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.p = check_order(p)

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Weights are dropped out after their gain is known, not before."""
        rate, self.dropout = self.dropout, 0.0
        try:
            yield
        finally:
            self.dropout = rate

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, p={self.p:g})"


class MassAwareTransformerConv(_MassAware, TransformerConv):  # type: ignore[misc]
    """`torch_geometric.nn.TransformerConv` with the p-norm in softmax's place."""

    def message(  # noqa: D102
        self,
        query_i: Tensor,
        key_j: Tensor,
        value_j: Tensor,
        edge_attr: OptTensor,
        index: Tensor,
        ptr: OptTensor,
        size_i: OptInt,
    ) -> Tensor:
        with self._kept():
            out: Tensor = super().message(
                query_i, key_j, value_j, edge_attr, index, ptr, size_i
            )
        alpha: Tensor = self._alpha  # type: ignore[has-type]
        gain = segment_gain(alpha, self.p, index, size_i)
        self._alpha = alpha * gain
        return out * dropout(gain, self.dropout, self.training).unsqueeze(-1)


class MassAwareGATConv(_MassAware, GATConv):  # type: ignore[misc]
    """`torch_geometric.nn.GATConv` with the p-norm in softmax's place."""

    def edge_update(  # noqa: D102
        self,
        alpha_j: Tensor,
        alpha_i: OptTensor,
        edge_attr: OptTensor,
        index: Tensor,
        ptr: OptTensor,
        dim_size: OptInt,
    ) -> Tensor:
        with self._kept():
            alpha = super().edge_update(
                alpha_j, alpha_i, edge_attr, index, ptr, dim_size
            )
        weights = alpha * segment_gain(alpha, self.p, index, dim_size)
        return dropout(weights, self.dropout, self.training)


class MassAwareGATv2Conv(_MassAware, GATv2Conv):  # type: ignore[misc]
    """`torch_geometric.nn.GATv2Conv` with the p-norm in softmax's place."""

    def edge_update(  # noqa: D102
        self,
        x_j: Tensor,
        x_i: Tensor,
        edge_attr: OptTensor,
        index: Tensor,
        ptr: OptTensor,
        dim_size: OptInt,
    ) -> Tensor:
        with self._kept():
            alpha = super().edge_update(x_j, x_i, edge_attr, index, ptr, dim_size)
        weights = alpha * segment_gain(alpha, self.p, index, dim_size)
        return dropout(weights, self.dropout, self.training)


class MassAwareAggregation(Aggregation):  # type: ignore[misc]
    """Attention over the messages of a node, or the nodes of a graph.

    At ``p = 1`` it is `torch_geometric.nn.aggr.AttentionalAggregation`.

    Args:
        gate: maps messages (N, d) to logits (N, 1) or (N, d).
        p: order of the norm, in [1, inf].
        transform: maps messages before they are added up; None leaves them.
    """

    def __init__(
        self,
        gate: Callable[[Tensor], Tensor],
        p: float,
        transform: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.gate = gate
        self.p = check_order(p)
        self.transform = transform

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """Return the aggregated messages, (groups, d)."""
        self.assert_two_dimensional_input(x, dim)
        if index is None:
            if ptr is None:
                index = torch.zeros(len(x), dtype=torch.long, device=x.device)
            else:
                count = ptr[1:] - ptr[:-1]
                groups = torch.arange(len(count), device=x.device)
                index, dim_size = groups.repeat_interleave(count), len(count)
        weights = segment_lp(self.gate(x), self.p, index, dim_size)
        values = x if self.transform is None else self.transform(x)
        out: Tensor = self.reduce(weights * values, index, None, dim_size, dim)
        return out

    def __repr__(self) -> str:
        return f"MassAwareAggregation(gate={self.gate}, p={self.p:g})"


KINDS: dict[type[nn.Module], type[nn.Module]] = {
    TransformerConv: MassAwareTransformerConv,
    GATConv: MassAwareGATConv,
    GATv2Conv: MassAwareGATv2Conv,
}


def use_mass_aware(model: nn.Module, p: float) -> int:
    """Switch a model's attention convolutions to the p-norm, in place.

    Parameters stay where they are; ``p = 1`` computes what was computed before.

    Returns:
        How many convolutions were switched.

    Raises:
        ValueError: if p is below 1, or there is no attention convolution.
    """
    order, found = check_order(p), 0
    for module in model.modules():
        kind = KINDS.get(type(module))
        if kind is not None:
            module.__class__ = kind
        if isinstance(module, _MassAware):
            module.p = order
            found += 1
    if not found:
        raise ValueError(
            "the model has none of " + ", ".join(kind.__name__ for kind in KINDS)
        )
    return found

"""CRAFT, official form: the published sizes, history and output network.

Model and defaults as in luyi256/CRAFT, without the repeat counts of CRAFT-R. It shares
its layers with the reference form (`craft`) and differs in four ways: the last 30
events of the source in either role instead of 20; positions counted from the oldest of
them instead of ending at the most recent; a smaller dropout of attention weights; and a
network of two layers on Z. The operator acts in the cross-attention, as there.

A source without history has a context of zero here. The published code hides padding by
subtracting 10,000 from its logits, so that such a source attends to nothing but
padding; behind the linear map and the LayerNorm both are a constant.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from maa.attention import Operator
from maa.domains.ctdg.backbones.craft import CRAFT, INITIAL_DEVIATION
from maa.domains.ctdg.backbones.official import readers
from maa.domains.ctdg.batches import Batch, collect
from maa.domains.ctdg.recent import RecentEvents
from maa.domains.ctdg.stream import EventStream
from maa.dropout import Dropout
from maa.errors import UserError

INITIAL_SLOPE = 0.15
"""Of the output network's PReLU, for negative inputs."""


class OfficialCRAFT(CRAFT):
    """Scores a destination by attending from it to the source's last neighbours.

    Z = [last layer's output; encoding of the time since the destination's last event],
    so d = 2 * hidden; the predictor is a network with one hidden layer as wide as Z.

    Args:
        nodes: number of nodes N.
        operator: the normalisation of the attention weights.
        neighbours: length H of a history.
        hidden: width h.
        dropout: probability of dropping a hidden unit.
        **others: the other settings of `CRAFT`.
    """

    def __init__(
        self,
        nodes: int,
        operator: Operator,
        neighbours: int,
        hidden: int,
        dropout: float,
        **others: Any,
    ) -> None:
        super().__init__(
            nodes, neighbours, operator, hidden=hidden, dropout=dropout, **others
        )
        self.neighbours = neighbours
        self.hidden = nn.Linear(2 * hidden, 2 * hidden)
        nn.init.normal_(self.hidden.weight, std=INITIAL_DEVIATION)
        nn.init.zeros_(self.hidden.bias)
        self.activation = nn.PReLU(init=INITIAL_SLOPE)
        self.hidden_dropout = Dropout(dropout)

    def gather(
        self,
        stream: EventStream,
        rows: ArrayLike,
        destination: ArrayLike,
        history_rows: ArrayLike | None = None,
    ) -> Batch:
        """Gather rows with their longer histories; arguments as in `collect`.

        A history's oldest event is first and padding last, unlike in `collect`.
        """
        node, before = readers(stream, rows, destination, history_rows)
        source, row = node[:, 0], before[:, 0]
        recent = _recent(stream)
        event = recent.events(source, row, self.neighbours)
        count = (event >= 0).sum(axis=1, keepdims=True)
        place = (np.arange(self.neighbours) - count) % self.neighbours
        event = np.take_along_axis(event, place, axis=1)
        valid = event >= 0
        age = np.where(valid, stream.time[row, None] - stream.time[event], 0.0)
        return replace(
            collect(stream, rows, destination),
            neighbour=torch.from_numpy(recent.other(source, event)),
            age=torch.from_numpy(age.astype(np.float32)),
            valid=torch.from_numpy(valid),
        )

    def predict(self, z: Tensor) -> Tensor:
        """Return the network's output on Z."""
        hidden = self.hidden_dropout(self.activation(self.hidden(z)))
        score: Tensor = self.output(hidden).squeeze(-1)
        return score


@lru_cache(maxsize=1)
def _recent(stream: EventStream) -> RecentEvents:
    return RecentEvents(stream)


def build(
    stream: EventStream, operator: Operator, settings: Mapping[str, Any]
) -> OfficialCRAFT:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the events (the model learns one embedding for each of its nodes).
        operator: the normalisation of the attention weights.
        settings: ``neighbours``, ``hidden``, ``layers``, ``heads`` and the three
            dropouts.

    Raises:
        UserError: if ``heads`` does not divide ``hidden``.
    """
    hidden, heads = settings["hidden"], settings["heads"]
    if hidden % heads:
        raise UserError(
            f"models.craft-official.heads: {heads} heads do not divide hidden = "
            f"{hidden}; choose a number of heads that does"
        )
    return OfficialCRAFT(stream.nodes, operator, **settings)

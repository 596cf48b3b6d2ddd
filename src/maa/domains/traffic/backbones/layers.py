"""The forecaster that all backbones share; they differ in the graph step.

Diagonal sink, section 3 (TimeSpaceAttnModel of the released code): blocks of temporal
attention and a graph step without feed-forward layers, each with the time of day added
and normalised behind the residual.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from maa.attention import Operator
from maa.domains.traffic.backbones.graph import GraphStep
from maa.domains.traffic.backbones.temporal import TemporalAttention, step_encoding
from maa.domains.traffic.series import Series
from maa.dropout import dropout


@dataclass(frozen=True)
class Architecture:
    """The settings of a model.

    Attributes:
        hidden: width h.
        heads: attention heads; divides ``hidden``.
        depth: number of blocks.
        dropout: of weights, of what is added to the residual, and of the first tokens.
        embedding: width of a sensor's embedding in the learned graph.
    """

    hidden: int
    heads: int
    depth: int
    dropout: float
    embedding: int


@dataclass
class Record:
    """What a pass leaves behind for those who look; each a list, one entry a block.

    Attributes:
        inputs: float [N, B, T, h], what the block reads.
        logits: float [N * B, T, heads, T].
        weights: the weights as they were applied, of the same shape.
        tokens: float [N, B, T, h], the block's outputs.
    """

    inputs: list[Tensor] = field(default_factory=list)
    logits: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    tokens: list[Tensor] = field(default_factory=list)


class Block(nn.Module):
    """Temporal attention, then a graph step.

    Args:
        settings: the model's.
        operator: the normalisation of the attention.
        step: the graph step.
        residual: whether the attention's input is added to its output.
    """

    def __init__(
        self,
        settings: Architecture,
        operator: Operator,
        step: GraphStep,
        residual: bool,
    ) -> None:
        super().__init__()
        width = settings.hidden
        self.rate = settings.dropout
        self.residual = residual
        self.attention = TemporalAttention(
            width, settings.heads, operator, settings.dropout
        )
        self.graph = step
        self.clocks = nn.ModuleList(nn.Linear(1, width) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x: Tensor, day_time: Tensor, record: Record | None) -> Tensor:
        """Return [N, B, T, h] of [N, B, T, h].

        Args:
            x: the tokens.
            day_time: [B, T, 1].
            record: takes what the attention does, if there is one.
        """
        read = x
        attended, logits, weights = self.attention(x.flatten(0, 1))
        change = self._change(attended.view_as(x), day_time, 0)
        x = self.norms[0](x + change if self.residual else change)
        mixed = self.graph(x.flatten(1, 2)).view_as(x)
        x = self.norms[1](x + self._change(mixed, day_time, 1))
        if record is not None:
            record.inputs.append(read)
            record.logits.append(logits)
            record.weights.append(weights)
            record.tokens.append(x)
        return x

    def _change(self, output: Tensor, day_time: Tensor, place: int) -> Tensor:
        # The same for all sensors, so it is computed once and broadcast.
        timed = output + self.clocks[place](day_time)
        return dropout(timed, self.rate, self.training)


class Forecaster(nn.Module):
    """From a window's speeds and times of day to the speeds that follow, all scaled.

    Args:
        steps: steps T that a window reads.
        ahead: steps O that it predicts.
        operator: the normalisation of the temporal attention.
        settings: the architecture.
        step: makes a block's graph step.
        residual: whether temporal attention has a residual (variant a: none).

    Raises:
        ValueError: if the heads do not divide the width.
    """

    encoding: Tensor

    def __init__(
        self,
        steps: int,
        ahead: int,
        operator: Operator,
        settings: Architecture,
        step: Callable[[], GraphStep],
        residual: bool = True,
    ) -> None:
        super().__init__()
        self.rate = settings.dropout
        self.embed = nn.Linear(1, settings.hidden)
        encoding = step_encoding(steps, settings.hidden)
        self.register_buffer("encoding", encoding, persistent=False)
        self.blocks = nn.ModuleList(
            Block(settings, operator, step(), residual) for _ in range(settings.depth)
        )
        self.readout = nn.Linear(settings.hidden + 1, 1)
        self.ahead = nn.Linear(steps, ahead)

    def read(
        self, speed: Tensor, day_time: Tensor, record: Record | None = None
    ) -> Tensor:
        """Return Z [N, B, T, h + 1], what the head reads.

        Args:
            speed: [N, B, T], scaled.
            day_time: [B, T], fraction of the day.
            record: takes what the blocks do, if there is one.
        """
        tokens = self.embed(speed.unsqueeze(-1)) + self.encoding
        tokens = dropout(tokens, self.rate, self.training)
        times = day_time.unsqueeze(-1)
        for block in self.blocks:
            tokens = block(tokens, times, record)
        return torch.cat([tokens, times.expand(len(tokens), -1, -1, -1)], dim=-1)

    def predict(self, z: Tensor) -> Tensor:
        """Return the scaled speeds that follow, [N, B, O], from Z."""
        ahead: Tensor = self.ahead(self.readout(z).squeeze(-1))
        return ahead

    def forward(self, speed: Tensor, day_time: Tensor) -> Tensor:
        """Return the scaled speeds that follow, [N, B, O]."""
        return self.predict(self.read(speed, day_time))


def assemble(
    series: Series,
    operator: Operator,
    settings: Mapping[str, Any],
    step: type[GraphStep],
    residual: bool = True,
) -> Forecaster:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        series: the data, for its sensors, roads and the length of its windows.
        operator: the normalisation of the temporal attention.
        settings: as in `Architecture`.
        step: the graph step of every block.
        residual: whether temporal attention has a residual.
    """
    shape = Architecture(**settings)
    return Forecaster(
        series.input_length,
        series.output_length,
        operator,
        shape,
        lambda: step.of(series, shape.hidden, shape.embedding),
        residual,
    )

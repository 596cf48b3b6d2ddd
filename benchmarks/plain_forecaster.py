"""The traffic forecaster as one writes it first, for `traffic.py`.

PyTorch's own attention, dropout and layers, one sequence a sample and sensor, the five
terms of the graph step side by side, and windows copied out one by one by a loader.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from maa.domains.traffic.backbones.temporal import step_encoding
from maa.domains.traffic.series import Series


class WindowSet(Dataset):
    """The training windows of a series, cut when they are asked for."""

    def __init__(self, series: Series) -> None:
        self.series = series
        self.scaled, self.day_time = series.scaled, series.day_time
        self.starts = series.train_starts

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.starts)

    def __getitem__(self, place: int) -> tuple[Tensor, Tensor]:
        """Return input [T, N, 2] (scaled speed, time of day) and target [O, N]."""
        first = int(self.starts[place])
        middle = first + self.series.input_length
        last = middle + self.series.output_length
        speed = self.scaled[first:middle]
        times = np.broadcast_to(self.day_time[first:middle, None], speed.shape)
        inputs = np.stack([speed, times], axis=-1)
        return torch.from_numpy(inputs), torch.from_numpy(
            self.series.speed[middle:last]
        )


class GraphStep(nn.Module):
    """[x, F x, F^2 x, B x, B^2 x] mapped back to the width; x is [B, T, N, h]."""

    def __init__(self, width: int, sensors: int, embedding: int, mixing: bool) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(sensors, embedding))
        self.second = nn.Parameter(torch.randn(sensors, embedding))
        self.merge = nn.Linear(5 * width, width)
        self.rule = "nm,btmc->btnc" if mixing else "nn,btnc->btnc"

    def forward(self, x: Tensor) -> Tensor:
        """Hop twice in both directions."""
        affinity = torch.relu(self.first @ self.second.T)
        terms = [x]
        for matrix in (affinity.softmax(1), affinity.T.softmax(1)):
            hopped = x
            for _ in range(2):
                hopped = torch.einsum(self.rule, matrix, hopped)
                terms.append(hopped)
        return self.merge(torch.cat(terms, dim=-1))


class Block(nn.Module):
    """Temporal attention and a graph step, normalised behind the residual."""

    def __init__(
        self, settings: Mapping[str, float], sensors: int, mixing: bool
    ) -> None:
        super().__init__()
        width, rate = settings["hidden"], settings["dropout"]
        self.attention = nn.MultiheadAttention(
            width, settings["heads"], dropout=rate, batch_first=True
        )
        self.graph = GraphStep(width, sensors, settings["embedding"], mixing)
        self.clocks = nn.ModuleList(nn.Linear(1, width) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.drop = nn.Dropout(rate)

    def forward(self, x: Tensor, times: Tensor) -> Tensor:
        """Return [B, T, N, h] of [B, T, N, h] with times of day [B, T, N, 1]."""
        batch, steps, sensors, width = x.shape
        rows = x.permute(0, 2, 1, 3).reshape(-1, steps, width)
        rows, _ = self.attention(rows, rows, rows, need_weights=False)
        attended = rows.view(batch, sensors, steps, width).permute(0, 2, 1, 3)
        x = self.norms[0](x + self.drop(attended + self.clocks[0](times)))
        return self.norms[1](x + self.drop(self.graph(x) + self.clocks[1](times)))


class Forecaster(nn.Module):
    """From [B, T, N, 2] to scaled speeds [B, O, N]."""

    def __init__(
        self, series: Series, settings: Mapping[str, float], mixing: bool
    ) -> None:
        super().__init__()
        self.embed = nn.Linear(1, settings["hidden"])
        encoding = step_encoding(series.input_length, settings["hidden"])
        self.register_buffer("encoding", encoding[:, None], persistent=False)
        self.drop = nn.Dropout(settings["dropout"])
        self.blocks = nn.ModuleList(
            Block(settings, series.sensors, mixing) for _ in range(settings["depth"])
        )
        self.readout = nn.Linear(settings["hidden"] + 1, 1)
        self.ahead = nn.Linear(series.input_length, series.output_length)

    def forward(self, inputs: Tensor) -> Tensor:
        """Predict."""
        times = inputs[..., 1:]
        x = self.drop(self.embed(inputs[..., :1]) + self.encoding)
        for block in self.blocks:
            x = block(x, times)
        read = self.readout(torch.cat([x, times], dim=-1)).squeeze(-1)
        return self.ahead(read.transpose(1, 2)).transpose(1, 2)


def renamed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the library's weights under the names of this model."""
    names = {
        "attention.project.weight": "attention.in_proj_weight",
        "attention.project.bias": "attention.in_proj_bias",
        "attention.output.": "attention.out_proj.",
    }
    found = {}
    for name, value in state.items():
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        found[name] = value
    return found

"""GraphMixer's official form against its description."""

from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maa.attention import parse_operator
from maa.domains.ctdg.stream import EventStream
from tests.domains.ctdg import forms, naive
from tests.domains.ctdg.both_ends import (
    STREAMS,
    assert_rows_are_alone,
    last_events,
)
from tests.domains.ctdg.describing import ROWS, assert_described, candidates, doubled
from tests.domains.ctdg.small_streams import habitual_stream, random_stream

PUBLISHED = {
    "width": 172,
    "time_dim": 100,
    "neighbours": 30,
    "time_gap": 2000,
}
K = 5

build = partial(forms.build, "graphmixer_official")
make_model = partial(forms.make_model, "graphmixer_official")


class Described:
    """The definition, one end at a time; empty slots come first in a window."""

    def __init__(
        self, weights: dict[str, Tensor], stream: EventStream, p: float, padding: bool
    ) -> None:
        self.weights, self.stream = weights, stream
        self.p, self.padding = p, padding

    def score(self, row: int, destination: int) -> tuple[Tensor, Tensor]:
        source = int(self.stream.source[row])
        z = torch.cat([self.state(source, row), self.state(destination, row)])
        hidden = F.relu(naive.linear(self.weights, "predictor.hidden", z))
        return naive.linear(self.weights, "predictor.output", hidden).squeeze(), z

    def state(
        self, node: int, row: int, history: tuple[int, int] | None = None
    ) -> Tensor:
        reader, before = history or (node, row)
        embedding = self.weights["embedding.weight"]
        met = [other for other, _ in last_events(self.stream, reader, before, 7)]
        mean = embedding[met].mean(0) if met else torch.zeros_like(embedding[0])
        link = self.link(reader, before)
        joined = torch.cat([link, mean + embedding[node]])
        return naive.linear(self.weights, "output", joined)

    def link(self, node: int, row: int) -> Tensor:
        events = [event for _, event in last_events(self.stream, node, row, K)]
        x = self.mixed(events, row)
        counted = K if self.padding else len(events)
        if counted == 0:
            return torch.zeros_like(x[0])
        return x[K - counted :].sum(0) / counted ** (1 / self.p)

    def mixed(self, events: list[int], row: int) -> Tensor:
        w = self.weights
        features = torch.zeros(K, 4, dtype=w["token.weight"].dtype)
        for slot, event in enumerate(events, K - len(events)):
            age = self.stream.time[row] - self.stream.time[event]
            features[slot] = torch.cos(age * w["time.frequency"] + w["time.phase"])
        x = torch.stack([naive.linear(w, "token", token) for token in features])
        for block in ("blocks.0", "blocks.1"):
            channels = [
                self.network(f"{block}.token", channel, x[:, place])
                for place, channel in enumerate(x.t())
            ]
            x = torch.stack(channels, dim=1)
            tokens = [self.network(f"{block}.channel", token, token) for token in x]
            x = torch.stack(tokens)
        return x

    def network(self, name: str, x: Tensor, residual: Tensor) -> Tensor:
        normed = naive.norm(self.weights, f"{name}_norm", x, 1e-5)
        hidden = F.gelu(naive.linear(self.weights, f"{name}_network.0", normed))
        return residual + naive.linear(self.weights, f"{name}_network.3", hidden)


@pytest.mark.parametrize("padding", [True, False])
@pytest.mark.parametrize("operator", ["p1.00", "p1.10"])
@pytest.mark.parametrize("name", STREAMS)
def test_scores_z_and_gradients_equal_the_description(operator, name, padding):
    stream = STREAMS[name]()
    model = make_model(stream, operator, padding=padding).double()
    for frozen in model.time.parameters():
        frozen.requires_grad_()  # so that the comparison has a gradient to find
    batch = model.gather(stream, ROWS, candidates(stream))
    assert not batch.past_valid[0].any(), "row 0 has no history, by construction"
    p = parse_operator(operator).p
    assert_described(
        model,
        doubled(batch),
        lambda weights, row, node: Described(weights, stream, p, padding).score(
            row, node
        ),
    )


def test_another_rows_history_replaces_the_sources_alone():
    stream = random_stream()
    model = make_model(stream).double()
    donors = np.array([7, 0, 40, 59, 12, 23])
    batch = doubled(model.gather(stream, ROWS, candidates(stream), donors))
    z = model.read(batch).z
    described = Described(dict(model.named_parameters()), stream, 1.1, padding=True)
    for place, (row, donor) in enumerate(zip(ROWS, donors, strict=True)):
        source, node = int(stream.source[row]), int(batch.destination[place, 1])
        given = int(stream.source[donor]), int(donor)
        ends = described.state(source, row, given), described.state(node, row)
        torch.testing.assert_close(z[place, 1], torch.cat(ends), atol=1e-6, rtol=1e-6)


def test_a_row_does_not_depend_on_those_beside_it():
    stream = habitual_stream(400)
    model = make_model(stream)
    rows = np.arange(0, 200)
    pairs = np.stack([stream.destination[rows], stream.destination[rows - 7]], axis=1)
    assert_rows_are_alone(model, model.gather(stream, rows, pairs))


@pytest.mark.parametrize("padding", [True, False])
def test_p_scales_the_mean_by_a_power_of_the_number_of_slots_or_events(padding):
    stream = random_stream()
    softmax, power = (
        make_model(stream, name, padding=padding) for name in ("p1.00", "p1.10")
    )
    batch = softmax.gather(stream, ROWS, candidates(stream))
    one, other = (model.read(batch).points["attention"] for model in (softmax, power))
    counts = softmax.read(batch).keys
    assert counts[0].tolist() == [[0, 0], [0, 0]]
    assert counts.max() == K
    assert counts[1:].min() < K
    slots = torch.full_like(counts, K) if padding else counts
    gain = slots ** (1 - 1 / 1.1)
    torch.testing.assert_close(other, gain.repeat_interleave(6, -1) * one)


def test_coordinates_count_what_is_averaged():
    stream = random_stream()
    for padding in (True, False):
        model = make_model(stream, "p1.00", padding=padding)
        encoding = model.encode(model.gather(stream, ROWS, candidates(stream)), 2.0)
        counted = torch.full_like(encoding.keys, K) if padding else encoding.keys
        logs = counted.clamp(min=1).log()
        expected = torch.stack([logs, logs / 2], dim=-1).flatten(-2)
        torch.testing.assert_close(encoding.coordinates, expected)


def test_the_number_of_parameters_is_the_published_models():
    stream = random_stream()
    model = build(stream, **PUBLISHED)
    ours = sum(x.numel() for x in model.parameters()) - stream.nodes * 172
    edges = 172 * 172  # a token's linear map reads 172 edge features
    tokens = 2 * 30 + (30 * 15 + 15) + (15 * 30 + 30)
    channels = 2 * 172 + (172 * 688 + 688) + (688 * 172 + 172)
    ends = 2 * 100 + (272 * 172 + 172) + 2 * (tokens + channels) + (344 * 172 + 172)
    published = ends + (344 * 172 + 172) + (172 + 1)
    assert published == 643_771
    assert ours == published - edges
    frozen = sum(x.numel() for x in model.parameters() if not x.requires_grad)
    assert frozen == 200, "the time encoding is not learned"

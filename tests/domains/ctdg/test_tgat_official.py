"""TGAT's official form against its recursive description."""

import math
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maa.attention import lp_gain, parse_operator
from maa.domains.ctdg.backbones.official import CosineTime, distinct
from maa.domains.ctdg.backbones.tgat_official import BLOCK, Entries, Neighbourhoods
from maa.domains.ctdg.stream import EventStream
from maa.errors import UserError
from tests.domains.ctdg import forms, naive
from tests.domains.ctdg.both_ends import (
    STREAMS,
    assert_rows_are_alone,
    last_events,
    looping_stream,
)
from tests.domains.ctdg.describing import ROWS, assert_described, candidates, doubled
from tests.domains.ctdg.small_streams import habitual_stream, random_stream

PUBLISHED = {"width": 172, "time_dim": 100, "neighbours": 20}

build = partial(forms.build, "tgat_official")
make_model = partial(forms.make_model, "tgat_official")


def describe(
    weights: dict[str, Tensor],
    stream: EventStream,
    row: int,
    destination: int,
    p: float,
    history: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the score and Z; ``history`` is whose events the source has."""
    source = int(stream.source[row])
    given = (source, row) if history is None else (int(stream.source[history]), history)
    described = Described(weights, stream, p)
    z = torch.cat(
        [
            described.state(source, row, "upper", given),
            described.state(destination, row, "upper"),
        ]
    )
    hidden = F.relu(naive.linear(weights, "predictor.hidden", z))
    return naive.linear(weights, "predictor.output", hidden).squeeze(), z


class Described:
    """The definition, one node at a time."""

    def __init__(
        self, weights: dict[str, Tensor], stream: EventStream, p: float
    ) -> None:
        self.weights, self.stream, self.p = weights, stream, p

    def time(self, seconds: float) -> Tensor:
        w, b = self.weights["time.frequency"], self.weights["time.phase"]
        return torch.cos(w * seconds + b)

    def state(
        self,
        node: int,
        row: int,
        layer: str | None,
        history: tuple[int, int] | None = None,
    ) -> Tensor:
        """Return a node's state before a row, with its own or a given past."""
        embedding = self.weights["embedding.weight"][node]
        if layer is None:
            return embedding
        below = "lower" if layer == "upper" else None
        query = torch.cat([self.state(node, row, below, history), self.time(0.0)])
        reader, before = history or (node, row)
        tokens = [
            torch.cat(
                [
                    self.state(other, event, below),
                    self.time(self.stream.time[before] - self.stream.time[event]),
                ]
            )
            for other, event in last_events(self.stream, reader, before, 5)
        ]
        context = self.attend(layer, query, tokens)
        mixed = naive.linear(self.weights, f"{layer}.mix", context) + query
        normed = naive.norm(self.weights, f"{layer}.norm", mixed, 1e-5)
        merged = naive.linear(self.weights, f"{layer}.merge_state", normed)
        merged = merged + self.weights[f"{layer}.merge_node.weight"] @ embedding
        return naive.linear(self.weights, f"{layer}.output", F.relu(merged))

    def attend(self, layer: str, query: Tensor, tokens: list[Tensor]) -> Tensor:
        if not tokens:
            return torch.zeros_like(query)
        x = torch.stack(tokens)
        wq, wk = (self.weights[f"{layer}.{name}.weight"] for name in ("query", "key"))
        values = ("state_value", "time_value")
        wv = torch.cat([self.weights[f"{layer}.{name}.weight"] for name in values], 1)
        heads = []
        for q, k, v in zip(
            (wq @ query).chunk(2),
            (x @ wk.t()).chunk(2, dim=1),
            (x @ wv.t()).chunk(2, dim=1),
            strict=True,
        ):
            logits = k @ q / math.sqrt(len(q))
            heads.append(naive.lp_weights(logits, self.p) @ v)
        return torch.cat(heads)


@pytest.mark.parametrize("operator", ["p1.00", "p1.10", "p3.00"])
@pytest.mark.parametrize("name", STREAMS)
def test_scores_z_and_gradients_equal_the_description(operator, name):
    stream = STREAMS[name]()
    model = make_model(stream, operator).double()
    batch = model.gather(stream, ROWS, candidates(stream))
    assert not batch.past_valid[0].any(), "row 0 has no history, by construction"
    p = parse_operator(operator).p
    assert_described(
        model,
        doubled(batch),
        lambda weights, row, node: describe(weights, stream, row, node, p),
    )


def test_another_rows_history_replaces_the_sources_alone():
    stream = random_stream()
    model = make_model(stream).double()
    donors = np.array([7, 0, 40, 59, 12, 23])
    batch = doubled(model.gather(stream, ROWS, candidates(stream), donors))
    z = model.read(batch).z
    weights = dict(model.named_parameters())
    for place, (row, donor) in enumerate(zip(ROWS, donors, strict=True)):
        node = int(batch.destination[place, 1])
        _, expected = describe(weights, stream, int(row), node, 1.1, int(donor))
        torch.testing.assert_close(z[place, 1], expected, atol=1e-6, rtol=1e-6)


def test_a_row_does_not_depend_on_those_beside_it():
    # Enough rows for several blocks of time encodings, and for fast linear maps.
    stream = habitual_stream(400)
    model = make_model(stream)
    rows = np.arange(200, 400)
    pairs = np.stack([stream.destination[rows], stream.destination[rows - 7]], axis=1)
    batch = model.gather(stream, rows, pairs)
    assert (batch.past[batch.past_valid] ^ 1).unique().numel() > 2 * BLOCK
    assert_rows_are_alone(model, batch)


def test_a_longer_window_of_padding_changes_nothing():
    stream = random_stream(20)
    models = [make_model(stream, neighbours=depth) for depth in (19, 40)]
    rows = np.arange(20)
    asked = stream.destination[rows, None]
    scores = [model(model.gather(stream, rows, asked)) for model in models]
    torch.testing.assert_close(*scores)


def test_the_operator_scales_contexts_by_the_gain_and_changes_no_logit():
    stream = random_stream()
    softmax, power = (make_model(stream, name).lower for name in ("p1.00", "p1.10"))
    node = torch.arange(4)
    rows = Neighbourhoods.recurring(
        node, torch.tensor([[0, 3, 3]] * 4), torch.tensor([[False, True, True]] * 4), 4
    )
    states, now, ages = torch.randn(4, 6), torch.ones(4), torch.randn(4, 2, 4)
    one, other = (
        layer(states, states, now, [ages], rows) for layer in (softmax, power)
    )
    assert torch.equal(one.logits, other.logits)
    gain = lp_gain(one.logits, 1.1, rows.valid.unsqueeze(1)).repeat_interleave(5, 1)
    assert gain.max() > 1.02
    torch.testing.assert_close(other.context, gain * one.context)


def test_coordinates_and_keys_are_those_of_both_ends():
    stream = random_stream()
    model = make_model(stream, "p1.00")
    batch = model.gather(stream, [0, 40], candidates(stream)[[0, 4]])
    encoding = model.encode(batch, 1.1)
    assert encoding.coordinates.shape == (2, 2, 8), "2 norms of 2 ends of 2 heads"
    assert torch.equal(encoding.coordinates[0], torch.zeros(2, 8))
    counts = [
        [
            len(last_events(stream, int(node), 40, 5))
            for node in (stream.source[40], end)
        ]
        for end in batch.destination[1]
    ]
    assert encoding.keys[1].tolist() == counts
    first = encoding.coordinates[1, :, ::2].exp()
    assert (first <= encoding.keys[1].repeat_interleave(2, 1) + 1e-4).all()


def test_the_number_of_parameters_is_the_published_models():
    stream = random_stream()
    model = build(stream, **PUBLISHED)
    ours = sum(x.numel() for x in model.parameters()) - stream.nodes * 172
    edges = 2 * 2 * 172 * 272  # keys and values of both layers read 172 edge features
    attention = 272 * 272 + 2 * 444 * 272 + (272 * 272 + 272) + 2 * 272
    merging = (444 * 172 + 172) + (172 * 172 + 172)
    published = 2 * 100 + 2 * (attention + merging) + (344 * 172 + 172) + (172 + 1)
    assert published == 1_052_945
    assert ours == published - edges


def test_a_batch_is_sliced_by_rows_and_keeps_the_streams_entries():
    stream = random_stream()
    model = make_model(stream)
    batch = model.gather(stream, ROWS, candidates(stream))
    part = batch[2:4]
    assert len(part) == 2
    assert part.entries is batch.entries
    whole = model.gather(stream, ROWS[2:4], candidates(stream)[2:4])
    assert torch.equal(model(part), model(whole))
    assert torch.equal(model(batch.to(torch.device("cpu"))), model(batch))


def test_entries_hold_both_ends_of_events_and_their_pasts():
    stream = looping_stream()
    model = make_model(stream)
    entries = Entries.of(model.recent(stream), 5)
    for entry in (0, 31, 88, 119):
        row, end = divmod(entry, 2)
        node = int((stream.source, stream.destination)[end][row])
        assert int(entries.node[entry]) == node
        known = [int(x) for x in entries.past[entry] if x >= 0]
        met = last_events(stream, node, row, 5)
        assert [x // 2 for x in known] == [event for _, event in met]
        assert [int(entries.node[x]) for x in known] == [node] * len(known)
        assert [int(entries.node[x ^ 1]) for x in known] == [other for other, _ in met]
        ages = entries.age[entry][5 - len(met) :]
        expected = [stream.time[row] - stream.time[event] for _, event in met]
        assert ages.tolist() == pytest.approx(expected)


def test_distinct_is_unique_with_and_without_a_table(monkeypatch):
    ids = torch.randint(0, 50, (7, 9), generator=torch.Generator().manual_seed(0))
    expected = torch.unique(ids, return_inverse=True)
    for table in (1 << 24, 10):
        monkeypatch.setattr("maa.domains.ctdg.backbones.official.TABLE", table)
        for found, known in zip(distinct(ids, 50), expected, strict=True):
            assert torch.equal(found, known)


def test_time_encoding_is_the_cosine_and_its_gradient():
    time = CosineTime(8, trainable=True)
    assert time.frequency[[0, -1]].tolist() == pytest.approx([1.0, 1e-9])
    seconds = torch.tensor([[0.0, 0.5, 3.0], [60.0, 7200.0, 604800.0]])
    exact = torch.cos(seconds.double().unsqueeze(-1) * time.frequency.double())
    # A float32 of a week in radians is good to 0.06.
    torch.testing.assert_close(time(seconds)[0], exact[0].float())
    torch.testing.assert_close(time(seconds), exact.float(), atol=0.1, rtol=0)
    double = time.double()
    arguments = (double.frequency, double.phase)
    assert torch.autograd.gradcheck(
        lambda w, b: double(seconds.double() / 6e4), arguments
    )


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(
        UserError, match=r"3 heads do not divide width \+ time_dim = 10"
    ):
        build(random_stream(), heads=3)

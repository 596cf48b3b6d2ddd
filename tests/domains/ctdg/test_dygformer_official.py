"""DyGFormer's official form against its description."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maa.attention import parse_operator
from maa.domains.ctdg.backbones.dygformer_official import (
    ROWS_AT_ONCE,
    Sequences,
    appearances,
    pack,
    sequences,
    thinned,
)
from maa.domains.ctdg.backbones.linear import ENOUGH, Linear, rounded
from maa.domains.ctdg.stream import EventStream
from maa.errors import UserError
from tests.domains.ctdg import forms, naive
from tests.domains.ctdg.describing import ROWS, assert_described, candidates
from tests.domains.ctdg.small_streams import make_stream, random_stream

SIZES = forms.SETTINGS["dygformer_official"]
PUBLISHED = {
    "width": 172,
    "time_dim": 100,
    "channel": 50,
    "length": 32,
    "patch": 1,
    "layers": 2,
    "heads": 2,
    "dropout": 0.1,
}

build = partial(forms.build, "dygformer_official")
make_model = partial(forms.make_model, "dygformer_official")


def entries(
    stream: EventStream, node: int, row: int, length: int
) -> list[tuple[int, float]]:
    """The node itself and who it met before, each with the seconds since."""
    past = []
    for event in range(row):
        since = float(stream.time[row] - stream.time[event])
        ends = int(stream.source[event]), int(stream.destination[event])
        past += [(ends[1], since)] if ends[0] == node else []
        past += [(ends[0], since)] if ends[1] == node else []
    return [(node, 0.0), *past[1 - length :]]


def describe(
    weights: naive.Weights,
    stream: EventStream,
    row: int,
    destination: int,
    operator: str,
    patch: int,
    length: int = SIZES["length"],
) -> tuple[Tensor, Tensor]:
    """Score and Z: all tokens of both ends, padding and all, as published."""
    p, heads = parse_operator(operator).p, SIZES["heads"]
    ends = [
        entries(stream, node, row, length)
        for node in (int(stream.source[row]), destination)
    ]
    nodes = [[node for node, _ in end] for end in ends]

    def encoded(count: int) -> Tensor:
        hidden = naive.linear(weights, "count.0", torch.tensor([float(count)]))
        return naive.linear(weights, "count.2", F.relu(hidden))

    def channels(end: list[tuple[int, float]], start: int) -> Tensor:
        node, time, count = [], [], []
        for place in range(start, start + patch):
            there = place < len(end)
            who, since = end[place] if there else (0, 0.0)
            table = weights["embedding.weight"][who]
            angle = since * weights["time.frequency"] + weights["time.phase"]
            node.append(table if there else torch.zeros_like(table))
            time.append(torch.cos(angle) if there else torch.zeros_like(angle))
            times = [side.count(who) if there else 0 for side in nodes]
            count.append(encoded(times[0]) + encoded(times[1]))
        return torch.cat(
            [
                naive.linear(weights, "from_node", torch.cat(node)),
                weights["from_edge"],
                naive.linear(weights, "from_time", torch.cat(time)),
                naive.linear(weights, "from_count", torch.cat(count)),
            ]
        )

    x = torch.stack(
        [channels(end, start) for end in ends for start in range(0, length, patch)]
    )
    for layer in range(SIZES["layers"]):
        x = transformed(weights, f"layers.{layer}", x, heads, p)
    means = x.view(2, length // patch, -1).mean(1)
    z = torch.cat([naive.linear(weights, "output", mean) for mean in means])
    hidden = F.relu(naive.linear(weights, "predictor.hidden", z))
    return naive.linear(weights, "predictor.output", hidden)[0], z


def transformed(
    weights: naive.Weights, name: str, x: Tensor, heads: int, p: float
) -> Tensor:
    normed = [naive.norm(weights, f"{name}.attention_norm", one, 1e-5) for one in x]
    parts = [naive.linear(weights, f"{name}.attention.input", one) for one in normed]
    queries, keys, values = zip(*(part.chunk(3) for part in parts), strict=True)
    tokens = []
    for one, query in zip(x, queries, strict=True):
        context = []
        for head in range(heads):
            q, *others = (
                torch.stack([each.chunk(heads)[head] for each in part])
                for part in ((query,), keys, values)
            )
            logits = others[0] @ q[0] / math.sqrt(q.shape[1])
            context.append(naive.lp_weights(logits, p) @ others[1])
        one = one + naive.linear(weights, f"{name}.mix", torch.cat(context))
        wide = naive.norm(weights, f"{name}.norm", one, 1e-5)
        wide = F.gelu(naive.linear(weights, f"{name}.expand", wide))
        tokens.append(one + naive.linear(weights, f"{name}.contract", wide))
    return torch.stack(tokens)


@pytest.fixture
def double() -> Iterator[None]:
    """Double precision: gradients of frequencies grow with the ages."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("operator", ["p1.00", "p1.10", "p3.00"])
@pytest.mark.parametrize(("bipartite", "patch"), [(True, 1), (False, 1), (True, 3)])
def test_scores_z_and_gradients_equal_the_description(operator, bipartite, patch):
    stream = random_stream(bipartite=bipartite)
    model = make_model(stream, operator, patch=patch)
    batch = model.gather(stream, ROWS, candidates(stream))
    batch = replace(batch, past_age=batch.past_age.double())
    length = sequences(batch).length
    assert length.min() == 1 and length.max() == 6 and len(length.unique()) > 3
    assert_described(
        model,
        batch,
        lambda weights, row, node: describe(
            weights, stream, row, node, operator, patch
        ),
    )


def test_appearances_by_hand():
    # Source 1 met 7, 8, 7; candidate 7 met 1, 9, 1, 1 and one sequence is padded.
    of = Sequences(
        node=torch.tensor([[[1, 7, 8, 7, 0], [7, 1, 9, 1, 1], [0, 0, 0, 0, 0]]]),
        age=torch.zeros(1, 3, 5),
        length=torch.tensor([[4, 5, 1]]),
    )
    found = appearances(of)
    assert found[0, 0, 0].tolist() == [[1, 3], [2, 1], [1, 0], [2, 1], [0, 0]]
    assert found[0, 0, 1].tolist() == [[2, 1], [1, 3], [0, 1], [1, 3], [1, 3]]
    # Node 0 as candidate without events: padding has its id, and counts for nothing.
    assert found[0, 1, 0].tolist() == [[1, 0], [2, 0], [1, 0], [2, 0], [0, 0]]
    assert found[0, 1, 1].tolist() == [[0, 1]] + [[0, 0]] * 4


def test_sequences_by_hand():
    stream = make_stream(
        [0, 1, 0, 0], [1, 0, 2, 1], [0, 5, 9, 11],
        sources=0, nodes=3, depth=1, train_end=1, validation_end=2,
    )  # fmt: skip
    of = sequences(make_model(stream, length=5).gather(stream, [3], [[2]]))
    assert of.node.tolist() == [[[0, 1, 1, 2, 0], [2, 0, 0, 0, 0]]]
    assert of.age.tolist() == [[[0, 11, 6, 2, 0], [0, 2, 0, 0, 0]]]
    assert of.length.tolist() == [[4, 2]]


def test_every_token_attends_to_all_tokens_of_both_ends_once():
    length = torch.tensor([[1, 6, 3], [6, 6, 2]])
    packing = pack(length, patches=6, size=1)
    # Kept of each sequence: its entries and one token of padding, if there is any.
    kept = [2 + 6, 2 + 4, 6 + 6, 6 + 3]
    tokens = len(packing.share.nonzero())
    assert tokens == sum(kept) and len(packing.raw) % 16 == 0
    assert packing.longest == 12
    counts = torch.stack([row.bincount(minlength=12) for row in packing.keys[:tokens]])
    for number, row in zip(counts.sum(1), counts, strict=True):
        assert number == 12
        present = row[row > 0]
        assert len(present) in kept
    # The mean over a side weighs each of its six tokens the same.
    shares = torch.zeros(8).index_add(0, packing.side, packing.share.squeeze(1))
    torch.testing.assert_close(shares, torch.ones(8))
    assert sorted(packing.damping.squeeze(1).pow(-2).round().tolist()) == [
        3, 4, 5, 5,
    ]  # fmt: skip


def test_what_lies_under_padding_never_matters():
    stream = random_stream()
    model = make_model(stream)
    batch = model.gather(stream, ROWS, candidates(stream))
    before = model(batch)
    batch.past_other[~batch.past_valid] = 3
    batch.past_age[~batch.past_valid] = 77.0
    assert torch.equal(model(batch), before)


def test_a_score_does_not_depend_on_the_rest_of_the_batch():
    stream = random_stream()
    model = make_model(stream)
    asked = candidates(stream)
    together = model(model.gather(stream, ROWS, asked))
    for place, row in enumerate(ROWS):
        for which in range(2):
            alone = model.gather(stream, [row], asked[place : place + 1, [which]])
            torch.testing.assert_close(model(alone)[0, 0], together[place, which])


def test_many_rows_are_read_in_parts_and_few_in_one():
    stream = random_stream(events=200)
    model = make_model(stream)
    rows = np.arange(ROWS_AT_ONCE + 30)
    asked = np.stack([stream.destination[rows], stream.destination[rows + 1]], axis=1)
    batch = model.gather(stream, rows, asked)
    whole, parts = model.train().read(batch), model.eval().read(batch)
    pairs = [(whole.z, parts.z), (whole.keys, parts.keys)]
    pairs += [
        (one[0], other[0])
        for one, other in zip(whole.attention, parts.attention, strict=True)
    ]
    assert list(whole.points) == list(parts.points)
    pairs += zip(whole.points.values(), parts.points.values(), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_a_substituted_history_replaces_the_sources_events_alone():
    stream = random_stream()
    model = make_model(stream)
    rows, donors = np.array([30, 40]), np.array([52, 59])
    asked = stream.destination[rows][:, None]
    own = sequences(model.gather(stream, rows, asked))
    other = sequences(model.gather(stream, rows, asked, donors))
    donor = sequences(model.gather(stream, donors, asked))
    assert torch.equal(other.node[:, 0, 1:], donor.node[:, 0, 1:])
    assert torch.equal(other.age[:, 0], donor.age[:, 0])
    assert torch.equal(other.node[:, 0, 0], own.node[:, 0, 0])
    assert torch.equal(other.node[:, 1], own.node[:, 1])
    assert torch.equal(other.age[:, 1], own.age[:, 1])


def test_coordinates_are_those_of_the_ends_own_tokens():
    stream = random_stream()
    model = make_model(stream)
    batch = model.gather(stream, ROWS, candidates(stream))
    reading = model.read(batch)
    encoding = model.encode(batch, 1.1)
    layers, heads, keys = 2, 2, 12
    assert encoding.coordinates.shape == (6, 2, layers * 2 * heads * 2)
    assert [logits.shape for logits, _ in reading.attention] == [
        (6, 2, 2 * heads, keys)
    ] * layers
    assert encoding.keys.tolist()[0] == [[0, 0], [0, 0]], "row 0 has no past"
    # Row 0 with no past: of an end's six tokens five are the same padding.
    logits = reading.attention[0][0][0, 0]
    torch.testing.assert_close(logits[:, 2:6], logits[:, 1:2].expand(-1, 4))
    torch.testing.assert_close(logits[:, 8:], logits[:, 7:8].expand(-1, 4))
    m = torch.exp(logits - logits.amax(1, keepdim=True))
    both = torch.stack([m.sum(1).log(), (m**1.1).sum(1).log() / 1.1], -1).flatten()
    torch.testing.assert_close(encoding.coordinates[0, 0, : 4 * heads], both)


def test_points_lead_from_the_attention_to_z():
    stream = random_stream()
    model = make_model(stream)
    reading = model.read(model.gather(stream, ROWS, candidates(stream)))
    names = list(reading.points)
    assert names[0] == "attention" and names[-1] == "z"
    mix, points = model.layers[1].mix, reading.points
    halves = points["attention 2"].view(6, 2, 2, -1)
    torch.testing.assert_close(mix(halves).flatten(2), points["linear 2"])
    rest = points["layer"] + points["linear 2"]
    torch.testing.assert_close(rest, points["residual 2"])


def test_only_the_operator_separates_p_1_from_p_2():
    stream = random_stream()
    soft, hard = (make_model(stream, operator) for operator in ("p1.00", "p2.00"))
    batch = soft.gather(stream, ROWS, candidates(stream))
    for name, value in soft.state_dict().items():
        assert torch.equal(value, hard.state_dict()[name])
    assert not torch.isclose(soft(batch), hard(batch), atol=1e-4).any()
    # Without values the attention has no output, whatever its weights.
    for model in (soft, hard):
        for layer in model.layers:
            layer.attention.input.weight.data[-16:] = 0
            layer.attention.input.bias.data[-16:] = 0
    torch.testing.assert_close(soft(batch), hard(batch))


def test_the_number_of_parameters_is_the_published_one():
    # Published on Wikipedia with raw features of width 172 and the link predictor:
    # 1,087,035, of which 172 * 50 weights read features of edges.
    layer = 4 * (200 * 200 + 200) + 2 * 200 * 800 + 800 + 200 + 2 * 400
    count = (50 + 50) + (50 * 50 + 50)
    project = 2 * (172 * 50 + 50) + (100 * 50 + 50) + (50 * 50 + 50)
    head = (200 * 172 + 172) + (344 * 172 + 172) + (172 + 1)
    published = 200 + count + project + 2 * layer + head
    assert published == 1_087_035
    stream = random_stream()
    model = build(stream, **PUBLISHED)
    own = sum(x.numel() for x in model.parameters()) - stream.nodes * 172
    assert own == published - 172 * 50


def test_initial_weights_are_those_of_the_published_modules():
    model = build(random_stream(), **PUBLISHED)
    published = torch.nn.MultiheadAttention(200, 2)
    first = model.layers[0]
    for ours, theirs in [
        (first.attention.input.weight, published.in_proj_weight),
        (first.mix.weight, published.out_proj.weight),
    ]:
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.02)
        assert ours.abs().max().item() == pytest.approx(
            theirs.abs().max().item(), rel=0.01
        )
    assert (first.attention.input.bias == 0).all() and (first.mix.bias == 0).all()


def test_the_noise_of_padding_is_that_of_a_mean():
    torch.manual_seed(0)
    packing = pack(torch.tensor([[1, 6]]), patches=26, size=1)
    x = torch.ones(len(packing.raw), 200_000)
    noise = thinned(x, 0.2, True, packing)
    single, mean = noise[0], noise[packing.repeated[0]]
    assert single.unique().tolist() == pytest.approx([0, 1.25], rel=1e-5)
    assert mean.mean().item() == pytest.approx(1, abs=2e-3)
    assert mean.std().item() == pytest.approx(0.5 / math.sqrt(25), rel=0.02)
    assert single.std().item() == pytest.approx(0.5, rel=0.02)
    assert torch.equal(thinned(x, 0.2, False, packing), x)


@pytest.mark.parametrize("rows", [5, ENOUGH, ENOUGH + 16, ENOUGH + 1])
def test_the_fast_linear_map_is_one(rows):
    torch.manual_seed(0)
    layer = Linear(24, 40)
    x = torch.randn(rows, 24, requires_grad=True)
    direction = torch.randn(rows, 40)
    expected = x @ layer.weight.t() + layer.bias
    wanted = torch.autograd.grad(
        (expected * direction).sum(), [x, layer.weight, layer.bias]
    )
    found = layer(x)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    got = torch.autograd.grad((found * direction).sum(), [x, layer.weight, layer.bias])
    for ours, theirs in zip(got, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
    assert rounded(rows) % 16 == 0 and 0 <= rounded(rows) - rows < 16


def test_sizes_that_do_not_divide_are_a_users_error():
    stream = random_stream()
    for wrong, message in [
        ({"patch": 4}, r"patch: 4 does not divide length = 6"),
        ({"heads": 3}, r"heads: 3 does not divide 4 \* channel = 16"),
    ]:
        with pytest.raises(UserError, match=message):
            build(stream, **wrong)

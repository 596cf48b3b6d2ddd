"""TGAT against its description, and the identities that its operator promises."""

import dataclasses

import numpy as np
import pytest
import torch

from maa.attention import lp_gain, parse_operator
from maa.domains.ctdg.backbones.tgat import TGAT, build
from maa.domains.ctdg.batches import collect
from maa.domains.ctdg.stream import EventStream
from tests.domains.ctdg import naive
from tests.domains.ctdg.describing import ROWS, assert_described, candidates, shaken
from tests.domains.ctdg.small_streams import random_stream

HIDDEN, TIME = 8, 6
SETTINGS = {"hidden": HIDDEN, "time_dim": TIME, "dropout": 0.0}


def make_model(stream: EventStream, operator: str = "p1.10", seed: int = 0) -> TGAT:
    torch.manual_seed(seed)
    return shaken(build(stream, parse_operator(operator), SETTINGS))


@pytest.mark.parametrize("operator", ["p1.00", "p1.10", "p3.00"])
@pytest.mark.parametrize("bipartite", [True, False])
def test_scores_z_and_gradients_equal_the_description(operator, bipartite):
    stream = random_stream(bipartite=bipartite)
    model = make_model(stream, operator)
    asked = candidates(stream)
    batch = collect(stream, ROWS, asked)
    assert not batch.valid[0].any(), "row 0 has no history, by construction"
    assert_described(
        model,
        batch,
        lambda weights, row, node: naive.tgat(
            weights, stream, row, node, model.attention.operator.p, TIME
        ),
    )


def test_the_number_of_parameters():
    stream = random_stream()  # 14 nodes
    model = build(stream, parse_operator("p1.00"), SETTINGS)
    maps = 2 * (8 * (8 + 8 + 6) + 8) + 3 * (8 * 8 + 8) + (8 * 32 + 8) + (8 + 1)
    assert sum(x.numel() for x in model.parameters()) == 14 * 8 + 8 + maps + 3 * 16


@pytest.mark.parametrize("operator", ["p1.00", "p1.10"])
def test_what_lies_under_padding_never_matters(operator):
    stream = random_stream()
    model = make_model(stream, operator)
    batch = collect(stream, ROWS, candidates(stream))
    assert (~batch.valid).any()
    garbage = dataclasses.replace(
        batch,
        neighbour=torch.where(batch.valid, batch.neighbour, 3),
        age=torch.where(batch.valid, batch.age, float("nan")),
    )
    assert torch.equal(model(batch), model(garbage))


def test_a_longer_window_of_padding_changes_nothing():
    short, long = random_stream(20, depth=19), random_stream(20, depth=40)
    model = make_model(short)
    asked = np.stack([short.destination[:20]], axis=1)
    scores = [model(collect(stream, np.arange(20), asked)) for stream in (short, long)]
    torch.testing.assert_close(scores[0], scores[1], atol=1e-6, rtol=1e-6)


def test_a_row_without_history_has_no_context():
    stream = random_stream()
    model = make_model(stream)
    batch = collect(stream, [0], stream.destination[:1, None])
    state, _, _, context = model.read(batch).z.chunk(4, dim=-1)
    assert torch.equal(context, torch.zeros(1, 1, HIDDEN))
    alone = model.state_norm(model.embedding.weight[int(stream.source[0])])
    torch.testing.assert_close(state[0, 0], alone)


def test_the_operator_scales_the_context_by_its_gain_and_changes_no_logit():
    stream = random_stream()
    batch = collect(stream, ROWS, candidates(stream))
    softmax = make_model(stream, "p1.00").read(batch)
    power = make_model(stream, "p1.10").read(batch)
    (logits, mask), (same, _) = softmax.attention[0], power.attention[0]
    assert torch.equal(logits, same)
    gain = lp_gain(logits, 1.1, mask)
    assert gain.max() > 1.05
    contexts = [reading.z.chunk(4, dim=-1)[3] for reading in (softmax, power)]
    torch.testing.assert_close(contexts[1], gain * contexts[0])


def test_coordinates_are_log_norms_of_the_logits_in_both_arms():
    stream = random_stream()
    asked = candidates(stream)
    batch = collect(stream, ROWS, asked)
    model = make_model(stream, "p1.00")
    found = model.encode(batch, 1.1).coordinates
    assert torch.equal(
        found, make_model(stream, "p1.10").encode(batch, 1.1).coordinates
    )
    assert torch.equal(found[0], torch.zeros(2, 2)), "no history, no mass"
    weights = dict(model.named_parameters())
    _, _, [logits] = naive.tgat(weights, stream, 59, int(asked[-1, 1]), 1.0, TIME)
    m = torch.exp(logits - logits.max())
    expected = torch.stack([m.sum().log(), (m**1.1).sum().log() / 1.1])
    torch.testing.assert_close(found[-1, 1], expected, atol=1e-5, rtol=1e-5)


def test_the_predictor_reads_z_alone():
    stream = random_stream()
    model = make_model(stream)
    encoding = model.encode(collect(stream, ROWS, candidates(stream)), 1.1)
    assert encoding.z.shape == (len(ROWS), 2, 4 * HIDDEN)
    assert torch.equal(model.predict(encoding.z), encoding.score)


def test_only_the_sources_history_is_read():
    stream = random_stream()
    batch = collect(stream, ROWS, candidates(stream))
    other = dataclasses.replace(batch, elapsed=batch.elapsed + 1000.0)
    model = make_model(stream)
    assert torch.equal(model(batch), model(other))


def test_dropout_acts_on_weights_and_hidden_units_in_training_only():
    stream = random_stream()
    torch.manual_seed(0)
    model = build(stream, parse_operator("p1.00"), SETTINGS | {"dropout": 0.5})
    batch = collect(stream, ROWS, candidates(stream))
    contexts = [model.read(batch).z.chunk(4, dim=-1)[3] for _ in range(2)]
    assert not torch.equal(*contexts)
    model.eval()
    assert torch.equal(model(batch), model(batch))

"""GraphMixer against its description, and where its operator is."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from maa.attention import lp_gain, parse_operator
from maa.domains.ctdg.backbones.graphmixer import GraphMixer, MixerBlock, build
from maa.domains.ctdg.batches import collect
from maa.domains.ctdg.stream import EventStream
from tests.domains.ctdg import naive
from tests.domains.ctdg.describing import ROWS, assert_described, candidates, shaken
from tests.domains.ctdg.small_streams import random_stream

HIDDEN, TIME = 8, 6
SETTINGS = {"hidden": HIDDEN, "time_dim": TIME, "dropout": 0.0, "layers": 2}


def make_model(stream: EventStream, operator: str = "p1.10") -> GraphMixer:
    torch.manual_seed(0)
    return shaken(build(stream, parse_operator(operator), SETTINGS))


@pytest.mark.parametrize(
    ("operator", "bipartite"), [("p1.00", True), ("p1.10", False), ("p3.00", True)]
)
def test_scores_z_and_gradients_equal_the_description(operator, bipartite):
    stream = random_stream(bipartite=bipartite)
    model = make_model(stream, operator)
    batch = collect(stream, ROWS, candidates(stream))
    assert not batch.valid[0].any(), "row 0 has no history, by construction"
    # In double precision, for the gradients' rounding adds up over the layers.
    wide = {"time": batch.time.double(), "age": batch.age.double()}
    assert_described(
        model.double(),
        dataclasses.replace(batch, **wide),
        lambda weights, row, node: naive.graphmixer(
            weights, stream, row, node, model.attention.operator.p, TIME, 2
        )[:2],
    )


def test_the_number_of_parameters():
    stream = random_stream()  # 14 nodes
    model = build(stream, parse_operator("p1.00"), SETTINGS)
    shared = 2 * (8 * (8 + 8 + 6) + 8) + 3 * (8 * 8 + 8) + (8 * 32 + 8) + (8 + 1)
    shared += 14 * 8 + 8 + 3 * 16
    block = (8 * 32 + 32) + (32 * 8 + 8) + (8 * 8 + 8) + 8 + 2 * 16
    found = sum(parameter.numel() for parameter in model.parameters())
    assert found == shared + 2 * block


def test_a_gate_without_preference_adds_the_mean_of_the_rows_events():
    stream = random_stream()
    batch = collect(stream, ROWS, candidates(stream))
    block = MixerBlock(HIDDEN, dropout=0.0)
    for part in (block.contract.weight, block.contract.bias, block.gate_output.weight):
        nn.init.zeros_(part)
    tokens = torch.randn(*batch.valid.shape, HIDDEN)
    slots = batch.valid.flatten().nonzero().squeeze(1)
    mixed = block(tokens[batch.valid], batch.valid, slots)
    for found, given, valid in zip(mixed, tokens, batch.valid, strict=True):
        if valid.any():
            expected = given[valid] + given[valid].mean(0)
            torch.testing.assert_close(found[valid], expected)


def test_a_gate_with_a_strong_preference_adds_one_event():
    block = MixerBlock(2, dropout=0.0)
    for part in block.parameters():
        nn.init.zeros_(part)
    for norm in (block.norm, block.gate_norm):
        nn.init.ones_(norm.weight)
    with torch.no_grad():
        block.gate.weight.copy_(torch.eye(2))
        block.gate_output.weight.copy_(torch.tensor([[100.0, 0.0]]))
    tokens = torch.tensor([[-1.0, 1.0]]).repeat(5, 1)
    tokens[3] = torch.tensor([2.0, -3.0])  # the only one with a positive first half
    expected = tokens + tokens[3]
    valid = torch.ones(1, 5, dtype=torch.bool)
    torch.testing.assert_close(block(tokens, valid, torch.arange(5))[0], expected)


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


def test_rows_do_not_see_each_other():
    stream = random_stream()
    model = make_model(stream)
    together = model(collect(stream, ROWS, candidates(stream)))
    for place, row in enumerate(ROWS):
        alone = collect(stream, [row], candidates(stream)[place : place + 1])
        torch.testing.assert_close(model(alone)[0], together[place])


def test_a_row_without_history_has_no_context():
    stream = random_stream()
    reading = make_model(stream).read(
        collect(stream, [0], stream.destination[:1, None])
    )
    assert torch.equal(reading.points["attention"], torch.zeros(1, 1, HIDDEN))
    assert reading.keys.tolist() == [[[0.0]]]


def test_the_operator_acts_in_the_final_attention_alone():
    stream = random_stream()
    batch = collect(stream, ROWS, candidates(stream))
    softmax = make_model(stream, "p1.00").read(batch)
    power = make_model(stream, "p1.10").read(batch)
    (logits, mask), (same, _) = softmax.attention[0], power.attention[0]
    assert torch.equal(logits, same), "the mixed tokens know nothing of p"
    gain = lp_gain(logits, 1.1, mask)
    assert gain.max() > 1.05
    contexts = [reading.points["attention"] for reading in (softmax, power)]
    torch.testing.assert_close(contexts[1], gain * contexts[0])
    events = batch.valid.sum(1).float()[:, None, None].expand(-1, 2, 1)
    assert torch.equal(softmax.keys, events)


def test_dropout_acts_in_training_only():
    stream = random_stream()
    torch.manual_seed(0)
    model = build(stream, parse_operator("p1.00"), SETTINGS | {"dropout": 0.5})
    batch = collect(stream, ROWS, candidates(stream))
    tokens = torch.randn(*batch.valid.shape, HIDDEN)
    assert not torch.equal(model.mix(tokens, batch)[0], model.mix(tokens, batch)[0])
    model.eval()
    assert torch.equal(model(batch), model(batch))

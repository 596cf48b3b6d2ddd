"""GraphMixer against its description, and its blocks."""

from functools import partial

import pytest
import torch
from torch import nn

from maa.domains.ctdg.backbones.graphmixer import MixerBlock
from maa.domains.ctdg.batches import collect
from tests.domains.ctdg import forms, naive
from tests.domains.ctdg.describing import ROWS, assert_described, candidates, doubled
from tests.domains.ctdg.forms import HIDDEN, TIME
from tests.domains.ctdg.small_streams import random_stream

build = partial(forms.build, "graphmixer")
make_model = partial(forms.make_model, "graphmixer")


@pytest.mark.parametrize(
    ("operator", "bipartite"), [("p1.00", True), ("p1.10", False), ("p3.00", True)]
)
def test_scores_z_and_gradients_equal_the_description(operator, bipartite):
    stream = random_stream(bipartite=bipartite)
    model = make_model(stream, operator)
    batch = collect(stream, ROWS, candidates(stream))
    assert not batch.valid[0].any(), "row 0 has no history, by construction"
    # In double precision, for the gradients' rounding adds up over the layers.
    assert_described(
        model.double(),
        doubled(batch),
        lambda weights, row, node: naive.source_reader(
            weights,
            stream,
            row,
            node,
            model.attention.operator.p,
            TIME,
            naive.mixers(weights, 2),
        )[:2],
    )


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


def test_dropout_acts_in_training_only():
    stream = random_stream()
    model = build(stream, dropout=0.5)
    batch = collect(stream, ROWS, candidates(stream))
    tokens = torch.randn(*batch.valid.shape, HIDDEN)
    assert not torch.equal(model.mix(tokens, batch)[0], model.mix(tokens, batch)[0])
    model.eval()
    assert torch.equal(model(batch), model(batch))

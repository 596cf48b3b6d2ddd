"""CRAFT against its description."""

import dataclasses
from functools import partial

import pytest
import torch

from maa.attention import parse_operator
from maa.domains.ctdg.batches import NEVER_MET, collect
from maa.errors import UserError
from tests.domains.ctdg import forms, naive
from tests.domains.ctdg.describing import ROWS, assert_described, candidates
from tests.domains.ctdg.forms import CRAFT, HIDDEN
from tests.domains.ctdg.small_streams import make_stream, random_stream

LAYERS, HEADS = CRAFT["layers"], CRAFT["heads"]
build = partial(forms.build, "craft")
make_model = partial(forms.make_model, "craft")


@pytest.mark.parametrize("operator", ["p1.00", "p1.10", "p3.00"])
@pytest.mark.parametrize("bipartite", [True, False])
def test_scores_z_and_gradients_equal_the_description(operator, bipartite):
    stream = random_stream(bipartite=bipartite)
    model = make_model(stream, operator)
    asked = candidates(stream)
    batch = collect(stream, ROWS, asked)
    assert not batch.valid[0].any(), "row 0 has no history, by construction"
    assert (batch.elapsed == NEVER_MET).any()
    assert_described(
        model,
        batch,
        lambda weights, row, node: naive.craft(
            weights, stream, row, node, parse_operator(operator).p, LAYERS, HEADS
        ),
    )


def test_coordinates_are_log_norms_layer_by_layer_and_head_by_head():
    stream = random_stream()
    asked = candidates(stream)
    model = make_model(stream, "p1.10")
    found = model.encode(collect(stream, ROWS, asked), 1.1).coordinates
    assert found.shape == (len(ROWS), 2, LAYERS * HEADS * 2)
    weights = dict(model.named_parameters())
    _, _, logits = naive.craft(
        weights, stream, 59, int(asked[-1, 1]), 1.1, LAYERS, HEADS
    )
    expected = []
    for row in logits:
        m = torch.exp(row - row.max())
        expected += [m.sum().log(), (m**1.1).sum().log() / 1.1]
    torch.testing.assert_close(
        found[-1, 1], torch.stack(expected), atol=1e-5, rtol=1e-5
    )


def test_the_number_of_parameters():
    stream = random_stream()  # 14 nodes, histories of 5
    model = build(stream)
    layer = 4 * (8 * 8 + 8) + (32 * 8 + 32) + (8 * 32 + 8) + 2 * 16
    total = 14 * 8 + 5 * 8 + 16 + 2 * layer + (8 + 8) + 16 + (16 + 1)
    assert sum(x.numel() for x in model.parameters()) == total


def test_initial_weights():
    stream = random_stream()
    parameters = dict(build(stream, hidden=64).named_parameters())
    expand = parameters["layers.0.expand.weight"]
    assert expand.std().item() == pytest.approx(0.02, rel=0.03)
    assert parameters["embedding.weight"].std().item() == pytest.approx(0.02, rel=0.1)
    biases = [v for k, v in parameters.items() if k.endswith("bias")]
    assert all((bias == 0).all() for bias in biases)
    norms = [v for k, v in parameters.items() if k.endswith("norm.weight")]
    assert len(norms) == 6 and all((weight == 1).all() for weight in norms)


def test_the_most_recent_neighbour_has_the_last_position():
    stream = make_stream(
        [0, 0, 0], [1, 2, 1], [0, 5, 9],
        sources=1, nodes=3, depth=4, train_end=1, validation_end=2,
    )  # fmt: skip
    model = make_model(stream)
    batch = collect(stream, [2], [[2]])
    before = model(batch)
    with torch.no_grad():
        model.position.weight[:2] += 1.0
    assert torch.equal(model(batch), before), "two neighbours take the last two places"
    with torch.no_grad():
        model.position.weight[3] += torch.arange(HIDDEN)
    assert not torch.equal(model(batch), before)


def test_the_ages_of_neighbours_are_not_read():
    stream = random_stream()
    batch = collect(stream, ROWS, candidates(stream))
    model = make_model(stream)
    assert torch.equal(
        model(batch), model(dataclasses.replace(batch, age=batch.age + 7))
    )


def test_heads_that_do_not_divide_the_width_are_a_users_error():
    with pytest.raises(UserError, match=r"models\.craft\.heads: 3 .* hidden = 8"):
        build(random_stream(), heads=3)

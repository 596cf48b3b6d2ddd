"""CRAFT's official form against its description."""

import math
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from maa.attention import parse_operator
from maa.domains.ctdg.stream import EventStream
from maa.errors import UserError
from tests.domains.ctdg import forms, naive
from tests.domains.ctdg.describing import ROWS, assert_described, candidates
from tests.domains.ctdg.small_streams import make_stream, random_stream

LAYERS, HEADS, NEIGHBOURS, EPS = 2, 2, 7, 1e-12
PUBLISHED = {"neighbours": 30, "hidden": 64}

build = partial(forms.build, "craft_official")
make_model = partial(forms.make_model, "craft_official")


def met(stream: EventStream, node: int, row: int) -> list[int]:
    """Who was at the other end of the node's earlier events, in either role."""
    others = []
    for event in range(row):
        ends = int(stream.source[event]), int(stream.destination[event])
        others += [ends[1]] if ends[0] == node else []
        others += [ends[0]] if ends[1] == node else []
    return others[-NEIGHBOURS:]


def describe(
    weights: naive.Weights, stream: EventStream, row: int, destination: int, p: float
) -> tuple[torch.Tensor, torch.Tensor]:
    table = weights["embedding.weight"]
    tokens = [
        naive.norm(
            weights, "embedding_norm", table[node] + weights["position.weight"][i], EPS
        )
        for i, node in enumerate(met(stream, int(stream.source[row]), row))
    ]
    x = naive.norm(weights, "embedding_norm", table[destination], EPS)
    for layer in range(LAYERS):
        name = f"layers.{layer}"
        context, _ = naive.attend(weights, f"{name}.attention", x, tokens, HEADS, p)
        mixed = naive.linear(weights, f"{name}.mix", context)
        x = x + naive.norm(weights, f"{name}.attention_norm", mixed, EPS)
        wide = F.gelu(naive.linear(weights, f"{name}.expand", x))
        change = naive.linear(weights, f"{name}.contract", wide)
        x = x + naive.norm(weights, f"{name}.norm", change, EPS)
    elapsed = torch.tensor([naive.elapsed_time(stream, row, destination)])
    elapsed = naive.linear(weights, "elapsed", elapsed)
    z = torch.cat([x, naive.norm(weights, "elapsed_norm", elapsed, EPS)])
    hidden = naive.linear(weights, "hidden", z)
    hidden = torch.where(hidden > 0, hidden, weights["activation.weight"] * hidden)
    return naive.linear(weights, "output", hidden)[0], z


@pytest.mark.parametrize("operator", ["p1.00", "p1.10", "p3.00"])
@pytest.mark.parametrize("bipartite", [True, False])
def test_scores_z_and_gradients_equal_the_description(operator, bipartite):
    stream = random_stream(bipartite=bipartite)
    model = make_model(stream, operator)
    batch = model.gather(stream, ROWS, candidates(stream))
    count = batch.valid.sum(1)
    assert count.min() == 0 and NEIGHBOURS in count and len(count.unique()) > 2
    p = parse_operator(operator).p
    assert_described(
        model,
        batch,
        lambda weights, row, node: describe(weights, stream, row, node, p),
    )


def test_histories_are_in_either_role_longer_than_the_streams_and_oldest_first():
    stream = make_stream(
        [0, 1, 0, 0], [1, 0, 2, 1], [0, 5, 9, 11],
        sources=0, nodes=3, depth=1, train_end=1, validation_end=2,
    )  # fmt: skip
    batch = make_model(stream).gather(stream, [3], [[1]])
    assert batch.neighbour[0, :3].tolist() == [1, 1, 2]
    assert batch.age[0].tolist() == [11, 6, 2, 0, 0, 0, 0]
    assert batch.valid[0].tolist() == [True] * 3 + [False] * 4


def test_a_substituted_history_replaces_the_neighbours_and_nothing_else():
    stream = random_stream()
    model = make_model(stream)
    rows, donors = np.array([30, 40]), np.array([52, 59])
    asked = stream.destination[rows][:, None]
    own = model.gather(stream, rows, asked)
    other = model.gather(stream, rows, asked, donors)
    donor = model.gather(stream, donors, asked)
    assert torch.equal(other.neighbour, donor.neighbour)
    assert torch.equal(other.age, donor.age)
    assert torch.equal(other.elapsed, own.elapsed)
    assert torch.equal(other.source, own.source)


def test_only_the_operator_separates_p_1_from_p_2():
    stream = random_stream()
    soft, hard = (make_model(stream, operator) for operator in ("p1.00", "p2.00"))
    for name, value in soft.state_dict().items():
        assert torch.equal(value, hard.state_dict()[name])
    batch = soft.gather(stream, ROWS, candidates(stream))
    single = batch.valid.sum(1) <= 1
    assert single.any() and not single.all()
    same = (soft(batch) == hard(batch)).all(1)
    assert torch.equal(same, single), "a row of one key has the same weight for all p"


def test_the_number_of_parameters_is_the_published_one():
    # The log of the published code on MOOC: 146,050 parameters with 98 embeddings and
    # with CRAFT-R's repeat counts, which widen Z from 128 to 192.
    published = 146_050
    repeats = 2 * 64 + 2 * 64 + (192 * 192 + 192 + 192) - (128 * 128 + 128 + 128)
    stream = random_stream()
    model = build(stream, **PUBLISHED)
    count = sum(x.numel() for x in model.parameters())
    assert count - stream.nodes * 64 == published - 98 * 64 - repeats


def test_initial_weights():
    model = build(random_stream(), **PUBLISHED)
    assert model.hidden.weight.std().item() == pytest.approx(0.02, rel=0.03)
    assert (model.hidden.bias == 0).all()
    assert math.isclose(model.activation.weight.item(), 0.15, rel_tol=1e-6)


def test_heads_that_do_not_divide_the_width_are_a_users_error():
    with pytest.raises(UserError, match=r"craft-official\.heads: 3 .* hidden = 8"):
        build(random_stream(), heads=3)

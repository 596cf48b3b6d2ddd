"""What holds for the reference forms alike, above all where their operator acts."""

import dataclasses

import numpy as np
import pytest
import torch

from maa.attention import lp_gain
from maa.domains.ctdg.batches import collect
from tests.domains.ctdg.describing import ROWS, candidates
from tests.domains.ctdg.forms import HIDDEN, build, make_model
from tests.domains.ctdg.small_streams import random_stream

FORMS = ("tgat", "craft", "dygformer", "graphmixer")
READERS = ("tgat", "dygformer", "graphmixer")  # one attention over what they make


def context_of(reading):
    return reading.z.chunk(4, dim=-1)[3]


@pytest.mark.parametrize("operator", ["p1.00", "p1.10"])
@pytest.mark.parametrize("form", FORMS)
def test_what_lies_under_padding_never_matters(form, operator):
    stream = random_stream()
    model = make_model(form, stream, operator)
    batch = collect(stream, ROWS, candidates(stream))
    assert (~batch.valid).any()
    garbage = dataclasses.replace(
        batch,
        neighbour=torch.where(batch.valid, batch.neighbour, 3),
        age=torch.where(batch.valid, batch.age, float("nan")),
    )
    assert torch.equal(model(batch), model(garbage))


@pytest.mark.parametrize("form", READERS)
def test_a_longer_window_of_padding_changes_nothing(form):
    short, long = random_stream(20, depth=19), random_stream(20, depth=40)
    model = make_model(form, short)
    asked = np.stack([short.destination[:20]], axis=1)
    scores = [model(collect(stream, np.arange(20), asked)) for stream in (short, long)]
    torch.testing.assert_close(scores[0], scores[1], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_rows_do_not_see_each_other(form):
    stream = random_stream()
    model = make_model(form, stream)
    together = model(collect(stream, ROWS, candidates(stream)))
    for place, row in enumerate(ROWS):
        alone = collect(stream, [row], candidates(stream)[place : place + 1])
        torch.testing.assert_close(model(alone)[0], together[place])


@pytest.mark.parametrize("form", READERS)
def test_a_row_without_history_has_no_context(form):
    stream = random_stream()
    model = make_model(form, stream)
    reading = model.read(collect(stream, [0], stream.destination[:1, None]))
    nothing = torch.zeros(1, 1, HIDDEN)
    assert torch.equal(context_of(reading), nothing)
    assert torch.equal(reading.points["attention"], nothing)
    assert reading.keys.tolist() == [[[0.0]]]
    state = reading.z.chunk(4, dim=-1)[0]
    alone = model.state_norm(model.embedding.weight[int(stream.source[0])])
    torch.testing.assert_close(state[0, 0], alone)


@pytest.mark.parametrize("form", READERS)
def test_the_operator_scales_the_context_by_its_gain_and_changes_no_logit(form):
    stream = random_stream()
    batch = collect(stream, ROWS, candidates(stream))
    softmax = make_model(form, stream, "p1.00").read(batch)
    power = make_model(form, stream, "p1.10").read(batch)
    (logits, mask), (same, _) = softmax.attention[0], power.attention[0]
    assert torch.equal(logits, same), "what is attended to knows nothing of p"
    gain = lp_gain(logits, 1.1, mask)
    assert gain.max() > 1.05
    torch.testing.assert_close(context_of(power), gain * context_of(softmax))
    points = [reading.points["attention"] for reading in (softmax, power)]
    torch.testing.assert_close(points[1], gain * points[0])


@pytest.mark.parametrize(
    ("form", "size"), [("tgat", 1), ("dygformer", 2), ("graphmixer", 1)]
)
def test_keys_are_the_events_or_their_patches(form, size):
    stream = random_stream()  # histories of 5
    batch = collect(stream, ROWS, candidates(stream))
    reading = make_model(form, stream).read(batch)
    keys = (batch.valid.sum(1) + size - 1) // size
    expected = keys.float()[:, None, None].expand(-1, 2, 1)
    assert torch.equal(reading.keys, expected)
    assert reading.attention[0][0].shape == (len(ROWS), 2, 1, -(-5 // size))


def reader_parameters(nodes):
    maps = 2 * (8 * (8 + 8 + 6) + 8) + 3 * (8 * 8 + 8) + (8 * 32 + 8) + (8 + 1)
    return maps + nodes * 8 + 8 + 3 * 16


PATCHES = 8 * 16 + 8 + 16
LAYER = 4 * (8 * 8 + 8) + (8 * 32 + 32) + (32 * 8 + 8) + 2 * 16
BLOCK = (8 * 32 + 32) + (32 * 8 + 8) + (8 * 8 + 8) + 8 + 2 * 16
OWN = {"tgat": 0, "dygformer": PATCHES + 2 * LAYER, "graphmixer": 2 * BLOCK}


@pytest.mark.parametrize("form", READERS)
def test_the_number_of_parameters(form):
    model = build(form, random_stream())
    found = sum(parameter.numel() for parameter in model.parameters())
    assert found == reader_parameters(nodes=14) + OWN[form]


@pytest.mark.parametrize("form", READERS)
def test_the_predictor_reads_z_alone(form):
    stream = random_stream()
    model = make_model(form, stream)
    encoding = model.encode(collect(stream, ROWS, candidates(stream)), 1.1)
    assert encoding.z.shape == (len(ROWS), 2, 4 * HIDDEN)
    assert torch.equal(model.predict(encoding.z), encoding.score)


@pytest.mark.parametrize("form", READERS)
def test_the_candidates_history_is_not_read(form):
    stream = random_stream()
    batch = collect(stream, ROWS, candidates(stream))
    other = dataclasses.replace(batch, elapsed=batch.elapsed + 1000.0)
    model = make_model(form, stream)
    assert torch.equal(model(batch), model(other))


@pytest.mark.parametrize("form", READERS)
def test_dropout_acts_on_the_way_to_the_context_in_training_only(form):
    stream = random_stream()
    model = build(form, stream, dropout=0.5)
    batch = collect(stream, ROWS, candidates(stream))
    contexts = [context_of(model.read(batch)) for _ in range(2)]
    assert not torch.equal(*contexts)
    model.eval()
    assert torch.equal(model(batch), model(batch))

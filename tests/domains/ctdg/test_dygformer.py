"""DyGFormer against its description, torch's transformer, and where the operator is."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from maa.attention import lp_gain, parse_operator
from maa.domains.ctdg.backbones.dygformer import DyGFormer, Transformer, build
from maa.domains.ctdg.batches import collect
from maa.domains.ctdg.stream import EventStream
from maa.errors import UserError
from tests.domains.ctdg import naive
from tests.domains.ctdg.describing import ROWS, assert_described, candidates, shaken
from tests.domains.ctdg.small_streams import random_stream

HIDDEN, TIME = 8, 6
SETTINGS = {
    "hidden": HIDDEN,
    "time_dim": TIME,
    "dropout": 0.0,
    "layers": 2,
    "heads": 4,
    "patch": 2,
}


def make_model(stream: EventStream, operator: str = "p1.10", **settings) -> DyGFormer:
    torch.manual_seed(0)
    return shaken(build(stream, parse_operator(operator), SETTINGS | settings))


@pytest.mark.parametrize(
    ("operator", "bipartite", "patch", "heads"),
    [("p1.00", True, 2, 4), ("p1.10", False, 2, 1), ("p3.00", True, 3, 2)],
)
def test_scores_z_and_gradients_equal_the_description(
    operator, bipartite, patch, heads
):
    stream = random_stream(bipartite=bipartite)  # histories of 5: no whole patches
    model = make_model(stream, operator, patch=patch, heads=heads)
    batch = collect(stream, ROWS, candidates(stream))
    lengths = batch.valid.sum(1)
    assert lengths[0] == 0
    assert (lengths % patch != 0).any(), "some patch must be incomplete"
    # In double precision, for the gradients' rounding adds up over the layers.
    wide = {"time": batch.time.double(), "age": batch.age.double()}
    assert_described(
        model.double(),
        dataclasses.replace(batch, **wide),
        lambda weights, row, node: naive.dygformer(
            weights,
            stream,
            row,
            node,
            model.attention.operator.p,
            TIME,
            2,
            heads,
            patch,
        )[:2],
    )


def test_the_number_of_parameters():
    stream = random_stream()  # 14 nodes
    model = build(stream, parse_operator("p1.00"), SETTINGS)
    shared = 2 * (8 * (8 + 8 + 6) + 8) + 3 * (8 * 8 + 8) + (8 * 32 + 8) + (8 + 1)
    shared += 14 * 8 + 8 + 3 * 16
    patches = 8 * 16 + 8 + 16
    layer = 4 * (8 * 8 + 8) + (8 * 32 + 32) + (32 * 8 + 8) + 2 * 16
    found = sum(parameter.numel() for parameter in model.parameters())
    assert found == shared + patches + 2 * layer


@pytest.mark.parametrize("heads", [1, 4])
def test_the_transformer_is_torchs(heads):
    torch.manual_seed(0)
    ours = shaken(Transformer(HIDDEN, heads, dropout=0.0, layers=2))
    layer = nn.TransformerEncoderLayer(
        HIDDEN, heads, 4 * HIDDEN, 0.0, "gelu", batch_first=True, norm_first=True
    )
    peer = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    peer.load_state_dict(ours.state_dict())
    valid = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1]]).bool()
    entries = torch.randn(3, 4, HIDDEN)
    slots = valid.flatten().nonzero().squeeze(1)
    found = ours(entries.flatten(0, 1)[slots], valid, slots)
    expected = peer(entries, src_key_padding_mask=~valid)[valid]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


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


def test_the_most_recent_event_ends_a_patch():
    stream = random_stream(depth=6)
    model = make_model(stream)
    batch = collect(stream, [0, 7, 23, 40, 59], stream.destination[:5, None])
    tokens = torch.randn(*batch.valid.shape, HIDDEN)
    tokens = torch.where(batch.valid.unsqueeze(-1), tokens, 0)
    encoded, mask = model.mix(tokens, batch)
    lengths = batch.valid.sum(1)
    assert lengths.tolist() == [0, 2, 3, 3, 6]
    assert mask.sum(-1).squeeze(1).tolist() == [0, 1, 2, 2, 3]
    # Two events of the same patch, exchanged, make another patch; whole patches,
    # exchanged, make the same ones elsewhere, for nothing but time tells their order.
    row = lengths == 6
    within = model.mix(tokens[:, [0, 1, 2, 3, 5, 4]], batch)[0][row]
    assert not torch.allclose(within, encoded[row], atol=1e-3)
    across = model.mix(tokens[:, [4, 5, 2, 3, 0, 1]], batch)[0][row]
    torch.testing.assert_close(across, encoded[row][:, [2, 1, 0]])


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
    assert torch.equal(logits, same), "the encoded patches know nothing of p"
    assert logits.shape == (len(ROWS), 2, 1, 3), "patches are attended to, not events"
    gain = lp_gain(logits, 1.1, mask)
    assert gain.max() > 1.05
    contexts = [reading.points["attention"] for reading in (softmax, power)]
    torch.testing.assert_close(contexts[1], gain * contexts[0])
    expected = (batch.valid.sum(1) + 1) // 2
    assert torch.equal(softmax.keys, expected.float()[:, None, None].expand(-1, 2, 1))


@pytest.mark.parametrize("layers", [0, 1])
def test_dropout_acts_in_every_layer_in_training_only(layers):
    stream = random_stream()
    torch.manual_seed(0)
    settings = SETTINGS | {"dropout": 0.5, "layers": layers}
    model = build(stream, parse_operator("p1.00"), settings)
    batch = collect(stream, ROWS, candidates(stream))
    tokens = torch.randn(*batch.valid.shape, HIDDEN)
    same = torch.equal(model.mix(tokens, batch)[0], model.mix(tokens, batch)[0])
    assert same == (layers == 0), "the patches themselves are not dropped out"
    model.eval()
    assert torch.equal(model(batch), model(batch))


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(UserError, match="3 heads do not divide hidden = 8"):
        build(random_stream(), parse_operator("p1.00"), SETTINGS | {"heads": 3})

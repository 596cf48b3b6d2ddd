"""DyGFormer against its description, and its transformer against torch's."""

from functools import partial

import pytest
import torch
from torch import nn

from maa.domains.ctdg.backbones.dygformer import Transformer
from maa.domains.ctdg.batches import collect
from maa.errors import UserError
from tests.domains.ctdg import forms, naive
from tests.domains.ctdg.describing import (
    ROWS,
    assert_described,
    candidates,
    doubled,
    shaken,
)
from tests.domains.ctdg.forms import HIDDEN, TIME
from tests.domains.ctdg.small_streams import random_stream

build = partial(forms.build, "dygformer")
make_model = partial(forms.make_model, "dygformer")


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
            naive.patches(weights, 2, heads, patch),
        )[:2],
    )


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


@pytest.mark.parametrize("layers", [0, 1])
def test_dropout_acts_in_every_layer_in_training_only(layers):
    stream = random_stream()
    model = build(stream, dropout=0.5, layers=layers)
    batch = collect(stream, ROWS, candidates(stream))
    tokens = torch.randn(*batch.valid.shape, HIDDEN)
    same = torch.equal(model.mix(tokens, batch)[0], model.mix(tokens, batch)[0])
    assert same == (layers == 0), "the patches themselves are not dropped out"
    model.eval()
    assert torch.equal(model(batch), model(batch))


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(UserError, match="3 heads do not divide hidden = 8"):
        build(random_stream(), heads=3)

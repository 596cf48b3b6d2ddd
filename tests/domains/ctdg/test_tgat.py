"""TGAT against its description, and its coordinates."""

from functools import partial

import pytest
import torch

from maa.domains.ctdg.batches import collect
from tests.domains.ctdg import forms, naive
from tests.domains.ctdg.describing import ROWS, assert_described, candidates
from tests.domains.ctdg.forms import TIME
from tests.domains.ctdg.small_streams import random_stream

make_model = partial(forms.make_model, "tgat")


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

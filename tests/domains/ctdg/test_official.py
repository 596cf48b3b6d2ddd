"""What holds for the official forms alike."""

import pytest
import torch

from maa.domains.ctdg.batches import collect
from tests.domains.ctdg.both_ends import later_changed
from tests.domains.ctdg.describing import ROWS, candidates
from tests.domains.ctdg.forms import build, make_model
from tests.domains.ctdg.small_streams import random_stream

FORMS = ("tgat", "craft", "dygformer", "graphmixer")


@pytest.mark.parametrize("form", FORMS)
def test_nothing_at_or_after_the_row_is_read(form):
    stream = random_stream(bipartite=False)
    changed = later_changed(stream, 40)
    asked = candidates(stream)[4:5]
    model = make_model(f"{form}_official", stream)
    scores = [model(model.gather(x, [40], asked)) for x in (stream, changed)]
    assert torch.equal(*scores)
    after = [model(model.gather(x, [59], asked)) for x in (stream, changed)]
    assert not torch.equal(*after)


@pytest.mark.parametrize("form", FORMS)
def test_dropout_acts_in_training_only(form):
    stream = random_stream()
    model = build(f"{form}_official", stream, dropout=0.5)
    batch = model.gather(stream, ROWS, candidates(stream))
    assert not torch.equal(model(batch), model(batch))
    model.eval()
    assert torch.equal(model(batch), model(batch))


POINTS = {
    "tgat": ["attention", "residual", "norm", "z"],
    "graphmixer": ["attention", "z"],
}


@pytest.mark.parametrize(("form", "points"), POINTS.items())
def test_the_predictor_reads_z_alone_and_points_lead_to_it(form, points):
    stream = random_stream()
    model = make_model(f"{form}_official", stream)
    batch = model.gather(stream, ROWS, candidates(stream))
    reading = model.read(batch)
    assert reading.z.shape == (len(ROWS), 2, 12)
    assert torch.equal(model.predict(reading.z), model(batch))
    assert list(reading.points) == points
    assert torch.equal(reading.points["z"], reading.z)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("tgat", "expected a TwoHopBatch, got Batch"),
        ("graphmixer", "expected a MetBatch, got Batch"),
        ("dygformer", "DyGFormer reads what its own `gather` returns"),
    ],
)
def test_a_batch_of_the_reference_forms_is_refused(form, message):
    stream = random_stream()
    with pytest.raises(TypeError, match=message):
        make_model(f"{form}_official", stream)(
            collect(stream, ROWS, candidates(stream))
        )

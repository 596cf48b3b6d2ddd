"""Representations: order, completeness, and that they are the model's own."""

import numpy as np
import pytest
import torch

from maa.attention import parse_operator
from maa.domains import load_backbone
from maa.domains.ctdg import scoring
from maa.domains.ctdg.batches import collect
from maa.domains.ctdg.fit import initialise
from maa.domains.ctdg.represent import represent
from maa.errors import UserError
from maa.files import write_tensors
from tests.domains.ctdg.small_streams import random_stream

MODEL = {"hidden": 8, "time_dim": 4, "dropout": 0.5}
SETTINGS = {"coordinates_p": 1.1, "device": "cpu", "model": MODEL}
TGAT = load_backbone("ctdg", "tgat")


@pytest.fixture
def trained(tmp_path):
    """Return a stream, a model, and the paths of both."""
    stream = random_stream()
    model = initialise(stream, TGAT, parse_operator("p1.10"), 7, MODEL).eval()
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    paths = tmp_path / "stream.safetensors", tmp_path / "model.safetensors"
    stream.save(paths[0])
    write_tensors(paths[1], weights, {"backbone": "tgat", "operator": "p1.10"})
    return stream, model, *paths


@pytest.mark.parametrize("rows_at_once", [1, 4, 512])
def test_every_query_in_order(trained, monkeypatch, rows_at_once):
    stream, model, stream_path, model_path = trained
    monkeypatch.setattr(scoring, "ROWS_AT_ONCE", rows_at_once)
    found = represent(stream_path, model_path, TGAT, parse_operator("p1.10"), SETTINGS)
    for part in ("validation", "test"):
        queries = stream.queries(part)
        assert found[f"{part}_z"].shape == (len(queries.row), 32)
        assert found[f"{part}_c"].shape == (len(queries.row), 2)
        depths = (stream.history[queries.row] >= 0).sum(1, keepdims=True)
        np.testing.assert_array_equal(found[f"{part}_keys"], depths)
        for index, (row, node) in enumerate(
            zip(queries.row, queries.destination, strict=True)
        ):
            with torch.no_grad():
                one = model.encode(collect(stream, [row], [[node]]), 1.1)
            for name, value in (
                ("z", one.z[0, 0]),
                ("c", one.coordinates[0, 0]),
                ("score", one.score[0, 0]),
            ):
                array = found[f"{part}_{name}"]
                assert array.dtype == np.float32
                np.testing.assert_allclose(array[index], value, rtol=1e-5, atol=1e-5)


def test_the_same_model_gives_the_same_bytes(trained, tmp_path):
    _, _, stream_path, model_path = trained
    files = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    for file in files:
        operator = parse_operator("p1.10")
        read = represent(stream_path, model_path, TGAT, operator, SETTINGS)
        write_tensors(file, read)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_another_arms_model_is_a_users_error(trained):
    _, _, stream_path, model_path = trained
    with pytest.raises(
        UserError, match=r"trained with the operator p1\.10, not p1\.00"
    ):
        represent(stream_path, model_path, TGAT, parse_operator("p1.00"), SETTINGS)


def test_a_model_of_another_size_is_a_users_error(trained):
    _, _, stream_path, model_path = trained
    settings = SETTINGS | {"model": MODEL | {"hidden": 16}}
    with pytest.raises(UserError, match=r"another model: .* is \(8,\) where \(16,\)"):
        represent(stream_path, model_path, TGAT, parse_operator("p1.10"), settings)


def test_scoring_leaves_the_models_mode_alone(trained):
    stream, model, *_ = trained
    rows = stream.rows("test")
    still = scoring.score(model, stream, rows, stream.destination[rows, None])
    model.train()
    again = scoring.score(model, stream, rows, stream.destination[rows, None])
    assert model.training
    np.testing.assert_array_equal(still, again)

"""Tracing the scale: planted ways from attention to Z, and a real one."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maa.attention import lp_gain, parse_operator
from maa.domains import load_backbone
from maa.domains.ctdg.backbones.layers import Backbone, Reading
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.fit import initialise
from maa.domains.ctdg.represent import represent
from maa.domains.ctdg.targets import compute
from maa.domains.ctdg.trace import Passage, describe, follow, trace
from maa.errors import UserError
from maa.files import read_table, write_table, write_tensors
from maa.probes.recovery import recover
from maa.probes.settings import ProbeSettings
from maa.probes.split import constant_targets, split_at
from tests.domains.ctdg.small_streams import random_stream

ROOT = Path(__file__).resolve().parents[3]
MODEL = {"hidden": 8, "time_dim": 4, "dropout": 0.5}
SETTINGS = {"coordinates_p": 1.1, "device": "cpu", "model": MODEL}
PROBE = ProbeSettings()
TGAT = load_backbone("ctdg", "tgat")


def value(table: pd.DataFrame, point: str, measure: str, target: str = "") -> float:
    found = table.query("point == @point and measure == @measure and target == @target")
    assert len(found) == 1
    return float(found.value.iloc[0])


# ------------------------------------------------------------------------------------
# measures by hand


def passage(**points: list[list[float]]) -> Passage:
    """Gains of 1, 2, 4 and 8 for 1, 2, 3 and 4 keys, twice, and two without keys."""
    gain = np.log([1, 2, 4, 8, 1, 2, 4, 8, 1, 1])
    length = np.log([1, 2, 3, 4, 1, 2, 3, 4, 1, 1])
    read = np.arange(10) < 8
    arrays = {name: np.array(rows, np.float32) for name, rows in points.items()}
    return Passage(arrays, gain, length, read)


SCALED = [[3.0 * g, 4.0 * g] for g in (1, 2, 4, 8, 1, 2, 4, 8)] + [[0, 0], [0, 0]]
TARGETS = pd.DataFrame({"gain": [1, 2, 4, 8, 1, 2, 4, 8, 0, 0], "still": [5.0] * 10})
ALL_BUT_TWO = ProbeSettings(train_fraction=0.6, ridge_alpha=1e-9)


def test_norms_and_correlations_by_hand():
    inverse = [[0.0, 1 / g] for g in (1, 2, 4, 8, 1, 2, 4, 8)] + [[7.0, 7.0]] * 2
    turned = [[np.sin(k), np.cos(k)] for k in range(10)]
    ways = passage(scaled=SCALED, inverse=inverse, turned=turned)
    table = describe(ways, TARGETS.astype(float), ALL_BUT_TWO)
    assert value(table, "scaled", "norm") == pytest.approx(5 * 15 / 4)
    assert value(table, "scaled", "norm_gain_correlation") == pytest.approx(1)
    assert value(table, "inverse", "norm_gain_correlation") == pytest.approx(-1)
    # log gains 0, 1, 2, 3 (times log 2) against logs of 1, 2, 3, 4
    expected = np.corrcoef([0, 1, 2, 3], np.log([1, 2, 3, 4]))[0, 1]
    assert value(table, "scaled", "norm_length_correlation") == pytest.approx(expected)
    assert value(table, "gain", "gain_length_correlation") == pytest.approx(expected)
    # all of length 1 but for float32's rounding, which tells nothing
    assert value(table, "turned", "norm_gain_correlation") == 0
    assert value(table, "turned", "norm") == pytest.approx(1)
    assert value(table, "gain", "gain") == pytest.approx(15 / 4)
    assert value(table, "gain", "gain_sd") == pytest.approx(np.std([1, 2, 4, 8]))


def test_points_keep_their_order_and_constant_targets_are_left_out():
    ways = passage(later=SCALED, earlier=SCALED)
    table = describe(ways, TARGETS.astype(float), ALL_BUT_TWO)
    order = table.drop_duplicates("point").set_index("point").order
    assert order.to_dict() == {"gain": -1, "later": 0, "earlier": 1}
    assert table.query("measure == 'r2_linear'").target.tolist() == ["gain", "gain"]


def test_the_probe_reads_queries_without_keys_too():
    # fitted on six queries, scored on gains 4, 8, 0, 0, all of which are linear
    table = describe(passage(scaled=SCALED), TARGETS.astype(float), ALL_BUT_TWO)
    assert value(table, "scaled", "r2_linear", "gain") == pytest.approx(1)


# ------------------------------------------------------------------------------------
# planted models


class Planted(Backbone):
    """Attention in one direction and of the gain's length, and what comes after it."""

    def __init__(self, erases: bool) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.tensor([1.0, -2.0, 0.5, 3.0]))
        self.erases = erases

    def read(self, batch: Batch) -> Reading:
        rows, candidates = batch.destination.shape
        mask = batch.mask.unsqueeze(1)
        logits = torch.zeros(rows, candidates, 2, batch.valid.shape[1])
        gain = lp_gain(logits, 2.0, mask).mean(-1, keepdim=True)
        context = gain * self.direction
        after = F.layer_norm(context, (4,)) if self.erases else 3 * context
        keys = mask.sum(-1).float().expand(rows, candidates, 1)
        points = {"attention": context, "after": after, "z": after}
        return Reading(after, [(logits, mask)], keys, points)

    def predict(self, z: Tensor) -> Tensor:
        return z.sum(-1)


@pytest.mark.parametrize("erases", [True, False])
def test_a_layer_norm_erases_the_scale_and_a_linear_map_does_not(erases):
    stream = random_stream(400, depth=100)
    queries = stream.queries("test")
    way = follow(Planted(erases), stream, queries, p=2.0)
    history = stream.history[queries.row]
    keys = (history >= 0).sum(axis=1)
    np.testing.assert_allclose(way.gain, np.log(np.maximum(keys, 1)) / 2, atol=1e-6)
    np.testing.assert_allclose(way.length, np.log(np.maximum(keys, 1)), atol=1e-12)
    targets = pd.DataFrame({"root": np.sqrt(keys)})
    table = describe(way, targets, ProbeSettings(ridge_alpha=1e-3))
    assert value(table, "attention", "norm_gain_correlation") == pytest.approx(1)
    assert value(table, "attention", "r2_linear", "root") > 0.99
    kept = 0 if erases else 1
    for point in ("after", "z"):
        for with_what in ("gain", "length"):
            found = value(table, point, f"norm_{with_what}_correlation")
            assert found == pytest.approx(kept)
        recovered = value(table, point, "r2_linear", "root")
        assert recovered > 0.99 if not erases else recovered < 0.1


# ------------------------------------------------------------------------------------
# a real backbone, from files


@pytest.fixture
def files(tmp_path):
    """Return the paths of a stream, an untrained model and the targets."""
    stream = random_stream(300)
    model = initialise(stream, TGAT, parse_operator("p1.10"), 7, MODEL).eval()
    weights = {name: part.numpy() for name, part in model.state_dict().items()}
    paths = [tmp_path / name for name in ("stream.safetensors", "model.safetensors")]
    stream.save(paths[0])
    write_tensors(paths[1], weights, {"backbone": "tgat", "operator": "p1.10"})
    targets = tmp_path / "targets.parquet"
    write_table(targets, compute(stream))
    return *paths, targets


def test_the_last_point_is_what_the_probes_read(files):
    operator = parse_operator("p1.10")
    table = trace(*files, TGAT, operator, SETTINGS | {"probe": {}})
    targets = read_table(files[2]).query("part == 'test'")
    names = table.query("point == 'z' and measure == 'r2_linear'").target.tolist()
    assert "homophily" not in names  # constant on a bipartite stream
    truth = targets[names].to_numpy()
    assert not constant_targets(truth, split_at(len(truth), 0.7)).any()
    assert len(names) >= 6
    tensors = represent(*files[:2], TGAT, operator, SETTINGS)
    inputs = tensors["test_z"].astype(np.float64)
    expected = recover("linear", inputs, truth, PROBE, seed=0)
    found = [value(table, "z", "r2_linear", name) for name in names]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    # columns of c are log||m||_1 and log||m||_p, so their difference is log g
    gain = np.exp(tensors["test_c"][:, 0] - tensors["test_c"][:, 1])
    assert value(table, "gain", "gain") == pytest.approx(gain.mean(), rel=1e-5)


def test_the_script_writes_what_the_stage_returns_and_twice_the_same(files, tmp_path):
    settings = SETTINGS | {"probe": {"ridge_alpha": 2.0}}
    run = "domain=ctdg,dataset=small,backbone=tgat,operator=p1.10,seed=7"
    named = zip(("--stream", "--model", "--targets"), map(str, files), strict=True)
    options = ["--run", run, "--settings", json.dumps(settings)]
    options += [part for pair in named for part in pair]
    script = [sys.executable, "workflow/scripts/trace.py", *options]
    output = tmp_path / "trace.parquet"
    subprocess.run([*script, "--output", str(output)], cwd=ROOT, check=True)
    table = trace(*files, TGAT, parse_operator("p1.10"), settings)
    pd.testing.assert_frame_equal(read_table(output), table, check_dtype=False)


def test_targets_of_another_stream_are_a_users_error(files):
    write_table(files[2], compute(random_stream(200)))
    with pytest.raises(UserError, match="120 test queries where the stream has 180"):
        trace(*files, TGAT, parse_operator("p1.10"), SETTINGS | {"probe": {}})

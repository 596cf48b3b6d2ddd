"""Reading a trained model: errors, margins, representations, traces and baselines."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from maa.attention import parse_operator
from maa.domains import load_backbone
from maa.domains.traffic.backbones.layers import Record
from maa.domains.traffic.baselines import historical_average, last_value, linear
from maa.domains.traffic.behave import behave, departures
from maa.domains.traffic.fit import fit
from maa.domains.traffic.jacobian import step_influence
from maa.domains.traffic.metrics import by_horizon, masked_errors
from maa.domains.traffic.paths import bias_of, layer_of, path_norms
from maa.domains.traffic.reading import restore
from maa.domains.traffic.represent import represent
from maa.domains.traffic.series import Series
from maa.domains.traffic.targets import compute
from maa.domains.traffic.trace import spaced, trace
from maa.domains.traffic.utility import utility
from maa.errors import UserError
from maa.files import read_table, write_table, write_tensors
from tests.conftest import ROOT
from tests.domains.traffic.small import FIT, MODEL, hand_made, series

CORRECTED = load_backbone("traffic", "corrected")
MASKED = parse_operator("p1.10-diagonal-mask")
READ = {"device": "cpu", "model": MODEL, "coordinates_p": 1.1, "seed": 3}
TRACE = READ | {"windows": 2, "jacobian_windows": 1, "probes": 2, "probe": {}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Paths of a series, a model that was trained on it, and its targets."""
    folder = tmp_path_factory.mktemp("run")
    paths = [folder / name for name in ("s.safetensors", "m.safetensors", "t.parquet")]
    prepared = series(days=6)
    prepared.save(paths[0])
    fitted = fit(paths[0], CORRECTED, MASKED, 7, FIT, report=lambda line: None)
    write_tensors(paths[1], fitted.weights, {"operator": MASKED.name})
    write_table(paths[2], compute(prepared))
    return paths


# ------------------------------------------------------------------------------------
# errors


def test_masked_errors_by_hand():
    truth = np.array([10.0, 0.0, 20.0], np.float32)
    found = masked_errors(np.array([13.0, 99.0, 16.0], np.float32), truth)
    assert found["mae"] == pytest.approx(3.5)
    assert found["rmse"] == pytest.approx(np.sqrt((9 + 16) / 2))
    assert found["mape"] == pytest.approx(100 * (0.3 + 0.2) / 2)
    assert np.isnan(masked_errors(truth, 0 * truth)["mae"])


def test_errors_are_of_the_step_that_is_named():
    truth = np.full((2, 12, 3), 50, np.float32)
    predicted = truth + np.arange(1, 13, dtype=np.float32)[:, None]
    truth[0, 5, 0] = 0
    table = by_horizon(predicted, truth, "_x").set_index("measure")
    assert [table.value[f"mae_{step}_x"] for step in (3, 6, 12)] == [3, 6, 12]
    assert table.queries["mae_6_x"] == 5 and table.queries["mae_12_x"] == 6
    assert table.value["mae_x"] == pytest.approx((6 * 78 - 6) / 71)
    assert "mae_24_x" not in table.index


def test_utility_measures_both_weights(files):
    how = (*files[:2], CORRECTED, MASKED, READ)
    table = utility(*how).set_index("measure")
    for suffix, kept in (("", "last"), ("_best", "best")):
        trained = restore(*how, 1, kept)
        predicted = trained.predict(trained.windows.starts("test"))
        truth = trained.series.outputs("test")
        expected = masked_errors(predicted[:, 2], truth[:, 2])
        assert table.value[f"rmse_3{suffix}"] == pytest.approx(expected["rmse"])
        assert f"validation_mae{suffix}" in table.index
    assert np.isfinite(table.value).all()


# ------------------------------------------------------------------------------------
# baselines and margins


def column(values):
    return [[float(value), 60.0 - step % 2] for step, value in enumerate(values)]


def test_the_last_known_value_is_repeated():
    speeds = [60, 50, 40, 30, 20, 10, 60, 60, 0, 0, 50, 50, 45, 0, 50, 50]
    made = hand_made(column(speeds))
    assert last_value(made, "test")[0, :, 0].tolist() == [45, 45]
    # nothing is known in the validation window: the training mean
    assert last_value(made, "validation")[0, :, 0].tolist() == [made.mean[0]] * 2


def test_the_historical_average_by_hand():
    # a week has 21 steps of eight hours; the second week and what is after repeat it
    second = [0 if slot == 5 else 32 + slot for slot in range(21)]
    speeds = [*range(30, 51), *second, *range(40, 61), *range(40, 61)]
    made = hand_made(column(speeds), validation_fraction=0.25, test_fraction=0.25)
    assert made.train_end == 42
    found = historical_average(made, "validation")
    # steps 42 and 43 are read, 44 and 45 predicted: slots 2 and 3 of the week
    assert found[0, :, 0].tolist() == [(32 + 34) / 2, (33 + 35) / 2]
    # slot 5 has one known value: the zero of the second week does not count
    assert found[2, :, 0].tolist() == [(34 + 36) / 2, 35]


def test_ridge_finds_a_line():
    steps = np.arange(400)[:, None]
    speeds = 40 + 10 * np.sin(steps / 5 + np.array([0, 1]))
    speeds[[350, 371]] = 0  # in the test part: what is missing must not mislead
    made = hand_made(speeds.tolist(), validation_fraction=0.1, test_fraction=0.2)
    errors = [
        masked_errors(forecast(made, "test"), made.outputs("test"))["mae"]
        for forecast in (linear, last_value)
    ]
    assert errors[0] < 0.3 * errors[1]


def test_departures_by_hand():
    truth = np.array([[[50.0], [0.0], [40.0]]], np.float32)
    last = np.full_like(truth, 45)
    predicted = np.array([[[46.0], [47.0], [49.0]]], np.float32)
    table = departures(predicted, truth, last).set_index("measure")
    assert table.value.to_dict() == {"departure_3": 4, "departure_3_truth": 5}


def test_behaviour_of_a_trained_model(files):
    how = (*files[:2], CORRECTED, MASKED, READ)
    table, again = behave(*how), behave(*how)
    pd.testing.assert_frame_equal(table, again)
    values = table.set_index("measure").value
    assert np.isfinite(values).all()
    made = Series.load(files[0])
    truth = made.outputs("test")
    assert values["mae_12_last_value"] == pytest.approx(
        masked_errors(last_value(made, "test")[:, 11], truth[:, 11])["mae"]
    )


def test_one_test_window_cannot_be_exchanged(files, tmp_path):
    path = tmp_path / "s.safetensors"
    series(days=6, query_stride=400).save(path)
    with pytest.raises(UserError, match="test part has 1 window, which cannot be"):
        behave(path, files[1], CORRECTED, MASKED, READ)


# ------------------------------------------------------------------------------------
# representations and traces


def test_representations_go_with_the_targets(files):
    tensors = represent(*files[:2], CORRECTED, MASKED, READ)
    table = read_table(files[2])
    made = Series.load(files[0])
    for part in ("validation", "test"):
        queries = (table.part == part).sum()
        z, c = tensors[f"{part}_z"], tensors[f"{part}_c"]
        assert z.shape == (queries, 12 * (MODEL["hidden"] + 1))
        assert c.shape == (queries, MODEL["depth"] * MODEL["heads"] * 2)
        assert (tensors[f"{part}_keys"] == 12).all()
        # the last column of each step is its time of day, the same for all sensors
        times = z.reshape(queries, 12, -1)[:, :, -1]
        rows = made.starts(part)[:, None] + np.arange(12)
        np.testing.assert_allclose(times[::3], made.day_time[rows], rtol=1e-6)
    trained = restore(*files[:2], CORRECTED, MASKED, READ, 1)
    mean = trained.predict(trained.windows.starts("test")).mean(axis=1)
    np.testing.assert_allclose(tensors["test_score"], mean.reshape(-1), rtol=1e-5)


def test_coordinates_are_those_of_the_logits(files):
    c = represent(*files[:2], CORRECTED, MASKED, READ)["test_c"].astype(float)
    first, second = c[:, 0::2], c[:, 1::2]
    # log ||m||_1 is at least log ||m||_p, and at most log T
    assert (first >= second).all() and first.max() <= np.log(12) and second.min() >= 0


def test_the_trace_of_a_masked_diagonal(files):
    table = trace(*files, CORRECTED, MASKED, TRACE)
    assert list(table.columns) == ["point", "order", "measure", "target", "value"]
    assert np.isfinite(table.value).all()
    rows = table.set_index(["point", "measure", "target"]).value.sort_index()
    for block in ("block01", "block02"):
        assert rows[block, "diagonal", ""] == rows[block, "entropy_binary", ""] == 0
        assert rows[block, "entropy", ""] == pytest.approx(
            rows[block, "entropy_rest", ""]
        )
        # the own key is the only one that is not replicated: without it nothing is left
        assert rows[block, "elasticity", ""] == pytest.approx(0, abs=1e-9)
        assert rows[block, "elasticity_p", ""] == pytest.approx(1 - 1 / 1.1)
        assert rows[block, "gain", ""] == pytest.approx(
            rows[block, "applied_gain", ""], rel=1e-5
        )
        assert rows[block, "jacobian_own", "value"] == 0
        assert rows[block, "jacobian_own", "all"] > 0
        assert rows[block, "jacobian_others", "value"] > 0
    for point in ("attention_last", "attention_last_train", "attention_mean"):
        matrix = rows[point, "weight"]
        assert len(matrix) == 144 and matrix["3,3"] == 0 and matrix["3,4"] > 0
    total = rows["attention_last", "weight"].sum() / 12
    assert total == pytest.approx(rows["block02", "applied_gain", ""], rel=1e-5)
    assert len(rows["influence", "jacobian_norm"]) == 144
    probed = table[table.measure == "r2_linear"]
    assert set(probed.point) == {"window", "block01", "block02"}
    assert {"window_onsets", "mean_speed"} <= set(probed.target)
    window = probed[probed.point == "window"].set_index("target").value
    assert window["mean_speed"] > 0.8  # but for missing values, a line in the window


@pytest.mark.parametrize(
    "name", ["p1.00", "p1.30", "p1.10-diagonal-mask", "diagonal-penalty0.50"]
)
@pytest.mark.parametrize("form", ["released", "released-no-residual"])
def test_paths_add_up_to_what_autograd_finds(name, form):
    operator = parse_operator(name)
    torch.manual_seed(1)
    model = load_backbone("traffic", form).build(series(days=4), operator, MODEL).eval()
    speed, times = torch.randn(3, 1, 12), torch.rand(1, 12)
    record = Record()
    model.read(speed, times, record)
    found = path_norms(model, operator, speed, times)
    assert len(found) == MODEL["depth"]
    for block, read, rows in zip(model.blocks, record.inputs, found, strict=True):
        tokens = read.flatten(0, 1).detach()
        attention = block.attention

        def attend(x, attention=attention, block=block):
            output = attention(x.unsqueeze(0))[0][0]
            return output + x if block.residual else output

        closed = layer_of(block, operator.p)(tokens, bias_of(operator, tokens))
        plain = torch.stack([attend(one) for one in tokens])
        torch.testing.assert_close(closed, plain, rtol=1e-4, atol=1e-5)
        whole = torch.stack(
            [torch.autograd.functional.jacobian(attend, one) for one in tokens]
        )  # [N, T, h, T, h]
        sizes = whole.square().sum((2, 4)).sqrt()
        own = torch.diagonal(sizes, dim1=1, dim2=2)
        expected = {
            ("jacobian_own", "all"): own.mean(),
            ("jacobian_others", "all"): (sizes.sum() - own.sum()) / (3 * 12 * 11),
        }
        told = {(measure, path): value for measure, path, value in rows}
        for key, value in expected.items():
            assert told[key] == pytest.approx(float(value), rel=1e-3)
        if operator.diagonal == "mask":
            assert told["jacobian_own", "value"] == told["jacobian_own", "key"] == 0
            assert told["jacobian_own", "query"] > 0


def test_what_is_no_norm_has_no_paths():
    operator = parse_operator("sigmoid")
    model = CORRECTED.build(series(days=4), operator, MODEL).eval()
    assert path_norms(model, operator, torch.randn(3, 1, 12), torch.rand(1, 12)) == []


def test_the_trace_repeats_itself(files):
    first, second = (trace(*files, CORRECTED, MASKED, TRACE) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


class Planted(nn.Module):
    """Outputs that mix sensors and steps by known matrices."""

    def __init__(self, sensors: int, steps: int, ahead: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        shape = (ahead, sensors, steps, sensors)
        self.mixing = torch.randn(shape, generator=generator)

    def forward(self, speed, day_time):
        return torch.einsum("onim,mbi->nbo", self.mixing, speed)


def test_probes_estimate_the_norm_of_a_known_jacobian():
    model = Planted(sensors=4, steps=3, ahead=2)
    speed, times = torch.randn(4, 5, 3), torch.zeros(5, 3)
    found = step_influence(model, speed, times, probes=400, seed=1)
    expected = model.mixing.square().sum((1, 3)).sqrt()
    np.testing.assert_allclose(found, expected, rtol=0.05)


def test_one_sensor_needs_one_probe():
    model = Planted(sensors=1, steps=3, ahead=2)
    found = step_influence(model, torch.randn(1, 2, 3), torch.zeros(2, 3), 1, 0)
    np.testing.assert_allclose(found, model.mixing[:, 0, :, 0].abs(), rtol=1e-5)


def test_windows_are_spaced_evenly():
    starts = torch.arange(10)
    assert spaced(starts, 3).tolist() == [0, 4, 8]
    assert spaced(starts, 99).tolist() == starts.tolist()


# ------------------------------------------------------------------------------------
# what is refused


def test_another_operator_or_model_is_refused(files):
    plain = parse_operator("p1.00")
    with pytest.raises(UserError, match=r"the operator p1\.10-diagonal-mask, not"):
        restore(*files[:2], CORRECTED, plain, READ, 1)
    wider = READ | {"model": MODEL | {"hidden": 16}}
    with pytest.raises(UserError, match="holds another model"):
        restore(*files[:2], CORRECTED, MASKED, wider, 1)


def test_targets_of_another_series_are_refused(files, tmp_path):
    other = tmp_path / "t.parquet"
    write_table(other, compute(series(days=4)))
    with pytest.raises(UserError, match=r"test queries where the series has"):
        trace(*files[:2], other, CORRECTED, MASKED, TRACE)


@pytest.mark.parametrize(
    ("backbone", "operator", "message"),
    [
        ("linear", "p1.00", "domain 'traffic' has no backbone 'linear'"),
        ("released", "diagonal", "operator 'diagonal' is unknown"),
    ],
)
def test_a_users_error_is_one_sentence(files, tmp_path, backbone, operator, message):
    outputs = ["--model", str(tmp_path / "m"), "--curve", str(tmp_path / "c")]
    run = f"domain=traffic,dataset=x,backbone={backbone},operator={operator},seed=7"
    command = [sys.executable, str(ROOT / "workflow/scripts/train.py"), "--run", run]
    command += ["--stream", str(files[0]), "--settings", json.dumps(FIT), *outputs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"error: {message}")

"""Training: rates, patience, errors, slices, seeds; and that it learns."""

import math

import numpy as np
import pytest
import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from maa.attention import parse_operator
from maa.domains import load_backbone
from maa.domains.traffic.fit import Step, fit, initialise, summed_error, train
from maa.domains.traffic.metrics import masked_errors
from maa.domains.traffic.reading import Trained
from maa.domains.traffic.schedule import LOWEST, Patience, learning_rate
from maa.domains.traffic.windows import Windows
from maa.errors import UserError
from maa.files import write_tensors
from tests.domains.traffic.small import FIT, MODEL, series

RELEASED = load_backbone("traffic", "released")
STILL = MODEL | {"dropout": 0.0}


def made(operator="p1.00", model=MODEL, prepared=None, backbone=RELEASED, seed=7):
    prepared = prepared or series()
    built = initialise(prepared, backbone, parse_operator(operator), seed, model)
    return built, Windows(prepared)


def test_the_rate_is_that_of_torchs_schedules():
    optimiser = SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.001)
    schedules = [
        LinearLR(optimiser, 0.1, 1.0, total_iters=5),
        CosineAnnealingLR(optimiser, 145, eta_min=LOWEST),
    ]
    schedule = SequentialLR(optimiser, schedules, milestones=[5])
    for epoch in range(150):
        rate = learning_rate(epoch, 150, 5, 0.001)
        assert rate == pytest.approx(schedule.get_last_lr()[0], rel=1e-6)
        optimiser.step()
        schedule.step()


def test_a_schedule_of_fewer_epochs_than_its_warm_up_only_grows():
    rates = [learning_rate(epoch, 3, 5, 1.0) for epoch in range(3)]
    assert rates == pytest.approx([0.1, 0.4, 0.7])


def test_patience_by_hand():
    patience = Patience(epochs=2, least=0.1)
    losses = [5.0, 4.0, 3.95, 3.8, 3.75, 3.72]
    # 3.95 falls by too little; 3.8 by enough; then two that do not
    assert [patience.exhausted(loss) for loss in losses] == [False] * 5 + [True]


def test_the_loss_is_the_error_in_mph_of_known_targets():
    model, windows = made(model=STILL)
    data = windows.at(windows.starts("train")[:4])
    predicted = windows.in_mph(model(data.speed, data.day_time))
    series_ = windows.series
    by_hand = predicted.detach().numpy().transpose(1, 2, 0)
    truth = series_.outputs("train")[:4]
    known = truth != 0
    assert (~known).sum() > 0
    total = np.abs(by_hand - truth)[known].sum()
    found = summed_error(model, windows, data, FIT).detach()
    assert float(found) == pytest.approx(total, rel=1e-5)
    mean = masked_errors(by_hand, truth)["mae"]
    assert mean == pytest.approx(total / known.sum(), rel=1e-5)


def test_slices_of_a_batch_add_up_to_the_batch():
    weights = []
    for sequences in (3, 10_000):
        model, windows = made(model=STILL)
        step = Step(model, windows, 7, FIT | {"sequences": sequences})
        starts = windows.starts("train")[:8]
        _, count = step.batch(starts).tolist()
        weights.append([parameter.grad.clone() for parameter in model.parameters()])
        assert count == (windows.series.outputs("train")[:8] != 0).sum()
    for first, second in zip(*weights, strict=True):
        torch.testing.assert_close(first, second, atol=1e-6, rtol=1e-4)


def test_the_same_run_twice_gives_the_same_bytes(tmp_path):
    path = tmp_path / "series.safetensors"
    series().save(path)
    how = (path, RELEASED, parse_operator("diagonal-dropout-weights0.20"), 7, FIT)
    first, second = (fit(*how, report=lambda line: None) for _ in range(2))
    for name, run in (("a", first), ("b", second)):
        write_tensors(tmp_path / name, run.weights)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert first.curve.equals(second.curve)
    assert list(first.curve) == ["epoch", "loss", "validation_loss", "learning_rate"]
    kept = {name.split(".")[0] for name in first.weights}
    assert kept == {"last", "best"} and len(first.weights) % 2 == 0


def test_operators_share_order_initialisation_and_dropout():
    starts = {}
    for name in ("p1.00", "p1.10", "diagonal-mask", "diagonal-dropout0.20"):
        model, windows = made(name)
        starts[name] = [parameter.clone() for parameter in model.parameters()]
        Step(model, windows, 7, FIT).batch(windows.starts("train")[:8])
        starts[name].append(torch.rand(3))  # the stream of dropout after the step
    for name in starts:
        for ours, plain in zip(starts[name], starts["p1.00"], strict=True):
            torch.testing.assert_close(ours, plain, rtol=0, atol=0)


def test_a_drop_of_nothing_is_no_regulariser_bit_by_bit():
    results = []
    for name in ("p1.00", "diagonal-dropout0.00", "diagonal-penalty0.00"):
        model, windows = made(name)
        _, curve = train(model, windows, 7, FIT, report=lambda line: None)
        results.append(curve.loss.tolist())
    assert results[0] == results[1] == pytest.approx(results[2], rel=1e-5)


def test_the_best_weights_are_those_of_the_best_epoch():
    model, windows = made()
    settings = FIT | {"epochs": 6, "learning_rate": 0.3, "clip": 100.0}
    best, curve = train(model, windows, 7, settings, report=lambda line: None)
    last = model.state_dict()
    assert curve.validation_loss.idxmin() < 5
    assert any(not torch.equal(best[name], last[name]) for name in best)
    model.load_state_dict(best)
    trained = Trained(model.eval(), windows)
    found = trained.predict(windows.starts("validation"))
    error = masked_errors(found, windows.series.outputs("validation"))["mae"]
    assert error == pytest.approx(curve.validation_loss.min(), rel=1e-4)


def test_it_stops_early():
    model, windows = made()
    settings = FIT | {"epochs": 30, "patience": 2, "least_progress": 100.0}
    lines = []
    _, curve = train(model, windows, 7, settings, report=lines.append)
    # the first epoch is progress from nothing, the two after it are not
    assert len(curve) == 3 and "stopped" in lines[-1]


def test_it_learns_more_than_the_mean():
    prepared = series(days=8)
    model, windows = made(prepared=prepared)
    settings = FIT | {"epochs": 12, "learning_rate": 0.01}
    _, curve = train(model, windows, 7, settings, report=lambda line: None)
    truth = prepared.outputs("validation")
    constant = masked_errors(np.broadcast_to(prepared.mean, truth.shape), truth)["mae"]
    assert curve.validation_loss.iloc[-1] < 0.9 * constant


def test_divergence_is_one_sentence():
    model, windows = made()
    with torch.no_grad():
        model.embed.weight[0] = math.nan
    with pytest.raises(
        UserError, match="training diverged: the loss of epoch 1 is nan"
    ):
        train(model, windows, 7, FIT, report=lambda line: None)


def test_half_precision_is_an_option():
    model, windows = made(model=STILL)
    data = windows.at(windows.starts("train")[:4])
    exact, rough = (
        float(summed_error(model, windows, data, FIT | {"autocast": on}).detach())
        for on in (False, True)
    )
    assert rough != exact and rough == pytest.approx(exact, rel=0.02)


def test_longer_windows():
    prepared = series(input_length=36, output_length=36, stride=72, query_stride=72)
    model, windows = made(prepared=prepared)
    _, curve = train(model, windows, 7, FIT, report=lambda line: None)
    assert len(curve) == 2
    data = windows.at(windows.starts("test"))
    assert model(data.speed, data.day_time).shape[-1] == 36

"""Training: its loss, its random streams, and that it learns and repeats itself."""

import math

import numpy as np
import pytest
import torch

from maa.attention import parse_operator
from maa.domains import load_backbone
from maa.domains.ctdg.batches import collect
from maa.domains.ctdg.fit import (
    adamw,
    bpr,
    epoch_data,
    fit,
    initialise,
    steps,
    train,
    validation_auc,
)
from maa.domains.ctdg.negatives import training_negatives
from maa.errors import UserError
from maa.files import write_table, write_tensors
from maa.seeds import derive, generator
from tests.domains.ctdg.small_streams import habitual_stream, random_stream

MODELS = {
    "tgat": {"hidden": 8, "time_dim": 4, "dropout": 0.1},
    "craft": {
        "hidden": 8,
        "layers": 2,
        "heads": 2,
        "dropout": 0.1,
        "embedding_dropout": 0.1,
        "attention_dropout": 0.5,
    },
}
TRAINING = {
    "epochs": 2,
    "batch_size": 8,
    "learning_rate": 0.01,
    "weight_decay": 1e-5,
    "device": "cpu",
}


def without_dropout(backbone):
    return {k: 0.0 if "dropout" in k else v for k, v in MODELS[backbone].items()}


def start(stream, backbone="tgat", operator="p1.00", seed=7, model=None):
    module = load_backbone("ctdg", backbone)
    settings = MODELS[backbone] if model is None else model
    return initialise(stream, module, parse_operator(operator), seed, settings)


def silent(line):
    assert line


def test_bpr_by_hand():
    loss = bpr(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2))) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("backbone", ["tgat", "craft"])
def test_the_arms_share_all_but_the_operator(backbone):
    stream = random_stream()
    arms = []
    for operator in ("p1.00", "p1.10"):
        model = start(stream, backbone, operator)
        begun = {name: value.clone() for name, value in model.state_dict().items()}
        seen = []
        model.register_forward_hook(
            lambda module, inputs, output, seen=seen: seen.append(
                torch.cat([inputs[0].source, inputs[0].destination.flatten()])
            )
        )
        train(model, stream, 7, TRAINING, silent)
        arms.append((begun, seen, torch.get_rng_state(), model.state_dict()))
    (begun, seen, state, ended), (begun_, seen_, state_, ended_) = arms
    assert all(torch.equal(begun[name], begun_[name]) for name in begun)
    assert len(seen) == len(seen_)
    assert all(map(torch.equal, seen, seen_))
    assert torch.equal(state, state_), "both drew the same dropout masks"
    assert any(not torch.equal(ended[name], ended_[name]) for name in ended)


def test_dropout_alone_consumes_the_global_stream():
    stream = random_stream()
    model = start(stream, model=without_dropout("tgat"))
    state = torch.get_rng_state()
    assert torch.equal(state, torch.manual_seed(derive(7, "dropout")).get_state())
    train(model, stream, 7, TRAINING, silent)
    assert torch.equal(torch.get_rng_state(), state)


def test_dropout_acts_whatever_mode_the_model_comes_in():
    stream = random_stream()
    curves = [
        train(start(stream).train(mode), stream, 7, TRAINING, silent)
        for mode in (True, False)
    ]
    assert curves[0].equals(curves[1])


def test_an_epoch_has_each_training_row_once_with_a_fresh_order_and_negatives():
    stream = random_stream()
    order, negatives = generator(7, "order"), generator(7, "negatives")
    model = start(stream)
    first, second = (epoch_data(model, stream, order, negatives) for _ in range(2))
    rows = generator(7, "order").permutation(stream.train_end)
    drawn = training_negatives(generator(7, "negatives"), stream, rows)
    expected = np.stack([stream.destination[rows], drawn], axis=1)
    assert np.array_equal(first.destination.numpy(), expected)
    assert np.array_equal(first.time.numpy(), stream.time[rows].astype(np.float32))
    assert sorted(second.time.tolist()) == sorted(first.time.tolist())
    assert not torch.equal(second.time, first.time)
    assert not np.array_equal(
        np.sort(first.destination[:, 1]), np.sort(second.destination[:, 1])
    )


def test_the_epochs_loss_is_the_mean_over_rows_with_a_short_last_batch():
    stream = random_stream()  # 36 training rows: batches of 8, 8, 8, 8 and 4
    model = start(stream, model=without_dropout("tgat"))
    data = epoch_data(model, stream, generator(7, "order"), generator(7, "negatives"))
    expected = bpr(model(data)).item()
    frozen = TRAINING | {"learning_rate": 0.0, "epochs": 1}
    curve = train(model, stream, 7, frozen, silent)
    assert curve.loss[0] == pytest.approx(expected, rel=1e-6)


def test_steps_are_plain_adamw():
    stream = random_stream()
    model = start(stream, model=without_dropout("tgat"))
    other = start(stream, model=without_dropout("tgat"))
    data = epoch_data(model, stream, generator(7, "order"), generator(7, "negatives"))
    losses = list(steps(model, adamw(model, TRAINING), data, 8))
    plain = torch.optim.AdamW(
        other.parameters(), lr=0.01, weight_decay=1e-5, foreach=False, fused=False
    )
    for step, found in enumerate(losses):
        loss = bpr(other(data[8 * step : 8 * step + 8]))
        assert found.item() == pytest.approx(loss.item(), abs=1e-5)
        plain.zero_grad()
        loss.backward()
        plain.step()
    assert len(losses) == 5


@pytest.mark.parametrize("operator", ["p1.00", "p1.10"])
@pytest.mark.parametrize("backbone", ["tgat", "craft"])
def test_it_learns_an_easy_stream(backbone, operator):
    stream = habitual_stream()
    # With wider layers, since CRAFT starts from weights near zero.
    model = start(stream, backbone, operator, model=MODELS[backbone] | {"hidden": 16})
    before = validation_auc(model, stream)
    curve = train(model, stream, 7, TRAINING | {"epochs": 4, "batch_size": 32}, silent)
    assert curve.epoch.tolist() == [1, 2, 3, 4]
    assert curve.loss.iloc[-1] < 0.5 * curve.loss.iloc[0]
    assert before < 0.7
    assert curve.validation_auc.iloc[-1] > 0.9


def test_the_validation_auc_by_hand():
    stream = habitual_stream(300)
    model = start(stream)
    curve = train(model, stream, 7, TRAINING | {"epochs": 1}, silent)
    queries = stream.queries("validation")
    model.eval()
    with torch.no_grad():
        scores = [
            model(collect(stream, [row], [[node]])).item()
            for row, node in zip(queries.row, queries.destination, strict=True)
        ]
    wins = [(a > b) + 0.5 * (a == b) for a in scores[::2] for b in scores[1::2]]
    assert curve.validation_auc[0] == pytest.approx(np.mean(wins), abs=1e-4)


@pytest.mark.parametrize("backbone", ["tgat", "craft"])
def test_the_same_run_twice_gives_the_same_bytes(backbone, tmp_path):
    path = tmp_path / "stream.safetensors"
    random_stream(200).save(path)
    files = []
    for attempt in ("first", "second"):
        fitted = fit(
            path,
            load_backbone("ctdg", backbone),
            parse_operator("p1.10"),
            7,
            TRAINING | {"model": MODELS[backbone]},
            report=silent,
        )
        write_tensors(tmp_path / f"{attempt}.safetensors", fitted.weights)
        write_table(tmp_path / f"{attempt}.parquet", fitted.curve)
        files.append(
            [
                (tmp_path / f"{attempt}{suffix}").read_bytes()
                for suffix in (".safetensors", ".parquet")
            ]
        )
    assert files[0] == files[1]


def test_another_seed_gives_another_model():
    stream = random_stream()
    models = [start(stream, seed=seed).state_dict() for seed in (7, 17)]
    assert not torch.equal(models[0]["query.weight"], models[1]["query.weight"])


def test_a_missing_gpu_is_a_users_error(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    path = tmp_path / "stream.safetensors"
    random_stream().save(path)
    with pytest.raises(UserError, match="device: cuda was asked for"):
        fit(
            path,
            load_backbone("ctdg", "tgat"),
            parse_operator("p1.00"),
            7,
            TRAINING | {"model": MODELS["tgat"], "device": "cuda"},
        )


def test_divergence_is_a_users_error():
    stream = random_stream()
    with pytest.raises(UserError, match=r"diverged.*lower fit\.learning_rate"):
        train(start(stream), stream, 7, TRAINING | {"learning_rate": 1e36}, silent)

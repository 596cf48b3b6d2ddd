"""The scripts of a run as a user calls them."""

import json
import subprocess
import sys

import numpy as np
import pytest

from maa.domains.ctdg.stream import EventStream
from maa.files import read_table, read_tensors
from tests.conftest import ROOT
from tests.domains.ctdg.small_streams import random_stream

MODEL = {"hidden": 8, "time_dim": 4, "dropout": 0.1}
FIT = {"epochs": 2, "batch_size": 8, "learning_rate": 0.01, "weight_decay": 0.0}


def call(script, settings, **arguments):
    command = [sys.executable, str(ROOT / "workflow" / "scripts" / script)]
    settings = json.dumps(settings | {"device": "cpu", "model": MODEL})
    run = {"domain": "ctdg", "dataset": "toy", "backbone": "tgat", "operator": "p1.10"}
    run = {name: arguments.pop(name, value) for name, value in run.items()}
    run["seed"] = arguments.pop("seed", 7)
    command += ["--run", ",".join(f"{name}={value}" for name, value in run.items())]
    for name, value in (arguments | {"settings": settings}).items():
        command += [f"--{name}", str(value)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    names = {
        "stream": "stream.safetensors",
        "model": "model.safetensors",
        "curve": "training.parquet",
        "representation": "representation.safetensors",
        "scores": "scores.parquet",
    }
    paths = {name: folder / file for name, file in names.items()}
    random_stream(100).save(paths["stream"])
    return paths


def pick(files, *names):
    return {name: files[name] for name in names}


def test_a_run_from_training_to_its_tables(files):
    done = call("train.py", FIT, seed=7, **pick(files, "stream", "model", "curve"))
    assert done.returncode == 0, done.stderr
    machine, *lines = done.stdout.splitlines()
    assert machine.startswith("machine: {")
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert all("validation AUC 0." in line for line in lines)
    curve = read_table(files["curve"])
    assert list(curve.columns) == ["epoch", "loss", "validation_auc"]

    inputs = pick(files, "stream", "model", "representation")
    done = call("represent.py", {"coordinates_p": 1.1}, **inputs)
    assert done.returncode == 0, done.stderr
    tensors, _ = read_tensors(files["representation"])
    assert sorted(tensors) == sorted(
        f"{part}_{name}"
        for part in ("validation", "test")
        for name in ("z", "c", "keys", "score")
    )

    inputs = pick(files, "stream", "model", "scores")
    done = call("behave.py", {"seed": 65537}, **inputs)
    assert done.returncode == 0, done.stderr
    measured = read_table(files["scores"]).set_index("measure")
    assert len(measured) == 3 + 4
    # The representation holds the scores that the primary AUC is made of.
    score = tensors["test_score"]
    events = EventStream.load(files["stream"])
    assert len(score) == measured.queries["auc_unseen"] == 2 * len(events.rows("test"))
    beats = np.subtract.outer(score[::2], score[1::2])
    by_hand = (beats > 0).mean() + 0.5 * (beats == 0).mean()
    assert abs(measured.value["auc_unseen"] - by_hand) < 1e-3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"backbone": "gat"}, "error: domain 'ctdg' has no backbone 'gat'"),
        ({"operator": "p0.50"}, "error: operator 'p0.50' is unknown"),
        ({"domain": "graphs"}, "error: domain 'graphs' has no"),
    ],
)
def test_a_users_error_is_one_sentence(files, tmp_path, wrong, message):
    outputs = {"model": tmp_path / "m.safetensors", "curve": tmp_path / "c.parquet"}
    done = call("train.py", FIT, seed=7, stream=files["stream"], **outputs, **wrong)
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert len(done.stderr.splitlines()) == 1
    assert not any(path.exists() for path in outputs.values())

"""Wrong inputs: each ends in one sentence, soon, with exit code 1."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.domains.ctdg.small_streams import random_stream
from tests.workflow.conftest import ROOT

# Of CPU, and twice what is promised: other work on the machine slows even that.
SECONDS = 10.0


def ctdg(**keys: Any) -> dict[str, Any]:
    return {"domains": {"ctdg": keys}}


# A configuration, or the text of its file, and a part of the sentence.
STUDIES: dict[str, tuple[dict[str, Any] | str, str]] = {
    "a typo at the top": ({"domain": {}}, "'domain' was unexpected"),
    "a typo below": (ctdg(sedes=[7]), "'sedes' was unexpected"),
    "1e-5 as text": (
        "domains: {ctdg: {fit: {weight_decay: 1e-5}}}",
        "fit.weight_decay: '1e-5' is not of type 'number'",
    ),
    "a seed twice": (ctdg(seeds=[7, 7]), "seeds: [7, 7] has non-unique elements"),
    "a negative seed": (ctdg(seeds=[-7]), "seeds.0: -7 is less than the minimum of 0"),
    "no seeds": (ctdg(seeds=[]), "seeds: [] should be non-empty"),
    "a p below 1": (ctdg(operators=["p0.90"]), "operators.0: 'p0.90' does not match"),
    "an unknown operator": (
        ctdg(operators=["p1.00", "p1.10", "pinf-l3"]),
        "operators.2: 'pinf-l3' does not match",
    ),
    "an unknown backbone": (ctdg(backbones=["gat"]), "'gat' is not one of"),
    "an unknown data set": (
        ctdg(datasets=["wikipeda"]),
        "the data set 'wikipeda' is not in config/datasets.yaml; known: ",
    ),
    "a cell that is not in the grid": (
        ctdg(
            controls={
                "cells": [{"dataset": "planted", "backbone": "graphmixer"}],
                "operators": ["nap"],
            }
        ),
        "controls.cells: graphmixer is not among domains.ctdg.backbones",
    ),
    "nothing to train on": (
        ctdg(prepare={"test_fraction": 1.0}),
        "prepare.test_fraction: 1.0",
    ),
    "an unknown device": ({"device": "tpu"}, "device: 'tpu' is not one of"),
    "a baseline that is not run": (
        {"inference": {"baseline": "p2.00"}},
        "inference.baseline: p2.00 is not among domains.ctdg.operators",
    ),
    "one arm twice": (
        {"inference": {"baseline": "p1.10"}},
        "inference: baseline and treatment are both p1.10",
    ),
}


def assert_one_sentence(
    done: subprocess.CompletedProcess[str], took: float, words: str
) -> None:
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "error:" in line]
    assert words in line
    assert took < SECONDS


def timed(command: list[str], **options: Any) -> tuple[Any, float]:
    """Run a command; return what it did and the CPU seconds that it took."""
    before = os.times()
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    after = os.times()
    used = after.children_user - before.children_user
    return done, used + after.children_system - before.children_system


@pytest.mark.parametrize(("config", "words"), STUDIES.values(), ids=STUDIES)
def test_a_wrong_study(config: Any, words: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(config if isinstance(config, str) else yaml.safe_dump(config))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run"]
    command += ["--configfile", str(file)]
    assert_one_sentence(*timed(command, cwd=ROOT), words)


# The text of a data file, or None for none, and a part of the sentence.
HEADER = "user_id,item_id,timestamp,state_label,features\n"
DATA: dict[str, tuple[str | None, str]] = {
    "a missing file": (None, "events.csv is missing; remove it"),
    "an empty file": ("", "events.csv is not a readable jodie file"),
    "a file that is cut": (f"{HEADER}1,1,1.0,0,0\n2,", "events.csv"),
    "one event": (f"{HEADER}1,1,1.0,0,0\n", "a window of 1 events is too short"),
    "a time that is not a number": (
        f"{HEADER}1,1,1.0,0,0\n2,1,nan,0,0\n",
        "row 3: time is nan where",
    ),
    "a negative id": (
        f"{HEADER}1,1,1.0,0,0\n-2,1,2.0,0,0\n",
        "row 3: source is -2 where",
    ),
    "a word for an id": (f"{HEADER}1,1,1.0,0,0\nbob,1,2.0,0,0\n", "events.csv"),
    "one destination alone": (
        HEADER + "".join(f"{user},1,{user}.0,0,0\n" for user in range(50)),
        "has no other one to serve as its negative",
    ),
}


@pytest.mark.parametrize(("text", "words"), DATA.values(), ids=DATA)
def test_a_wrong_data_file(text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "events.csv").write_text(text)
    source = tmp_path / "source.json"
    record = {"dataset": "mine", "format": "jodie", "folder": "."}
    record |= {"files": [{"name": "events.csv"}]}
    source.write_text(json.dumps(record))
    settings = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    prepare = settings["domains"]["ctdg"]["prepare"]
    done, took = script(
        "prepare.py",
        domain="ctdg",
        source=source,
        entry=json.dumps({"bipartite": True}),
        settings=json.dumps(prepare),
        stream=tmp_path / "stream.safetensors",
        summary=tmp_path / "summary.json",
    )
    assert_one_sentence(done, took, words)
    assert not (tmp_path / "stream.safetensors").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    random_stream(100).save(tmp_path / "stream.safetensors")
    settings = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    study = settings["domains"]["ctdg"]
    chosen = study["fit"] | {"model": study["models"]["tgat"], "device": "cuda"}
    done, took = script(
        "train.py",
        run="domain=ctdg,dataset=planted,backbone=tgat,operator=p1.00,seed=7",
        stream=tmp_path / "stream.safetensors",
        settings=json.dumps(chosen),
        threads=1,
        model=tmp_path / "model.safetensors",
        curve=tmp_path / "training.parquet",
    )
    assert_one_sentence(done, took, "PyTorch finds no GPU here; set device: cpu")
    assert not (tmp_path / "model.safetensors").exists()


def script(name: str, **options: Any) -> tuple[Any, float]:
    """Run one of the workflow's scripts."""
    command = [sys.executable, str(ROOT / "workflow/scripts" / name)]
    for option, value in options.items():
        command += [f"--{option}", str(value)]
    return timed(command, env=os.environ | {"PYTHONPATH": str(ROOT / "src")})

"""States of a model: folders within a folder, and revisions of a hub's model."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from maa.audit.models import load_model
from maa.errors import UserError
from tests.small_transformers import small_model, small_tokenizer

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model after one step and after two, of weights 1 and 2 times as large."""
    folder = tmp_path_factory.mktemp("states")
    for number in (1, 2):
        where = folder / f"step{number}"
        small_model("gpt_neox", scale=number).save_pretrained(where)  # type: ignore[operator]
        small_tokenizer().save_pretrained(where)
    return folder


def largest(pretrained: object) -> float:
    weights = pretrained.model.get_input_embeddings().weight  # type: ignore[attr-defined]
    return float(weights.detach().abs().max())


def test_a_folder_within_a_folder(states: Path) -> None:
    one, two = (load_model(str(states), revision=f"step{i}") for i in (1, 2))
    torch.testing.assert_close(largest(two), 2 * largest(one))
    assert one.causal and one.name == str(states)


def test_a_folder_that_is_missing_is_one_sentence(states: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"step3 is missing; name a folder in"):
        load_model(str(states), revision="step3")
    with pytest.raises(UserError, match=r"one file, without revisions; leave main out"):
        load_model(str(tmp_path / "a.gguf"), revision="main")


PROGRAM = """
from maa.audit.models import load_model
from maa.errors import UserError
for name, revision in (("x/small", "step1"), ("x/small", "step2"), ("x/small", "step3"),
                       ("x/other", "step1")):
    try:
        model = load_model(name, revision=revision).model
        print(float(model.get_input_embeddings().weight.detach().abs().max()))
    except UserError as error:
        print(error)
"""


def test_a_revision_of_a_hub(states: Path, tmp_path: Path) -> None:
    """The hub's own store on this machine, as a download leaves it; no network."""
    store = tmp_path / "hub" / "models--x--small"
    (store / "refs").mkdir(parents=True)
    for number in (1, 2):
        commit = str(number) * 40
        (store / "refs" / f"step{number}").write_text(commit)
        shutil.copytree(states / f"step{number}", store / "snapshots" / commit)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    one, two, missing, other = done.stdout.splitlines()
    assert float(two) == pytest.approx(2 * float(one))
    assert missing.startswith("the model x/small at step3 cannot be loaded (")
    assert other.startswith("the model x/other at step1 cannot be loaded (")
    assert other.endswith("or a model of a hub that can be reached from here")

"""A small transformer's training: what it learns, and that it is the same twice."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from maa.audit.models import load_model
from maa.audit.training import loop, state
from maa.audit.training.loop import prepare, pretrain
from maa.audit.training.settings import Settings
from maa.audit.training.tokens import batch_of, encode, train_tokenizer, unigram_loss
from maa.errors import UserError

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)
SIZES = {"layers": 2, "heads": 2, "width": 16, "context": 12, "vocabulary": 280}
VALUES = SIZES | {"batch": 8, "steps": 40, "learning_rate": 1e-2, "save_every": 8}


def planted(words: int, seed: int) -> str:
    """Words, each of which is followed by one of two: half of a bit a word."""
    generator = np.random.default_rng(seed)
    names = [f"{a}{b}a " for a in "bcdfg" for b in "lmnrst"]
    at, found = 0, []
    for turn in generator.random(words) < 0.89:
        at = (at + (7 if turn else 11)) % len(names)
        found.append(names[at])
    return "".join(found)


TRAIN, HELD_OUT = [planted(3000, 1), planted(500, 2)], [planted(600, 3)]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def silent(_: str) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training in one go."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("trained") / "gpt"
    pretrain(TRAIN, HELD_OUT, Settings.of(VALUES), folder, silent)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_it_learns_what_frequencies_alone_do_not_tell(folder: Path) -> None:
    told = state.finished(folder)
    assert told is not None
    losses = {each["step"]: each["held_out"] for each in told["losses"]}
    assert list(losses) == [0, 1, 2, 4, 8, 16, 32, 40]
    assert losses[0] == pytest.approx(math.log(280), abs=0.1)
    assert losses[40] < told["unigram_loss"] - 0.3
    assert told["losses"][0]["train"] is None
    assert told["losses"][-1]["train"] < told["losses"][1]["train"] - 1


def test_a_killed_training_goes_on_to_the_same_bytes(
    folder: Path, tmp_path: Path
) -> None:
    class KilledError(Exception):
        pass

    lines: list[str] = []

    def kill(line: str) -> None:
        lines.append(line)
        if line.startswith("step 32 "):
            raise KilledError

    here = tmp_path / "gpt"
    with pytest.raises(KilledError):
        pretrain(TRAIN, HELD_OUT, Settings.of(VALUES), here, kill)
    assert not here.exists()
    killed_at = len(lines)
    pretrain(TRAIN, HELD_OUT, Settings.of(VALUES), here, lines.append)
    assert lines[killed_at].startswith("goes on after step 24 of 40")
    assert len(lines) == killed_at + 3
    assert contents(here) == contents(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["gpt"]


def test_a_finished_training_is_not_done_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "build", None)
    told = pretrain(TRAIN, HELD_OUT, Settings.of(VALUES), folder, silent)
    assert told["losses"][-1]["step"] == 40


@pytest.mark.parametrize("interrupted", [False, True])
def test_another_training_in_the_folder_is_an_error(
    tmp_path: Path, interrupted: bool
) -> None:
    values, here = VALUES | {"steps": 8, "save_every": 2}, tmp_path / "gpt"

    def stop(line: str) -> None:
        if interrupted and line.startswith("step 4 "):
            raise RuntimeError

    try:
        pretrain(TRAIN, HELD_OUT, Settings.of(values), here, stop)
    except RuntimeError:
        assert interrupted
    other = Settings.of(values | {"learning_rate": 1e-3})
    with pytest.raises(UserError, match=r"another training.*in settings;"):
        pretrain(TRAIN, HELD_OUT, other, here, silent)
    with pytest.raises(UserError, match=r"another training.*in text;"):
        pretrain(TRAIN[:1], HELD_OUT, Settings.of(values), here, silent)


def test_a_folder_that_holds_something_else_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "gpt").mkdir()
    (tmp_path / "gpt" / "mine.txt").write_text("kept")
    settings = Settings.of(VALUES | {"steps": 1})
    with pytest.raises(UserError, match=r"gpt could not be written .*; empty it or"):
        pretrain(TRAIN, HELD_OUT, settings, tmp_path / "gpt", silent)
    assert (tmp_path / "gpt" / "mine.txt").read_text() == "kept"


def test_a_checkpoint_is_the_live_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live: list[nn.Module] = []
    build = loop.build

    def kept(*given: Any) -> nn.Module:
        live.append(build(*given))
        return live[-1]

    monkeypatch.setattr(loop, "build", kept)
    settings = Settings.of(VALUES | {"steps": 3})
    told = pretrain(TRAIN, HELD_OUT, settings, tmp_path / "gpt", silent)
    loaded = load_model(str(tmp_path / "gpt"), revision="step3")
    assert loaded.causal and loaded.shape == (2, 2)
    material = prepare(TRAIN, HELD_OUT, settings)
    with torch.no_grad():
        expected = live[0](material.read).logits
        found = loaded.model(material.read).logits
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    # the text's own tokens, read with the checkpoint's tokenizer, in a passage's form
    passage = loaded.tokenizer(HELD_OUT[0])["input_ids"][: settings.context]
    assert passage == material.read[0].tolist()
    loss = loop.held_out_loss(loaded.model, material)
    assert loss == pytest.approx(told["losses"][-1]["held_out"], abs=1e-5)


def test_initial_weights_depend_on_the_seed_and_sizes_alone() -> None:
    tokenizer = prepare(TRAIN, HELD_OUT, Settings.of(VALUES)).tokenizer

    def weights(**values: Any) -> torch.Tensor:
        torch.rand(3)  # the global stream is not what decides
        model = loop.build(Settings.of(VALUES | values), tokenizer)
        return torch.cat([weight.flatten() for weight in model.parameters()])

    assert torch.equal(weights(), weights(batch=2, steps=7))
    assert not torch.equal(weights(), weights(seed=1))


def test_the_order_of_the_data_does_not_depend_on_the_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[list[int]]] = {}

    def order_of(name: str, **values: Any) -> list[list[int]]:
        def spy(tokens: Any, starts: torch.Tensor, *rest: Any) -> Any:
            seen.setdefault(name, []).append(starts.tolist())
            return batch_of(tokens, starts, *rest)

        monkeypatch.setattr(loop, "batch_of", spy)
        settings = Settings.of(VALUES | {"steps": 2} | values)
        pretrain(TRAIN, HELD_OUT, settings, tmp_path / name, silent)
        return seen[name]

    first = order_of("first")
    assert order_of("wider", width=32) == first
    assert order_of("other", seed=1) != first


@pytest.mark.parametrize(
    ("steps", "per_doubling", "expected"),
    [
        (1, 1, [0, 1]),
        (8, 1, [0, 1, 2, 4, 8]),
        (10, 1, [0, 1, 2, 4, 8, 10]),
        (16, 2, [0, 1, 2, 3, 4, 6, 8, 11, 16]),
    ],
)
def test_checkpoints_double(steps: int, per_doubling: int, expected: list[int]) -> None:
    values = VALUES | {"steps": steps, "per_doubling": per_doubling}
    assert Settings.of(values).checkpoints() == expected


def test_the_rate_rises_and_falls() -> None:
    values = VALUES | {"steps": 100, "learning_rate": 2.0, "warmup": 0.1}
    settings = Settings.of(values | {"final_rate": 0.1})
    assert settings.rate(0) == pytest.approx(0.2)
    assert settings.rate(9) == settings.rate(10) == pytest.approx(2.0)
    assert settings.rate(55) == pytest.approx(2 * (0.1 + 0.9 / 2))
    assert settings.rate(100) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layers": 0}, "layers: 0 is wrong; expected a whole number of at least 1"),
        ({"steps": 2.5}, "steps: 2.5 is wrong"),
        ({"heads": True}, "heads: True is wrong"),
        ({"width": 18}, "width: 18 does not give 2 heads an even size"),
        ({"learning_rate": 0}, "learning_rate: 0 is wrong; expected a number above 0"),
        ({"clip": math.nan}, "clip: nan is wrong"),
        ({"warmup": 1.5}, "warmup: 1.5 is wrong; expected a number from 0 to 1"),
        ({"dropout": 0.1}, r"\['dropout'\], which are unknown"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value),
)
def test_wrong_settings_are_one_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        Settings.of(VALUES | change)


def test_missing_settings_are_named() -> None:
    with pytest.raises(UserError, match=r"lack \['layers'\]"):
        Settings.of({name: value for name, value in VALUES.items() if name != "layers"})


@pytest.mark.parametrize(
    "text", ["bla bma", "", "naïve — “quoted”\n\n\tß\r\n 漢字 🙂", "<|start|", "\x00"]
)
def test_a_text_survives_the_tokenizer(text: str) -> None:
    tokenizer = train_tokenizer(TRAIN, 280, 12)
    ids = tokenizer(text)["input_ids"]
    assert len(tokenizer) == 280 and max(ids) < 280
    assert ids[0] == tokenizer.bos_token_id and tokenizer.bos_token_id not in ids[1:]
    assert tokenizer.decode(ids[1:]) == text


def test_frequent_pairs_become_one_token() -> None:
    tokenizer = train_tokenizer(TRAIN, 280, 12)
    assert len(encode(tokenizer, TRAIN)) < 0.7 * len("".join(TRAIN))
    twice = encode(tokenizer, ["bla", "cma"])
    assert tokenizer.decode(twice) == "bla\n\ncma\n\n"


@pytest.mark.parametrize(
    ("texts", "vocabulary", "words"),
    [(TRAIN, 256, "expected more than 256"), (["ab"], 300, "yields 258 tokens")],
)
def test_a_vocabulary_that_cannot_be_is_an_error(
    texts: list[str], vocabulary: int, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        train_tokenizer(texts, vocabulary, 12)


def test_a_text_shorter_than_a_window_is_an_error() -> None:
    with pytest.raises(UserError, match="the held-out text has 3 tokens, not more"):
        prepare(TRAIN, ["b"], Settings.of(VALUES))


def test_windows_by_hand() -> None:
    read, following = batch_of(torch.arange(10, 20), torch.tensor([0, 7]), 3, 5)
    assert read.tolist() == [[5, 10, 11], [5, 17, 18]]
    assert following.tolist() == [[10, 11, 12], [17, 18, 19]]


def test_unigrams_by_hand() -> None:
    found = unigram_loss(torch.tensor([0, 0, 1]), torch.tensor([0, 2]), 3)
    assert found == pytest.approx(-(math.log(3 / 6) + math.log(1 / 6)) / 2)

"""The audit, from text to page, on small models with known attention."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from maa.attention.rows.measures import MEASURES
from maa.audit.audit import audit, by_head
from maa.audit.models import Pretrained, load_model
from maa.audit.page import facts
from maa.audit.texts import passages, sink_positions
from maa.errors import UserError
from tests.small_transformers import small_model, small_tokenizer, text

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)


def llama() -> Pretrained:
    return Pretrained("small", small_model("llama"), small_tokenizer(), True)


def test_passages_are_cut_whole_and_framed() -> None:
    tokenizer = small_tokenizer(encoder=True)
    cut = passages(tokenizer, [text(20), text(15, seed=1)], 12)
    assert [len(passage) for passage in cut] == [12, 12, 12]
    assert all((one[0], one[-1]) == (1, 2) for one in cut)
    words = tokenizer(text(20), add_special_tokens=False)["input_ids"]
    assert [token for one in cut for token in one[1:-1]][:20] == words
    assert sink_positions(tokenizer, cut[0], "special") == [0, 11]
    assert sink_positions(tokenizer, cut[0], "first") == [0]
    assert sink_positions(tokenizer, cut[0], "none") == []
    bare = passages(small_tokenizer(), [text(20)], 8, count=1)
    assert len(bare) == 1 and len(bare[0]) == 8


def test_a_text_too_short_and_an_unknown_sink() -> None:
    with pytest.raises(UserError, match="has 5 tokens, fewer than one passage of 8"):
        passages(small_tokenizer(), [text(5)], 8)
    with pytest.raises(UserError, match="first, special, second, none"):
        sink_positions(small_tokenizer(), [1], "all")


def test_measures_are_those_of_the_models_own_probabilities() -> None:
    pretrained = llama()
    cut = passages(pretrained.tokenizer, [text(40)], 16)
    found = audit(pretrained, cut, p=2.0, first_row=3, report=lambda _: None)
    assert list(found.columns) == ["text", "layer", "head", "loss", *MEASURES]
    assert len(found) == 2 * 3 * 4
    tokens = torch.tensor(cut[1:2])
    with torch.no_grad():
        output = pretrained.model(tokens, labels=tokens, output_attentions=True)
    rows = output.attentions[2][0, 1, 3:].double()
    one = found.query("text == 1 and layer == 2 and head == 1").squeeze()
    assert one["loss"] == pytest.approx(output.loss.item(), rel=1e-5)
    assert one["sink_share"] == pytest.approx(rows[:, 0].mean().item(), rel=1e-5)
    own = torch.diagonal(rows, 3)
    assert one["diagonal_share"] == pytest.approx(own.mean().item(), rel=1e-5)
    whole = -torch.special.xlogy(rows, rows).sum(-1)
    assert one["entropy"] == pytest.approx(whole.mean().item(), rel=1e-5)
    squares = rows.square().sum(-1)
    assert one["hill_kept"] == pytest.approx((1 / squares).mean().item(), rel=1e-5)
    assert one["gain"] == pytest.approx(squares.rsqrt().mean().item(), rel=1e-5)
    assert one["keys"] == pytest.approx(sum(range(4, 17)) / 13)


def test_heads_are_means_over_passages() -> None:
    pretrained = llama()
    cut = passages(pretrained.tokenizer, [text(50)], 16)
    found = audit(pretrained, cut, report=lambda _: None)
    heads = by_head(found)
    assert len(heads) == 12
    one = found.query("layer == 1 and head == 2")["sink_share"]
    row = heads.query("layer == 1 and head == 2").squeeze()
    assert row["sink_share"] == pytest.approx(one.mean())
    assert row["sink_share_sd"] == pytest.approx(one.std())
    inside = row["entropy_content"] / row["entropy"]
    assert row["entropy_sink_part"] == pytest.approx(1 - inside)


def test_an_encoder_has_no_loss_and_two_sinks() -> None:
    tokenizer = small_tokenizer(encoder=True)
    pretrained = Pretrained("small", small_model("bert"), tokenizer, False)
    cut = passages(tokenizer, [text(30)], 12)
    found = audit(pretrained, cut, "special", report=lambda _: None)
    assert found["loss"].isna().all()
    assert (found["keys"] == 12).all()
    assert (found["entropy_sinks"] > 0).all()
    assert "Perplexity" not in facts(found, by_head(found))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model as it would come from a hub, and a text."""
    folder = tmp_path_factory.mktemp("model")
    small_model("llama").save_pretrained(folder / "small")  # type: ignore[operator]
    small_tokenizer().save_pretrained(folder / "small")
    (folder / "text.txt").write_text(text(100))
    (folder / "binary").write_bytes(b"\xff\xfe\x00\xff")
    return folder


def command(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "maa", "audit", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_folder_is_loaded_as_what_it_is(folder: Path) -> None:
    pretrained = load_model(str(folder / "small"))
    assert pretrained.causal and pretrained.shape == (3, 4)
    assert not pretrained.model.training


def test_the_command_writes_tables_and_a_page(folder: Path) -> None:
    done = command(
        folder,
        *("small", "--text", "text.txt", "--tokens", "24", "--output", "out/here"),
    )
    assert done.returncode == 0, done.stderr
    assert "passage 4 of 4" in done.stdout
    heads = pd.read_csv(folder / "out/here/heads.csv")
    assert len(heads) == 12 and heads["sink_share"].between(0, 1).all()
    assert len(pd.read_parquet(folder / "out/here/passages.parquet")) == 48
    page = (folder / "out/here/audit.html").read_text()
    assert "Attention of small" in page and page.count("data:image/png") == 2
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("missing", "--text", "text.txt"), "the model missing cannot be loaded"),
        (("no.gguf", "--text", "text.txt"), "no.gguf is missing"),
        (("small", "--text", "none.txt"), "none.txt cannot be read"),
        (("small", "--text", "binary"), "binary cannot be read as UTF-8"),
        (("small", "--text", "text.txt"), "fewer than one passage of 512"),
        (("small", "--text", "text.txt", "--tokens", "8"), "leaves no row of 8"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_input_is_one_sentence(
    folder: Path, options: tuple[str, ...], words: str
) -> None:
    done = command(folder, *options)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (line,) = (x for x in done.stderr.splitlines() if x.startswith("error:"))
    assert words in line

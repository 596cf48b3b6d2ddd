"""Flips between a small model's heads, against its own attention."""

import numpy as np
import pytest
import torch

from maa.audit.flips import head_flips
from maa.audit.models import Pretrained
from maa.audit.texts import passages
from tests.small_transformers import small_model, small_tokenizer, text

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)


def test_rates_are_those_of_the_models_probabilities() -> None:
    pretrained = Pretrained("s", small_model("llama"), small_tokenizer(), True)
    cut = passages(pretrained.tokenizer, [text(30)], 14)
    options = {"triples": 30_000, "rows": 3, "first_row": 5, "report": lambda _: None}
    found = head_flips(pretrained, cut[:1], **options)
    assert len(found) == 3 * 2 * 4
    assert found["row"].between(5, 13).all()
    row = int(found["row"].iloc[0])
    with torch.no_grad():
        output = pretrained.model(torch.tensor(cut[:1]), output_attentions=True)
    p = torch.stack(output.attentions)[:, 0, :, row, : row + 1].flatten(0, 1).double()
    dropped = p[:, 1:] / p[:, 1:].sum(-1, keepdim=True)

    def closer(rows: torch.Tensor) -> torch.Tensor:
        apart = torch.cdist(rows, rows)
        return torch.sign(apart[:, :, None] - apart[:, None, :])

    flipped = (closer(p) != closer(dropped)).numpy()
    heads = np.arange(12)
    a, b, c = np.meshgrid(heads, heads, heads, indexing="ij")
    distinct = (a != b) & (b != c) & (a != c)
    same = distinct & (a // 4 == b // 4) & (b // 4 == c // 4)
    one = found.query("measure == 'euclid' and row == @row").set_index("scope")["rate"]
    assert one["all"] == pytest.approx(flipped[distinct].mean(), abs=0.012)
    assert one["layer"] == pytest.approx(flipped[same].mean(), abs=0.012)
    held = torch.logit(p[:, 0])
    told = found.query("row == @row").iloc[0]
    assert told["share"] == pytest.approx(held.mean().sigmoid().item(), rel=1e-4)
    assert told["spread"] == pytest.approx(held.std().item(), rel=1e-4)


def test_the_same_seed_draws_the_same() -> None:
    pretrained = Pretrained("s", small_model("llama"), small_tokenizer(), True)
    cut = passages(pretrained.tokenizer, [text(40)], 14)
    one, other, third = (
        head_flips(pretrained, cut, triples=50, seed=seed, report=lambda _: None)
        for seed in (1, 1, 2)
    )
    assert one.equals(other) and not one.equals(third)
    assert one["text"].nunique() == 2

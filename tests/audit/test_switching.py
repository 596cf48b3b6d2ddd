"""Another norm in a trained model: what is measured, and that training helps."""

import pytest
import torch

from maa.audit.models import Pretrained
from maa.audit.pruning import mean_loss
from maa.audit.switching import switch
from maa.audit.texts import passages
from tests.small_transformers import small_model, small_tokenizer, text

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)


def test_a_switch_before_and_after_training() -> None:
    pretrained = Pretrained("small", small_model("llama"), small_tokenizer(), True)
    before = [weight.clone() for weight in pretrained.model.parameters()]
    cut = passages(pretrained.tokenizer, [text(80)], 16)
    options = {"steps": 30, "learning_rate": 1e-3, "report": lambda _: None}
    found = switch(pretrained, [1, 2], cut[:3], cut[3:], **options)
    assert found[["p", "steps"]].to_numpy().tolist() == [
        [1, 0],
        [1, 30],
        [2, 0],
        [2, 30],
    ]
    loss = found.set_index(["p", "steps"])["loss"]
    assert loss[1, 0] == pytest.approx(mean_loss(pretrained, cut[3:]), rel=1e-5)
    assert abs(loss[2, 0] - loss[1, 0]) > 1e-3
    # on the passages that it is trained on, training helps
    seen = switch(pretrained, [2], cut[:3], cut[:3], **options).set_index("steps")
    assert seen["loss"][30] < seen["loss"][0] - 0.1
    again = switch(pretrained, [2], cut[:3], cut[3:], **options).set_index("steps")
    assert again["loss"][30] == loss[2, 30]
    untouched = zip(pretrained.model.parameters(), before, strict=True)
    assert all(torch.equal(now, then) for now, then in untouched)
    assert pretrained.model.config._attn_implementation == "eager"


def test_without_steps_there_is_one_stage() -> None:
    pretrained = Pretrained("small", small_model("llama"), small_tokenizer(), True)
    cut = passages(pretrained.tokenizer, [text(20)], 16)
    found = switch(pretrained, [1.1], cut, cut, steps=0, report=lambda _: None)
    assert found["steps"].tolist() == [0]

"""Heads that are taken out: which, and what the model then computes."""

import numpy as np
import pandas as pd
import pytest
import torch

from maa.audit.models import Pretrained
from maa.audit.pruning import CRITERIA, mean_loss, prune, pruned
from maa.audit.texts import passages
from tests.small_transformers import small_model, small_tokenizer, text

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)


@pytest.fixture(scope="module")
def pretrained() -> Pretrained:
    return Pretrained("small", small_model("llama"), small_tokenizer(), True)


def test_a_pruned_head_is_a_head_whose_output_projection_is_zero(
    pretrained: Pretrained,
) -> None:
    tokens = torch.tensor(passages(pretrained.tokenizer, [text(14)], 14))
    keep = torch.ones(3, 4)
    keep[1, 2] = keep[2, 0] = 0
    with torch.no_grad():
        with pruned(pretrained.model, keep):
            found = pretrained.model(tokens).logits
        before = pretrained.model(tokens).logits
        other = small_model("llama")
        for layer, head in ((1, 2), (2, 0)):
            weight = other.model.layers[layer].self_attn.o_proj.weight  # type: ignore[union-attr, index]
            weight[:, 8 * head : 8 * head + 8] = 0
        expected = other(tokens).logits
    torch.testing.assert_close(found, expected)
    assert (found - before).abs().max() > 1e-3


def test_the_heads_at_the_ends_of_a_criterion_are_taken(
    pretrained: Pretrained, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = pd.MultiIndex.from_product([range(3), range(4)], names=["layer", "head"])
    values = np.random.default_rng(1).random((12, 3))
    heads = pd.DataFrame(values, index, list(CRITERIA)).reset_index()
    seen = []

    def looked_at(_: object, keep: torch.Tensor) -> object:
        seen.append({tuple(x) for x in (keep == 0).nonzero().tolist()})
        return pruned(pretrained.model, keep)

    monkeypatch.setattr("maa.audit.pruning.pruned", looked_at)
    cut = passages(pretrained.tokenizer, [text(28)], 14)
    found = prune(
        pretrained, heads.sample(frac=1, random_state=2), cut, 0.25, report=lambda _: 0
    )
    order = heads.sort_values("entropy")[["layer", "head"]].to_numpy().tolist()
    assert seen[0] == set()
    assert seen[3] == {tuple(x) for x in order[-3:]}
    assert seen[4] == {tuple(x) for x in order[:3]}
    assert [len(one) for one in seen[1:]] == [3] * 9
    assert len({frozenset(one) for one in seen[-3:]}) > 1
    assert found["criterion"].tolist()[:2] == ["none", "sink_share"]
    assert found["loss"].iloc[0] == pytest.approx(mean_loss(pretrained, cut))
    assert np.allclose(found["perplexity"], np.exp(found["loss"]))

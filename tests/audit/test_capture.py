"""What is captured of a model are its own rows, of the queries that were asked for."""

import numpy as np
import pytest
import torch

from maa.audit.capture import captured, need_sinks, rows_of
from maa.audit.models import Pretrained
from maa.audit.texts import passages
from maa.errors import UserError
from tests.small_transformers import SIZES, small_model, small_tokenizer, text

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)
QUIET = {"report": lambda _: None}


def test_rows_are_those_of_the_model() -> None:
    pretrained = Pretrained("s", small_model("llama"), small_tokenizer(), True)
    cut = passages(pretrained.tokenizer, [text(40)], 16)
    queries = np.array([3, 9, 15])
    logits, support = rows_of(pretrained, cut[1], queries)
    assert logits.shape == (3, 4, 3, 16)
    assert support is not None and support.sum(-1).tolist() == [4, 10, 16]
    with torch.no_grad():
        output = pretrained.model(torch.tensor(cut[1:2]), output_attentions=True)
    weights = torch.stack(output.attentions)[:, 0, :, queries]
    found = logits.masked_fill(~support, -torch.inf).softmax(-1)
    torch.testing.assert_close(found, weights)
    assert pretrained.model.config._attn_implementation == "eager"


def test_queries_are_drawn_behind_the_first_rows() -> None:
    tokenizer = small_tokenizer(encoder=True)
    pretrained = Pretrained("s", small_model("bert"), tokenizer, False)
    cut = passages(tokenizer, [text(45)], 14)
    lines: list[str] = []
    drawn = [
        list(
            captured(
                pretrained,
                cut,
                "special",
                np.random.default_rng(seed),
                5,
                4,
                report=lines.append,
            )
        )
        for seed in (1, 1, 2)
    ]
    assert lines[:3] == [f"passage {i} of 3" for i in (1, 2, 3)]
    queries = [[one.queries.tolist() for one in seen] for seen in drawn]
    assert queries[0] == queries[1] != queries[2]
    assert all(len(set(one)) == 5 and min(one) >= 4 for one in queries[0])
    one = drawn[0][2]
    assert one.text == 2 and one.sinks.nonzero().flatten().tolist() == [0, 13]
    assert one.content.sum(-1).tolist() == [12] * 5
    whole = captured(
        pretrained, cut, "first", np.random.default_rng(0), None, 4, **QUIET
    )
    assert [seen.queries.tolist() for seen in whole] == [list(range(4, 14))] * 3


def test_layers_that_see_different_keys_are_refused() -> None:
    config = transformers.Qwen2Config(
        **SIZES,
        num_key_value_heads=2,
        use_sliding_window=True,
        sliding_window=6,
        max_window_layers=1,
    )
    model = transformers.Qwen2ForCausalLM._from_config(
        config, attn_implementation="eager"
    )
    pretrained = Pretrained("sliding", model.eval(), small_tokenizer(), True)
    with pytest.raises(UserError, match="sliding has layers that see different keys"):
        rows_of(pretrained, [1] * 12, np.array([10]))
    logits, _ = rows_of(pretrained, [1] * 6, np.array([5]))
    assert logits.shape == (3, 4, 1, 6)


def test_sinks_are_needed_where_they_are_dropped() -> None:
    need_sinks("first")
    with pytest.raises(UserError, match="first or special"):
        need_sinks("none")

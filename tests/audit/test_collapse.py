"""A change of entropy, attributed: planted changes, exact sums, real small models."""

import copy
import math

import numpy as np
import pandas as pd
import pytest
import torch

from maa.attention.adapters.huggingface import use_mass_aware
from maa.attention.rows.entropy import EntropyParts
from maa.audit.collapse import (
    CHANNELS,
    Stage,
    _changes,
    entropy_changes,
    sink_shares,
)
from maa.audit.models import Pretrained
from maa.audit.texts import passages
from maa.errors import UserError
from tests.small_transformers import small_model, small_tokenizer, text

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)
QUIET = {"report": lambda _: None}


def llama(scale: float = 4, **options: int) -> Pretrained:
    model = small_model("llama", scale, **options)
    return Pretrained("small", model, small_tokenizer(), True)


def entropy_of(pretrained: Pretrained, passage: list[int]) -> torch.Tensor:
    """Entropies (L, H, T), from the model's own probabilities."""
    with torch.no_grad():
        output = pretrained.model(torch.tensor([passage]), output_attentions=True)
    weights = torch.stack(output.attentions)[:, 0].double()
    return -torch.special.xlogy(weights, weights).sum(-1)


def test_changes_are_those_of_the_models_and_add_up() -> None:
    one, other = llama(3), llama(4)
    cut = passages(one.tokenizer, [text(60)], 16)
    found = entropy_changes([Stage(0, one), Stage(5, other)], cut, **QUIET)
    names = ["step", "before", "text", "layer", "head", *CHANNELS]
    assert list(found.columns) == names
    assert len(found) == len(cut) * 3 * 4
    parts = found["sink"] + found["within"] + found["content"]
    np.testing.assert_allclose(parts, found["delta_entropy"], atol=1e-12)
    midpoint = (found["sink_first"] + found["sink_last"]) / 2
    np.testing.assert_allclose(found["sink"], midpoint, atol=1e-12)
    change = (entropy_of(other, cut[1]) - entropy_of(one, cut[1]))[..., 8:].mean(-1)
    row = found.query("text == 1 and layer == 2 and head == 3").squeeze()
    assert row["delta_entropy"] == pytest.approx(change[2, 3].item(), abs=1e-5)
    assert abs(row["sink_first"] - row["sink_last"]) > 1e-4


def test_steps_from_stage_to_stage_add_up_to_the_whole() -> None:
    stages = [Stage(i, llama(scale)) for i, scale in enumerate((2.5, 3, 4))]
    cut = passages(stages[0].pretrained.tokenizer, [text(40)], 16)
    options = {"rows": 4, "seed": 3} | QUIET
    whole = entropy_changes(stages, cut, **options)
    steps = entropy_changes(iter(stages), cut, against="previous", **options)
    assert steps["before"].unique().tolist() == [0, 1]
    assert whole["before"].unique().tolist() == [0]
    added = steps.groupby(["text", "layer", "head"])["delta_entropy"].sum()
    last = whole.query("step == 2").set_index(["text", "layer", "head"])
    pd.testing.assert_series_equal(added, last["delta_entropy"])


def test_a_norm_of_another_order_is_what_the_model_then_sees() -> None:
    """Later layers read what the p-norm passed on, not what softmax would have."""
    one = llama(3)
    cut = passages(one.tokenizer, [text(20)], 16)
    found = entropy_changes([Stage(1, one), Stage(2, one, p=2.0)], cut, **QUIET)
    assert found.query("layer == 0")["delta_entropy"].abs().max() < 1e-6
    switched = copy.deepcopy(one.model)
    use_mass_aware(switched, 2.0)
    with torch.no_grad():
        output = switched(torch.tensor(cut[:1]), output_attentions=True)
    weights = output.attentions[2][0].double()
    weights = weights / weights.sum(-1, keepdim=True)
    after = -torch.special.xlogy(weights, weights).sum(-1)
    change = (after - entropy_of(one, cut[0])[2])[:, 8:].mean(-1)
    told = found.query("layer == 2 and text == 0")["delta_entropy"]
    np.testing.assert_allclose(told, change, atol=1e-5)
    assert change.abs().max() > 1e-3


def planted(share: float, content: float, noise: float, seed: int) -> EntropyParts:
    """2 layers of 3 heads, 5 rows, whose sinks hold a share and content has a H."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(2, 3, 5, generator=generator, dtype=torch.float64)
    held = share + noise * (drawn - 0.5)
    binary = -held * held.log() - (1 - held) * (1 - held).log()
    return EntropyParts(
        held, 1 - held, binary, torch.zeros_like(held), torch.full_like(held, content)
    )


def told(before: tuple[float, float], after: tuple[float, float]) -> pd.DataFrame:
    tables = [
        _changes(i, planted(*before, 0.1, i), planted(*after, 0.1, 50 + i))
        for i in range(12)
    ]
    return pd.concat(tables).assign(step=1, before=0)


def test_a_sink_that_grows_is_all_of_the_collapse() -> None:
    found = sink_shares(told((0.3, 2.0), (0.9, 2.0))).squeeze()
    assert found["delta_entropy"] < -1
    assert found["sink_share"] == pytest.approx(1)
    assert found["content"] == 0


def test_a_content_that_sharpens_is_not_the_sinks() -> None:
    found = sink_shares(told((0.4, 2.0), (0.4, 1.0))).squeeze()
    assert found["delta_low"] < found["delta_entropy"] < found["delta_high"] < 0
    assert found["low"] < 0 < found["high"]
    assert found["sink_share"] == pytest.approx(0, abs=0.05)


def test_both_at_once_by_hand() -> None:
    """A share of .5 to .8 and a content of 2 to 1 nats, without noise."""
    table = _changes(0, planted(0.5, 2, 0, 0), planted(0.8, 1, 0, 0))
    found = sink_shares(
        pd.concat([table, table.assign(text=1)]).assign(step=1, before=0)
    ).squeeze()
    binary = -0.8 * math.log(0.8) - 0.2 * math.log(0.2) - math.log(2)
    sink, content = binary - 0.3 * 1.5, -(1 - 0.65) * 1
    assert found["sink"] == pytest.approx(sink)
    assert found["content"] == pytest.approx(content)
    whole = sink + content
    assert found["sink_share"] == pytest.approx(sink / whole)
    assert found["sink_share_first"] == pytest.approx((binary - 0.3 * 2) / whole)
    assert found["sink_share_last"] == pytest.approx((binary - 0.3 * 1) / whole)
    assert found["low"] == pytest.approx(found["high"])


def test_no_share_of_a_change_whose_sign_is_not_known() -> None:
    found = sink_shares(told((0.5, 2.0), (0.5, 2.0))).squeeze()
    assert found["delta_low"] < 0 < found["delta_high"]
    assert np.isnan(found["sink_share"]) and np.isnan(found["low"])


def test_scopes_take_heads_together() -> None:
    changes = told((0.3, 2.0), (0.9, 1.5))
    assert len(sink_shares(changes, "head")) == 6
    layers = sink_shares(changes, "layer")
    assert layers["layer"].tolist() == [0, 1]
    whole = sink_shares(changes).squeeze()
    assert layers["sink"].mean() == pytest.approx(whole["sink"])
    with pytest.raises(UserError, match="model, layer, head"):
        sink_shares(changes, "row")


def test_stages_that_do_not_pair() -> None:
    one = llama()
    cut = passages(one.tokenizer, [text(20)], 16)
    wide = llama(num_hidden_layers=2)
    with pytest.raises(UserError, match="2 layers of 4 heads, step 0 has 3 layers"):
        entropy_changes([Stage(0, one), Stage(1, wide)], cut, **QUIET)
    with pytest.raises(UserError, match="a change takes two"):
        entropy_changes([Stage(0, one)], cut, **QUIET)
    with pytest.raises(UserError, match="step 0 is given twice"):
        entropy_changes([Stage(0, one), Stage(0, one)], cut, **QUIET)
    with pytest.raises(UserError, match="the first or the previous"):
        entropy_changes([Stage(0, one)], cut, against="last", **QUIET)
    with pytest.raises(UserError, match="leaves no row behind the first 30"):
        entropy_changes([Stage(0, one)], cut, first_row=30, **QUIET)

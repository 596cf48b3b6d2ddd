"""Attention of transformers' models, recorded and made mass-aware."""

import math

import pytest
import torch
from torch import Tensor, nn

from maa.attention.adapters.huggingface import recording, scores, use_mass_aware
from maa.errors import UserError
from tests.small_transformers import small_model

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)
KINDS = ["llama", "gpt_neox", "bert"]
TOKENS = torch.randint(60, (2, 12), generator=torch.Generator().manual_seed(1))


def output(model: nn.Module, **options: object) -> Tensor:
    with torch.no_grad():
        found = model(TOKENS, **options)
    return found.last_hidden_state if "last_hidden_state" in found else found.logits


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padded", [False, True])
def test_recorded_logits_are_those_of_the_models_attention(
    kind: str, padded: bool
) -> None:
    model = small_model(kind)
    options: dict[str, Tensor] = {}
    if padded:
        options["attention_mask"] = torch.ones_like(TOKENS)
        options["attention_mask"][1, 9:] = 0
    with torch.no_grad():
        known = model(TOKENS, output_attentions=True, **options).attentions
    seen: list[tuple[int, Tensor, Tensor | None]] = []
    with recording(model, lambda *found: seen.append(found)):
        recorded = output(model, **options)
    torch.testing.assert_close(recorded, output(model, **options), rtol=0, atol=1e-6)
    assert [layer for layer, _, _ in seen] == [0, 1, 2]
    rows = slice(None, 9) if padded else slice(None)
    for (_, logits, support), expected in zip(seen, known, strict=True):
        assert logits.shape == (2, 4, 12, 12) and logits.dtype is torch.float32
        hidden = logits
        if support is not None:
            hidden = logits.masked_fill(~support, -math.inf)
        weights = torch.softmax(hidden, -1)
        torch.testing.assert_close(weights[:, :, rows], expected[:, :, rows])
    assert model.config._attn_implementation == "eager"


def test_the_support_of_a_causal_model_is_causal() -> None:
    model = small_model("llama")
    with recording(model, lambda _, logits, support: supports.append(support)):
        supports: list[Tensor] = []
        output(model)
    causal = torch.ones(12, 12, dtype=torch.bool).tril()
    assert torch.equal(supports[1][0, 0], causal)


def test_a_second_pass_counts_layers_from_0_again() -> None:
    model, layers = small_model("llama"), []
    with recording(model, lambda layer, *_: layers.append(layer)):
        output(model)
        output(model)
    assert layers == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_p_1_is_the_original(kind: str) -> None:
    model = small_model(kind, scale=1)
    before = output(model)
    assert use_mass_aware(model, 1) is model
    torch.testing.assert_close(output(model), before, rtol=0, atol=1e-6)


def test_another_p_multiplies_each_rows_output_by_its_gain() -> None:
    """In a model of one layer: the attention's output is that of softmax times g_p."""
    model = small_model("llama", num_hidden_layers=1)
    attention = model.model.layers[0].self_attn  # type: ignore[union-attr, index]
    heads: list[Tensor] = []
    attention.o_proj.register_forward_pre_hook(
        lambda _, given: heads.append(given[0].unflatten(-1, (4, 8)))
    )
    with recording(model, lambda _, logits, support: rows.append((logits, support))):
        rows: list[tuple[Tensor, Tensor]] = []
        output(model)
    output(use_mass_aware(model, 1.5))
    ((logits, support),) = rows
    weights = torch.softmax(logits.masked_fill(~support, -math.inf), -1)
    gain = 1 / torch.linalg.vector_norm(weights, 1.5, dim=-1)
    torch.testing.assert_close(heads[1], heads[0] * gain.transpose(1, 2)[..., None])
    assert gain.max() > 1.2


def test_gradients_flow() -> None:
    model = use_mass_aware(small_model("llama").train(), 1.1)
    model(TOKENS, labels=TOKENS).loss.backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_a_cap_on_the_logits_is_a_part_of_them() -> None:
    query, key = torch.randn(1, 1, 3, 4), torch.randn(1, 1, 3, 4)
    plain, _ = scores(nn.Linear(1, 1), query, key, None, None, {})
    capped, _ = scores(nn.Linear(1, 1), query, key, None, None, {"softcap": 2.0})
    torch.testing.assert_close(capped, 2 * torch.tanh(plain / 2))


def test_learned_sinks_are_refused() -> None:
    query = key = torch.randn(1, 1, 3, 4)
    with pytest.raises(UserError, match="learned sinks"):
        scores(nn.Linear(1, 1), query, key, None, 1.0, {"s_aux": torch.zeros(1)})


def test_a_wrong_p_and_a_model_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="p"):
        use_mass_aware(small_model("llama"), 0.5)
    with pytest.raises(UserError, match="attention interface"):
        use_mass_aware(nn.Linear(2, 2), 1.1)

"""torch.nn.MultiheadAttention: the same at p = 1, and its gain at others."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from maa.attention.adapters.multihead import MultiheadAttention, use_mass_aware

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "batch first": ({"batch_first": True}, {}),
    "length first": ({}, {}),
    "widths of key and value": ({"batch_first": True, "kdim": 5, "vdim": 7}, {}),
    "learned key": ({"batch_first": True, "add_bias_kv": True}, {}),
    "zero key": ({"batch_first": True, "add_zero_attn": True}, {}),
    "no bias": ({"batch_first": True, "bias": False}, {}),
    "padding": ({"batch_first": True}, {"padding": "bool"}),
    "additive padding": ({"batch_first": True}, {"padding": "float"}),
    "causal": ({"batch_first": True}, {"mask": "causal"}),
    "mask by head": ({"batch_first": True}, {"mask": "heads"}),
    "bias, padding and a zero key": (
        {"batch_first": True, "add_zero_attn": True},
        {"mask": "bias", "padding": "bool"},
    ),
    "weights by head": ({"batch_first": True}, {"average_attn_weights": False}),
}


def inputs(options: dict[str, Any], call: dict[str, Any]) -> tuple[list[Tensor], dict]:
    generator = torch.Generator().manual_seed(3)
    widths = (12, options.get("kdim", 12), options.get("vdim", 12))
    tokens = [torch.randn(2, 6, width, generator=generator) for width in widths]
    call = dict(call)
    if padding := call.pop("padding", None):
        mask = torch.zeros(2, 6, dtype=torch.bool)
        mask[1, 4:] = True
        hidden = torch.zeros(2, 6).masked_fill(mask, -torch.inf)
        call["key_padding_mask"] = mask if padding == "bool" else hidden
    kind = call.pop("mask", None)
    if kind == "causal":
        call["attn_mask"] = torch.ones(6, 6, dtype=torch.bool).triu(1)
        call["is_causal"] = True
    elif kind == "heads":
        call["attn_mask"] = torch.rand(6, 6, 6, generator=generator) < 0.3
        call["attn_mask"][..., 0] = False
    elif kind == "bias":
        call["attn_mask"] = torch.randn(6, 6, generator=generator)
    if not options.get("batch_first"):
        tokens = [x.transpose(0, 1) for x in tokens]
    return tokens, call


def twins(options: dict[str, Any], p: float) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(1)
    original = nn.MultiheadAttention(12, 3, **options)
    ours = MultiheadAttention(12, 3, p=p, **options)
    ours.load_state_dict(original.state_dict())
    return original, ours


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize(("options", "call"), CASES.values(), ids=CASES)
def test_p_1_is_the_original(options: dict[str, Any], call: dict[str, Any]) -> None:
    original, ours = twins(options, 1)
    tokens, call = inputs(options, call)
    for found, expected in zip(
        ours(*tokens, **call), original(*tokens, **call), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_a_sequence_without_a_batch() -> None:
    original, ours = twins({}, 1)
    x = torch.randn(5, 12)
    padding = torch.tensor([False] * 4 + [True])
    found, weights = ours(x, x, x, key_padding_mask=padding)
    expected, known = original(x, x, x, key_padding_mask=padding)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(weights, known, rtol=1e-6, atol=1e-6)
    assert ours(x, x, x, need_weights=False)[1] is None


def test_another_p_multiplies_a_heads_output_by_its_gain() -> None:
    original, ours = twins({"batch_first": True}, 1.5)
    (x, _, _), _ = inputs({"batch_first": True}, {})
    _, softmax = original(x, x, x, average_attn_weights=False)
    _, weights = ours(x, x, x, average_attn_weights=False)
    gain = 1 / torch.linalg.vector_norm(softmax, 1.5, dim=-1, keepdim=True)
    torch.testing.assert_close(weights, softmax * gain)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_a_transformer_is_switched_whole_and_its_fast_path_is_not_taken() -> None:
    torch.manual_seed(2)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval()
    x = torch.randn(3, 7, 16)
    with torch.no_grad():
        before = model(x)
        assert use_mass_aware(model, 1) == 2
        torch.testing.assert_close(model(x), before, rtol=1e-5, atol=1e-5)
        assert use_mass_aware(model, 2) == 2
        assert (model(x) - before).abs().max() > 1e-2


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match=r"no torch\.nn\.MultiheadAttention"):
        use_mass_aware(nn.Linear(2, 2), 1.1)
    with pytest.raises(ValueError, match="p"):
        MultiheadAttention(12, 3, p=0.9)
    x = torch.randn(1, 2, 12)
    with pytest.raises(ValueError, match="is_causal"):
        twins({"batch_first": True}, 1)[1](x, x, x, is_causal=True)


def test_gradients_are_those_of_the_original_at_p_1() -> None:
    original, ours = twins({"batch_first": True}, 1)
    (x, _, _), _ = inputs({"batch_first": True}, {})
    for module in (original, ours):
        module(x, x, x)[0].square().sum().backward()
    for found, expected in zip(ours.parameters(), original.parameters(), strict=True):
        torch.testing.assert_close(found.grad, expected.grad, rtol=1e-4, atol=1e-5)

"""The attention function and module, against PyTorch's own and planted evidence."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from maa.attention import (
    MassAwareAttention,
    lp_gain,
    lp_normalize,
    mass_aware_attention,
)


def draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def qkv(*lead: int) -> tuple[Tensor, Tensor, Tensor]:
    return draw(*lead, 5, 8), draw(*lead, 7, 8, seed=1), draw(*lead, 7, 3, seed=2)


@pytest.mark.parametrize("lead", [(), (4,), (4, 2)])
def test_p_1_is_scaled_dot_product_attention(lead: tuple[int, ...]) -> None:
    q, k, v = qkv(*lead)
    mask = draw(*lead, 5, 7, seed=3) > -1
    mask[..., 0] = True
    expected = functional.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(mass_aware_attention(q, k, v, 1.0), expected)
    expected = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(mass_aware_attention(q, k, v, 1.0, mask), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_p_1_is_scaled_dot_product_attention_in_lower_precision(
    dtype: torch.dtype,
) -> None:
    q, k, v = (tensor.to(dtype) for tensor in qkv(4, 2))
    expected = functional.scaled_dot_product_attention(q, k, v)
    result = mass_aware_attention(q, k, v, 1.0)
    assert result.dtype == dtype
    tolerance = 3 * torch.finfo(dtype).eps
    torch.testing.assert_close(result, expected, rtol=tolerance, atol=tolerance)


def test_equation_4_scales_each_query_by_its_gain() -> None:
    q, k, v = qkv(4)
    gain = lp_gain(q @ k.mT / 8**0.5, 1.3)
    expected = gain[..., None] * mass_aware_attention(q, k, v, 1.0)
    torch.testing.assert_close(mass_aware_attention(q, k, v, 1.3), expected)


def test_equation_6_repetition_of_the_whole_context() -> None:
    q, k, v = qkv(4)
    repeated = mass_aware_attention(q, k.repeat(1, 3, 1), v.repeat(1, 3, 1), 1.1)
    once = mass_aware_attention(q, k, v, 1.1)
    torch.testing.assert_close(repeated, 3 ** (1 - 1 / 1.1) * once)


def test_padding_changes_nothing() -> None:
    q, k, v = qkv(4)
    padded = [
        torch.cat([tensor, 50 + draw(4, 6, n)], 1) for tensor, n in ((k, 8), (v, 3))
    ]
    mask = torch.arange(13) < 7
    result = mass_aware_attention(q, *padded, 1.1, mask)
    torch.testing.assert_close(result, mass_aware_attention(q, k, v, 1.1))


def test_no_valid_key_gives_zeros_and_finite_gradients() -> None:
    leaves = [tensor.requires_grad_() for tensor in qkv(2)]
    mask = torch.ones(2, 5, 7, dtype=torch.bool)
    mask[0, 3] = False
    result = mass_aware_attention(*leaves, 1.1, mask)
    assert result[0, 3].tolist() == [0.0] * 3
    result.square().sum().backward()
    assert all(leaf.grad is not None and leaf.grad.isfinite().all() for leaf in leaves)
    assert leaves[0].grad is not None
    assert leaves[0].grad[0, 3].tolist() == [0.0] * 8


def test_keys_shared_by_heads_broadcast() -> None:
    q, k, v = draw(4, 2, 5, 8), draw(4, 1, 7, 8), draw(4, 1, 7, 3)
    shared = mass_aware_attention(q, k, v, 1.1)
    own = mass_aware_attention(q, k.expand(4, 2, 7, 8), v.expand(4, 2, 7, 3), 1.1)
    torch.testing.assert_close(shared, own)


def test_dropout_acts_on_normalised_weights() -> None:
    # With the identity for values, the output is the row of weights itself. Dropout
    # before the normalisation would renormalise the survivors: no entry would be the
    # undropped weight over 1 - q.
    q, k, _ = qkv(200)
    v = torch.eye(7, dtype=torch.float64).expand(200, 7, 7)
    kept = mass_aware_attention(q, k, v, 1.1)
    torch.manual_seed(3)
    dropped = mass_aware_attention(q, k, v, 1.1, dropout=0.4)
    survivors = dropped != 0
    torch.testing.assert_close(dropped[survivors], kept[survivors] / 0.6)
    assert survivors.double().mean().item() == pytest.approx(0.6, abs=0.03)
    assert dropped.mean().item() == pytest.approx(kept.mean().item(), rel=0.03)


def test_dropout_rests_outside_training() -> None:
    q, k, v = qkv(2)
    rested = mass_aware_attention(q, k, v, 1.1, dropout=0.9, training=False)
    assert torch.equal(rested, mass_aware_attention(q, k, v, 1.1))


def test_untrained_attention_counts_evidence_where_softmax_forgets_it() -> None:
    # Each query sees r noisy copies of one key and value, r from 1 to 20. A linear
    # read-out, fitted on one half, predicts log r on the other half.
    copies = torch.arange(1, 21).repeat(40)
    mask = (torch.arange(20) < copies[:, None])[:, None]
    noise = 0.02
    key, query = draw(8, seed=4), draw(1, 8, seed=5).expand(800, 1, 8)
    k = key + noise * draw(800, 1, 8, seed=6).expand(800, 20, 8)
    v = draw(8, seed=7) + noise * draw(800, 1, 8, seed=8).expand(800, 20, 8)
    score = {}
    for p in (1.0, 1.1):
        context = mass_aware_attention(query, k, v, p, mask)[:, 0].numpy()
        score[p] = read_out(context, np.log(copies.numpy()))
    assert score[1.1] > 0.9
    assert score[1.0] < 0.05


def read_out(inputs: np.ndarray, target: np.ndarray) -> float:
    design = np.column_stack([inputs, np.ones(len(inputs))])
    half = len(target) // 2
    weights = np.linalg.lstsq(design[:half], target[:half], rcond=None)[0]
    error = target[half:] - design[half:] @ weights
    return float(1 - error.var() / target[half:].var())


@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 8), (7, 9), (7, 3)),
        ((5, 8), (7, 8), (6, 3)),
        ((2, 5, 8), (3, 7, 8), (3, 7, 3)),
        ((8,), (7, 8), (7, 3)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    shapes: tuple[tuple[int, ...], ...],
) -> None:
    tensors = [torch.zeros(shape) for shape in shapes]
    with pytest.raises(ValueError, match=r"expected q \[\.\.\., L, d\].*got"):
        mass_aware_attention(*tensors, 1.1)


def test_other_arguments_are_checked() -> None:
    q, k, v = qkv()
    with pytest.raises(ValueError, match=r"p must lie in \[1, inf\], got 0.5"):
        mass_aware_attention(q, k, v, 0.5)
    with pytest.raises(TypeError, match="mask must be bool"):
        mass_aware_attention(q, k, v, 1.1, torch.zeros(5, 7))
    with pytest.raises(ValueError, match="cannot be broadcast"):
        mass_aware_attention(q, k, v, 1.1, torch.ones(7, 5, dtype=torch.bool))
    with pytest.raises(TypeError, match="share a dtype"):
        mass_aware_attention(q, k.float(), v, 1.1)


def twin(p: float) -> tuple[MassAwareAttention, nn.MultiheadAttention]:
    """Our module and PyTorch's, with the same weights."""
    torch.manual_seed(0)
    ours = MassAwareAttention(12, 3, p).double()
    theirs = nn.MultiheadAttention(12, 3, batch_first=True).double()
    with torch.no_grad():
        projections = (ours.query, ours.key, ours.value)
        theirs.in_proj_weight.copy_(torch.cat([x.weight for x in projections]))
        theirs.in_proj_bias.copy_(torch.cat([x.bias for x in projections]))
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    return ours, theirs


def test_the_module_at_p_1_is_multi_head_attention() -> None:
    ours, theirs = twin(1.0)
    tokens, memory = draw(4, 5, 12), draw(4, 7, 12, seed=1)
    key_mask = torch.arange(7) < torch.tensor([7, 3, 1, 5])[:, None]
    mask = draw(5, 7, seed=2) > -0.7
    mask[:, 0] = True
    torch.testing.assert_close(ours(tokens), theirs(tokens, tokens, tokens)[0])
    expected, _ = theirs(
        tokens, memory, memory, key_padding_mask=~key_mask, attn_mask=~mask
    )
    result = ours(tokens, memory, key_mask=key_mask, mask=mask)
    torch.testing.assert_close(result, expected)


def test_a_mask_for_each_batch_row_or_head() -> None:
    ours, _ = twin(1.1)
    tokens, mask = draw(3, 5, 12), draw(3, 5, 5, seed=1) > 0
    key_mask = torch.arange(5) < torch.tensor([5, 2, 4])[:, None]
    result = ours(tokens, mask=mask, key_mask=key_mask)
    joined = (mask & key_mask[:, None]).unsqueeze(1).expand(3, 3, 5, 5)
    torch.testing.assert_close(ours(tokens, mask=joined), result)


def test_the_module_returns_its_gain() -> None:
    ours, _ = twin(1.1)
    tokens = draw(4, 5, 12)
    key_mask = torch.ones(4, 5, dtype=torch.bool)
    key_mask[1, 1:] = False
    output, gain = ours(tokens, key_mask=key_mask, need_gain=True)
    torch.testing.assert_close(output, ours(tokens, key_mask=key_mask))
    assert gain.shape == (4, 3, 5)
    assert gain[1].tolist() == [[1.0] * 5] * 3
    q, k = (f(tokens).view(4, 5, 3, 4).transpose(1, 2) for f in (ours.query, ours.key))
    weights = lp_normalize(q @ k.mT / 2, 1.1)
    torch.testing.assert_close(gain[0], weights.sum(-1)[0])


def test_p_adds_no_parameter() -> None:
    names = [dict(MassAwareAttention(12, 3, p).named_parameters()) for p in (1.0, 1.1)]
    shapes = [{name: x.shape for name, x in parameters.items()} for parameters in names]
    assert shapes[0] == shapes[1]


def test_other_widths_for_keys_and_values() -> None:
    module = MassAwareAttention(12, 3, 1.1, key_dim=5, value_dim=7, bias=False).double()
    output = module(draw(2, 4, 12), draw(2, 6, 5), draw(2, 6, 7))
    assert output.shape == (2, 4, 12)
    assert output.isfinite().all()


def test_the_module_drops_weights_while_training_only() -> None:
    torch.manual_seed(0)
    module = MassAwareAttention(12, 3, 1.1, dropout=0.5).double()
    tokens = draw(2, 5, 12)
    assert not torch.equal(module(tokens), module(tokens))
    module.eval()
    assert torch.equal(module(tokens), module(tokens))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"embed_dim": 10, "heads": 3, "p": 1.1}, "multiple of heads, got 10 and 3"),
        ({"embed_dim": 12, "heads": 0, "p": 1.1}, "multiple of heads, got 12 and 0"),
        ({"embed_dim": 12, "heads": 3, "p": 0.9}, "p must lie in"),
        ({"embed_dim": 12, "heads": 3, "p": 1.1, "dropout": 1.0}, "dropout must lie"),
    ],
)
def test_the_module_refuses_bad_settings(
    arguments: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MassAwareAttention(**arguments)  # type: ignore[arg-type]


def test_the_module_refuses_bad_inputs() -> None:
    module = MassAwareAttention(12, 3, 1.1).double()
    tokens = draw(2, 5, 12)
    with pytest.raises(ValueError, match=r"expected query \[batch, L, width\]"):
        module(tokens, draw(3, 5, 12))
    with pytest.raises(ValueError, match=r"expected query \[batch, L, width\]"):
        module(tokens[0])
    with pytest.raises(TypeError, match="key_mask must be bool"):
        module(tokens, key_mask=torch.ones(2, 5))
    with pytest.raises(ValueError, match=r"\[batch, n\] = \[2, 5\], got \[2, 4\]"):
        module(tokens, key_mask=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(TypeError, match="mask must be bool"):
        module(tokens, mask=torch.zeros(5, 5))
    with pytest.raises(ValueError, match="cannot be broadcast"):
        module(tokens, mask=torch.ones(5, 4, dtype=torch.bool))

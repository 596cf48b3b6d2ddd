"""The closed form of the Jacobian against automatic differentiation."""

import math

import pytest
import torch
from torch import Tensor, nn

from maa.attention.temporal.jacobian import paths
from maa.attention.temporal.layer import Layer, from_linears, rows
from maa.attention.temporal.norms import norms, spectral
from tests.attention.rows.helpers import close
from tests.attention.temporal.helpers import STEPS, biases, layer, sequence

TOLERANCE = 1e-10
X = sequence(1, STEPS, 5)


def by_autograd(function: Layer, x: Tensor, bias: Tensor | None) -> Tensor:
    """The Jacobian of the layer itself, (T, T, O, D)."""
    whole = torch.autograd.functional.jacobian(lambda x: function(x, bias), x)
    return whole.permute(0, 2, 1, 3)


def written_out(one: Layer, x: Tensor, bias: Tensor | None) -> Tensor:
    """The layer once more, from softmax or norms alone."""
    each = zip((one.query, one.key, one.value), own_biases(one), strict=True)
    q, k, v = (torch.einsum("td,hod->hto", x, w) + b[:, None] for w, b in each)
    logits = q @ k.mT / math.sqrt(q.shape[-1]) + (0 if bias is None else bias)
    top = logits.amax(-1, keepdim=True)
    if math.isfinite(one.p):
        top = torch.logsumexp(one.p * logits, -1, keepdim=True) / one.p
    output = ((logits - top).exp() @ v).sum(0) + one.offset
    return output + x if one.residual else output


def own_biases(one: Layer) -> tuple[Tensor, Tensor, Tensor]:
    return one.query_bias, one.key_bias, one.value_bias


@pytest.mark.parametrize("p", [1.0, 1.1, 2.0, math.inf])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("name", biases())
def test_closed_form(name: str, residual: bool, heads: int, p: float) -> None:
    one, bias = layer(2, heads, biased=True, p=p, residual=residual), biases()[name]
    found = paths(one, X, bias).total
    close(found, by_autograd(one, X, bias), TOLERANCE)
    if name == "causal and mask":  # softmax of a row without keys is NaN
        return
    close(one(X, bias), written_out(one, X, bias), TOLERANCE)
    whole = torch.func.jacrev(written_out, argnums=1)(one, X, bias)
    close(found, whole.permute(0, 2, 1, 3), TOLERANCE)


def test_forward_is_attention_as_torch_has_it() -> None:
    module = nn.MultiheadAttention(6, 2, batch_first=True, dtype=torch.float64)
    nn.init.normal_(module.in_proj_bias)
    nn.init.normal_(module.out_proj.bias)
    linears = []
    for weight, bias in zip(
        module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3), strict=True
    ):
        linear = nn.Linear(6, 6, dtype=torch.float64)
        linear.weight, linear.bias = nn.Parameter(weight), nn.Parameter(bias)
        linears.append(linear)
    one = from_linears(*linears, module.out_proj, heads=2, residual=False)
    x, bias = sequence(3, 4, STEPS, 6), biases()["penalty"]
    close(one(x, bias), module(x, x, x, attn_mask=bias)[0].detach())
    side = from_linears(*linears, None, heads=2, residual=False)
    close(side(x) @ module.out_proj.weight.mT + module.out_proj.bias, one(x))


def test_batches_of_inputs_layers_and_biases() -> None:
    ones = [layer(seed, 2) for seed in (4, 5)]
    both = Layer(
        *(
            torch.stack([getattr(one, name) for one in ones])
            for name in ("query", "key", "value")
        )
    )
    x = sequence(6, 2, STEPS, 5)
    bias = sequence(7, 2, STEPS, STEPS)  # one a head
    found = paths(both, x, bias)
    for index, one in enumerate(ones):
        alone = paths(one, x[index], bias)
        close(found.total[index], alone.total)
        close(found.total[index], by_autograd(one, x[index], bias), TOLERANCE)
    many = paths(ones[0], x.expand(3, 2, STEPS, 5), bias)
    close(many.total[2, 1], paths(ones[0], x[1], bias).total)


def test_some_rows_are_those_of_the_whole() -> None:
    one = layer(8, 2, p=1.1)
    whole, some = paths(one, X), paths(one, X, part=slice(2, 5))
    close(some.total, whole.total[2:5])
    assert some.index.tolist() == [2, 3, 4]


def test_the_matrix_is_the_derivative_of_the_flat_output() -> None:
    one = layer(9)
    step = 1e-6 * sequence(10, STEPS, 5)
    moved = (one(X + step) - one(X - step)).flatten() / 2
    close(paths(one, X).matrix @ step.flatten(), moved, 1e-9)


@pytest.mark.parametrize("p", [1.0, 1.1, 2.0])
@pytest.mark.parametrize("name", biases())
def test_key_paths_of_a_row_cancel(name: str, p: float) -> None:
    found = paths(layer(11, 2, p=p), X, biases()[name])
    assert found.key.abs().max() > 0.1
    close(found.key.sum(1), 0.0, 1e-12)


@pytest.mark.parametrize("p", [1.0, 1.1, 2.0])
def test_value_paths_add_up_to_the_gain(p: float) -> None:
    """At p = 1 their mean norm over j is ||W_V|| / T exactly, whatever the row."""
    one = layer(12, p=p)
    found = rows(one, X).gain[0] * spectral(one.value)[0]
    means = norms(one, X).value.mean(1)
    close(means, found / STEPS, 1e-12)
    if p == 1:
        assert torch.allclose(means, means[0])
    else:
        assert (means > 1.001 * spectral(one.value)[0] / STEPS).all()


def test_mean_value_path_off_the_diagonal() -> None:
    """(1 - a_ii) ||W_V|| / (T - 1), which is above 1 / T where a_ii is below it."""
    one = layer(13)
    for name, bias in biases().items():
        found = norms(one, X, bias)
        own = rows(one, X, bias).softmax[0].diagonal()
        left = (found.value.sum(1) - found.value.diagonal()) / (STEPS - 1)
        held = rows(one, X, bias).gain[0]  # 0 for a row without keys
        close(left, (held - own) * spectral(one.value)[0] / (STEPS - 1), 1e-12)
        above = left > spectral(one.value)[0] / STEPS * (1 + 1e-12)
        assert torch.equal(above, (own < 1 / STEPS - 1e-12) & (held > 0)), name


def test_norm_of_the_key_path() -> None:
    one = layer(14)
    found, row = paths(one, X), rows(one, X)
    apart = torch.linalg.vector_norm(row.values[0] - row.output[0][:, None], dim=-1)
    query = torch.linalg.vector_norm(row.queries[0] @ one.key[0], dim=-1)
    expected = row.weights[0] * apart * query[:, None] / math.sqrt(3)
    close(spectral(found.key), expected)
    close(norms(one, X).key, expected, 1e-12)
    # Cauchy and Schwarz: the mean over j is at most the spread of the values
    spread = (row.weights[0] * apart.square()).sum(1).sqrt()
    assert (expected.mean(1) <= spread * query / math.sqrt(3) / STEPS).all()


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("residual", [True, False])
def test_norms_by_blocks_are_those_of_the_paths(heads: int, residual: bool) -> None:
    one, x = layer(15, heads, p=1.1, residual=residual), sequence(16, 2, STEPS, 5)
    bias = biases()["penalty"]
    found, by_path = norms(one, x, bias, elements=1), paths(one, x, bias)
    exact = {
        "total": torch.linalg.matrix_norm(by_path.total, 2),
        "value": torch.linalg.matrix_norm(by_path.value, 2),
        "key": torch.linalg.matrix_norm(by_path.key, 2),
        "query": torch.linalg.matrix_norm(by_path.query, 2),
    }
    for name, expected in exact.items():
        close(getattr(found, name), expected, 1e-7)
        close(getattr(norms(one, x, bias), name), getattr(found, name))
    own = (by_path.value + by_path.key).diagonal(dim1=1, dim2=2).permute(0, 3, 1, 2)
    close(found.attended, torch.linalg.matrix_norm(own, 2))
    close(found.diagonal, exact["total"].diagonal(dim1=1, dim2=2))


def test_heads_add_up_by_path_but_their_norms_do_not() -> None:
    one = layer(17, 2, residual=False)
    halves = [
        Layer(one.query[h : h + 1], one.key[h : h + 1], one.value[h : h + 1])
        for h in (0, 1)
    ]
    whole, parts = paths(one, X), [paths(half, X) for half in halves]
    for path in ("value", "key", "query"):
        close(getattr(whole, path), sum(getattr(part, path) for part in parts))
    apart = sum(spectral(part.value).mean(1) for part in parts)
    assert (spectral(whole.value).mean(1) < 0.999 * apart).all()


def test_a_row_without_keys_has_the_residual_alone() -> None:
    found = paths(layer(18), X, biases()["causal and mask"]).total[0]
    close(found[0], torch.eye(5, dtype=torch.float64))
    close(found[1:], 0.0)


def test_what_does_not_fit_is_named() -> None:
    one = layer(19)
    with pytest.raises(ValueError, match=r"takes \(\.\.\., T, 5\), got \[6, 4\]"):
        rows(one, X[:, :4])
    with pytest.raises(ValueError, match="bias of 6 time steps"):
        rows(one, X, torch.zeros(6, 5, dtype=torch.float64))
    with pytest.raises(ValueError, match="set residual=False"):
        Layer(one.query, one.key, one.value[:, :4])
    with pytest.raises(ValueError, match=r"value \(\.\.\., H, O, D\)"):
        Layer(one.query, one.key[:, :2], one.value)
    with pytest.raises(ValueError, match="cannot be split into 4 heads"):
        from_linears(*[nn.Linear(5, 5)] * 4, heads=4)

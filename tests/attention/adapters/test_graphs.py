"""PyG's attention convolutions: the same at p = 1, and repeated edges at others."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GATv2Conv, TransformerConv
from torch_geometric.nn.aggr import AttentionalAggregation

from maa.attention import lp_normalize
from maa.attention.adapters.graphs import (
    KINDS,
    MassAwareAggregation,
    MassAwareGATv2Conv,
    MassAwareTransformerConv,
    segment_lp,
    use_mass_aware,
)

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0, 2], [3, 3, 3, 3, 0, 1, 1]])
X = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
EDGE_ATTR = torch.randn(7, 3, generator=torch.Generator().manual_seed(2))


def twins(kind: type[nn.Module], p: float, **options: Any) -> list[nn.Module]:
    found = []
    for build in (kind, KINDS[kind]):
        torch.manual_seed(3)
        more = {} if build is kind else {"p": p}
        found.append(build(6, 4, heads=2, **options, **more))
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("edge_dim", [None, 3])
def test_p_1_is_the_original(kind: type[nn.Module], edge_dim: int | None) -> None:
    original, ours = twins(kind, 1, edge_dim=edge_dim)
    edge_attr = None if edge_dim is None else EDGE_ATTR
    given = (X, EDGES, edge_attr)
    torch.testing.assert_close(ours(*given), original(*given), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("p", [1.0, 1.1, 3.0, float("inf")])
def test_segments_are_rows(p: float) -> None:
    logits = torch.randn(7, 2, dtype=torch.float64)
    index = torch.tensor([0, 2, 0, 0, 2, 3, 0])
    found = segment_lp(logits, p, index, 4)
    for group in (0, 2, 3):
        rows = lp_normalize(logits[index == group].T, p).T
        torch.testing.assert_close(found[index == group], rows)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_repeated_evidence_stays_in_the_output(kind: type[nn.Module]) -> None:
    """r copies of a node's only edge multiply its message by r^(1 - 1/p)."""
    options = {"root_weight": False} if kind is TransformerConv else {}
    if kind is not TransformerConv:
        options["add_self_loops"] = False
    original, ours = twins(kind, 2, bias=False, **options)
    once, four = EDGES[:, 4:5], EDGES[:, 4:5].repeat(1, 4)
    torch.testing.assert_close(original(X, four)[0], original(X, once)[0])
    torch.testing.assert_close(ours(X, four)[0], 2 * ours(X, once)[0])


def test_dropout_comes_after_the_gain() -> None:
    """With half of the weights dropped the mean output is that without dropout."""
    torch.manual_seed(4)
    for kind in (MassAwareTransformerConv, MassAwareGATv2Conv):
        conv = kind(6, 4, heads=1, dropout=0.5, p=1.5).double()
        x = X.double()
        expected = conv.eval()(x, EDGES)
        conv.train()
        many = torch.stack([conv(x, EDGES) for _ in range(3000)])
        error = many.std(0) / 3000**0.5
        assert ((many.mean(0) - expected).abs() <= 5 * error + 1e-9).all()
        assert conv.dropout == 0.5
        assert (error > 0).any()


def test_a_model_is_switched_in_place() -> None:
    model = nn.ModuleList([TransformerConv(6, 4), GATv2Conv(6, 4), GATConv(6, 4)])
    before = [conv(X, EDGES) for conv in model]
    assert use_mass_aware(model, 1) == 3
    for conv, expected in zip(model, before, strict=True):
        torch.testing.assert_close(conv(X, EDGES), expected, rtol=1e-6, atol=1e-6)
    assert use_mass_aware(model, 1.5) == 3
    assert all("p=1.5" in repr(conv) for conv in model)
    assert all(
        (conv(X, EDGES) - expected).abs().max() > 1e-3
        for conv, expected in zip(model, before, strict=True)
    )
    with pytest.raises(ValueError, match="TransformerConv"):
        use_mass_aware(nn.Linear(2, 2), 1.1)


def aggregations(p: float) -> tuple[AttentionalAggregation, MassAwareAggregation]:
    torch.manual_seed(5)
    gate, transform = nn.Linear(6, 1), nn.Linear(6, 4)
    return (
        AttentionalAggregation(gate, transform),
        MassAwareAggregation(gate, p, transform),
    )


@pytest.mark.parametrize("by", ["index", "ptr", "all"])
def test_the_aggregation_is_the_attentional_one_at_p_1(by: str) -> None:
    original, ours = aggregations(1)
    given: dict[str, Tensor] = {}
    if by == "index":
        given = {"index": torch.tensor([0, 0, 1, 1, 1])}
    elif by == "ptr":
        given = {"ptr": torch.tensor([0, 2, 5])}
    torch.testing.assert_close(ours(X, **given), original(X, **given))


def test_the_aggregation_counts_at_another_p() -> None:
    _, ours = aggregations(2)
    one = X[:1]
    torch.testing.assert_close(ours(one.repeat(9, 1)), 3 * ours(one))

"""The forecaster and its graph steps against plain forms, part by part."""

import math

import pytest
import torch
from torch import nn

from maa.attention import parse_operator
from maa.attention.aggregation.base import draw
from maa.domains import load_backbone
from maa.domains.traffic.backbones.adaptive import Diagonal, Learned
from maa.domains.traffic.backbones.layers import Record
from maa.domains.traffic.backbones.roads import Road
from maa.domains.traffic.backbones.temporal import TemporalAttention, step_encoding
from maa.domains.traffic.windows import Windows
from tests.domains.traffic.small import MODEL, series

N, R, H = 5, 7, 8
PLAIN = parse_operator("p1.00")


def concatenated(step, x, first, second):
    """The step as one writes it first: five terms side by side, then the map."""
    terms = [x, first(x), first(first(x)), second(x), second(second(x))]
    return step.merge(torch.cat(terms, dim=-1))


def product(matrix):
    return lambda x: torch.einsum("nm,mrh->nrh", matrix, x)


@pytest.fixture
def x():
    return torch.randn(N, R, H, generator=torch.Generator().manual_seed(1))


def test_the_released_step_takes_the_diagonal_of_the_transitions(x):
    torch.manual_seed(0)
    step = Diagonal(H, N, 3)
    along, against = step.transitions()

    def contraction(matrix):
        # the released one: the repeated letter picks the diagonal
        return lambda y: torch.einsum("nn,nrh->nrh", matrix, y)

    expected = concatenated(step, x, contraction(along), contraction(against))
    torch.testing.assert_close(step(x), expected, atol=1e-6, rtol=1e-5)
    mixed = concatenated(step, x, product(along), product(against))
    assert (step(x) - mixed).abs().max() > 0.05


def test_the_released_step_mixes_no_sensors_and_the_corrected_one_does(x):
    torch.manual_seed(0)
    changed = x.clone()
    changed[2] += 1
    for kind, alone in ((Diagonal, True), (Learned, False)):
        step = kind(H, N, 3)
        moved = (step(changed) - step(x)).abs().amax((1, 2)) > 1e-6
        assert moved[2] and bool(moved[[0, 1, 3, 4]].any()) is not alone


def test_the_corrected_step_is_the_product_with_the_transitions(x):
    torch.manual_seed(0)
    step = Learned(H, N, 3)
    along, against = step.transitions()
    torch.testing.assert_close(along.sum(1), torch.ones(N))
    torch.testing.assert_close(
        against, torch.softmax(torch.relu(step.second @ step.first.T), dim=1)
    )
    expected = concatenated(step, x, product(along), product(against))
    torch.testing.assert_close(step(x), expected, atol=1e-6, rtol=1e-5)


def test_the_step_on_roads_follows_the_given_graph(x):
    weights = torch.rand(N, N, generator=torch.Generator().manual_seed(2))
    weights[weights < 0.5] = 0
    weights[3] = 0  # a sensor without a road out of it
    step = Road(H, weights.numpy())

    def transitions(graph):
        return product(graph / graph.sum(1, keepdim=True).clamp(min=1e-12))

    expected = concatenated(step, x, transitions(weights), transitions(weights.T))
    torch.testing.assert_close(step(x), expected, atol=1e-6, rtol=1e-5)
    assert [name for name, _ in step.named_parameters()] == [
        "merge.weight",
        "merge.bias",
    ]


def test_p_of_one_is_the_attention_of_torch():
    torch.manual_seed(0)
    ours = TemporalAttention(H, 2, PLAIN, dropout=0.0)
    theirs = nn.MultiheadAttention(H, 2, batch_first=True)
    theirs.in_proj_weight.data.copy_(ours.project.weight)
    theirs.in_proj_bias.data.copy_(ours.project.bias)
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    tokens = torch.randn(6, 12, H, requires_grad=True)
    found, logits, weights = ours(tokens)
    expected, mean = theirs(tokens, tokens, tokens)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(weights.mean(2), mean, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(logits.softmax(-1), weights, atol=1e-6, rtol=1e-5)
    (ours_grad,) = torch.autograd.grad(found.square().sum(), tokens)
    (theirs_grad,) = torch.autograd.grad(expected.square().sum(), tokens)
    torch.testing.assert_close(ours_grad, theirs_grad, atol=1e-5, rtol=1e-4)


def test_p_above_one_scales_each_row_by_its_gain():
    torch.manual_seed(0)
    plain = TemporalAttention(H, 2, PLAIN, dropout=0.0)
    other = TemporalAttention(H, 2, parse_operator("p2.00"), dropout=0.0)
    other.load_state_dict(plain.state_dict())
    tokens = torch.randn(6, 12, H)
    softmax, powered = plain(tokens)[2], other(tokens)[2]
    gain = 1 / softmax.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(powered, softmax * gain)


def test_dropped_weights_are_the_ones_applied():
    torch.manual_seed(0)
    layer = TemporalAttention(H, 2, PLAIN, dropout=0.5).train()
    _, logits, weights = layer(torch.randn(50, 12, H))
    kept = weights != 0
    torch.testing.assert_close(weights[kept], 2 * logits.softmax(-1)[kept])
    assert kept.float().mean() == pytest.approx(0.5, abs=0.02)


def test_the_encoding_by_hand():
    table = step_encoding(12, 72)
    angle = 3 * 10_000 ** (-2 * 5 / 72) * 72 / 12
    assert table[3, 10].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert table[3, 11].item() == pytest.approx(math.cos(angle), abs=1e-6)
    assert table[0, 0::2].abs().max() == 0 and (table[0, 1::2] == 1).all()


BACKBONES = (
    *("released", "corrected", "road"),
    *("released-no-residual", "corrected-no-residual"),
)
OPERATORS = (
    *("p1.10-l2", "p1.10-uniform", "p1.10-length", "cpa-scaled", "cpa-additive"),
    *("affine", "sigmoid", "nap", "pinf", "p2.00to1.10", "diagonal-mask"),
    *("diagonal-dropout0.20", "diagonal-dropout-weights0.20"),
    "p1.10-diagonal-penalty0.10",
)


@pytest.mark.parametrize("name", BACKBONES)
def test_a_model_is_the_sum_of_its_parts(name):
    prepared = series()
    torch.manual_seed(0)
    model = load_backbone("traffic", name).build(prepared, PLAIN, MODEL).eval()
    windows = Windows(prepared)
    data = windows.at(windows.starts("test")[:2])
    x = model.embed(data.speed[..., None]) + model.encoding
    times = data.day_time[..., None]
    for block in model.blocks:
        attended = block.attention(x.flatten(0, 1))[0].view_as(x)
        change = attended + block.clocks[0](times)
        x = block.norms[0](change if "no-residual" in name else x + change)
        mixed = block.graph(x.flatten(1, 2)).view_as(x)
        x = block.norms[1](x + mixed + block.clocks[1](times))
    z = torch.cat([x, times.expand(len(x), -1, -1, -1)], -1)
    expected = model.ahead(model.readout(z)[..., 0])
    record = Record()
    torch.testing.assert_close(model.read(data.speed, data.day_time, record), z)
    torch.testing.assert_close(model(data.speed, data.day_time), expected)
    assert len(record.weights) == MODEL["depth"]
    torch.testing.assert_close(record.tokens[-1], x)


def test_the_published_number_of_parameters():
    # A3's derivation, some 621,000 for 207 sensors, holds with a graph for each block
    prepared = series(sensors=207, days=2)
    settings = {"hidden": 72, "heads": 8, "depth": 12, "dropout": 0.1, "embedding": 10}
    for name in ("released", "corrected"):
        model = load_backbone("traffic", name).build(prepared, PLAIN, settings)
        count = sum(parameter.numel() for parameter in model.parameters())
        assert round(count, -3) == 621_000


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_trains_at_the_temporal_attention(operator):
    prepared = series()
    torch.manual_seed(0)
    build = load_backbone("traffic", "released").build
    model = build(prepared, parse_operator(operator), MODEL).train()
    draw(model, torch.Generator().manual_seed(0))
    windows = Windows(prepared)
    data = windows.at(windows.starts("train")[:3])
    model(data.speed, data.day_time).square().mean().backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(torch.isfinite(grad).all() for grad in grads)
    assert model.blocks[0].attention.project.weight.grad.abs().sum() > 0

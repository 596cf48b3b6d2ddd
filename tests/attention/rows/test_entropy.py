"""Entropies and divergences in channels: lemma 2, the midpoint rule, JS's chain."""

import math

import pytest
import torch
from torch import Tensor

from maa.attention.rows.dissimilarity import euclid
from maa.attention.rows.entropy import (
    attribute,
    binary_entropy,
    divergence_parts,
    entropy,
    entropy_parts,
    jensen_shannon,
)
from maa.attention.rows.geometry import log_closure
from tests.attention.rows.helpers import close, mask

GENERATOR = torch.Generator().manual_seed(7)


def rows(*shape: int) -> Tensor:
    return 2 * torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def test_entropy_by_hand() -> None:
    p = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64).log()
    close(entropy(p), 1.5 * math.log(2))
    close(entropy(torch.zeros(7, dtype=torch.float64)), math.log(7))
    close(entropy(p, mask(3, 1)), 0.0)
    parts = entropy_parts(p, mask(3, 0))
    close(parts.binary, math.log(2))
    close(parts.content, math.log(2))
    close(parts.sinks, 0.0)


@pytest.mark.parametrize("sinks", [(0,), (0, 3, 5)])
def test_lemma_2_the_channels_add_up(sinks: tuple[int, ...]) -> None:
    a = rows(100, 9)
    support = torch.rand(100, 9, generator=GENERATOR) < 0.8
    support[:, 0] = support[:, 1] = True
    parts = entropy_parts(a, mask(9, *sinks), support)
    close(parts.total, entropy(a, support))
    close(parts.share + parts.rest, 1.0)


def test_a_sink_that_holds_nearly_all_costs_no_digits() -> None:
    """At 1 - 1e-30 a share is 1 in any float; the content's part is still there."""
    a = torch.tensor([70.0, 0.0, 0.0], dtype=torch.float64)
    parts = entropy_parts(a, mask(3, 0))
    rest = 2 * math.exp(-70.0)
    assert parts.rest.item() == pytest.approx(rest, rel=1e-9)
    assert parts.binary.item() == pytest.approx(rest - rest * math.log(rest), rel=1e-9)
    assert parts.content.item() == pytest.approx(math.log(2), rel=1e-12)
    assert binary_entropy(torch.tensor([-math.inf, math.inf])).tolist() == [0, 0]


def test_a_row_that_is_all_sink_has_no_content() -> None:
    parts = entropy_parts(rows(4, 3), mask(3, 0), mask(3, 0))
    close(parts.share, 1.0)
    close(parts.total, 0.0)


@pytest.mark.parametrize("sinks", [(0,), (0, 4)])
def test_the_midpoint_rule_attributes_the_whole_change(sinks: tuple[int, ...]) -> None:
    before = entropy_parts(rows(80, 8), mask(8, *sinks))
    after = entropy_parts(rows(80, 8), mask(8, *sinks))
    change = attribute(before, after)
    close(change.total, after.total - before.total)
    back = attribute(after, before)
    for channel in ("sink", "within", "content"):
        close(getattr(back, channel), -getattr(change, channel))


def test_a_sink_that_grows_alone_is_all_of_the_change() -> None:
    a = rows(30, 6)
    b = a.clone()
    b[:, 0] += 2
    change = attribute(entropy_parts(a, mask(6, 0)), entropy_parts(b, mask(6, 0)))
    close(change.content, 0.0)
    close(change.sink, entropy(b) - entropy(a))


def test_content_that_sharpens_alone_is_all_of_the_change() -> None:
    pi, rho = rows(30, 6), rows(30, 6)
    sink = torch.full((30, 1), math.log(0.3), dtype=torch.float64)
    a = torch.cat([sink, math.log(0.7) + log_closure(pi)], 1)
    b = torch.cat([sink, math.log(0.7) + log_closure(rho)], 1)
    change = attribute(entropy_parts(a, mask(7, 0)), entropy_parts(b, mask(7, 0)))
    close(change.sink, 0.0)
    close(change.content, 0.7 * (entropy(rho) - entropy(pi)))


def test_jensen_shannon_by_hand() -> None:
    p = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64).log()
    q = torch.tensor([0.0, 0.5, 0.5], dtype=torch.float64).log()
    close(jensen_shannon(p, q), math.log(2))
    close(jensen_shannon(p, p), 0.0)
    a, b = rows(10, 5), rows(10, 5)
    from scipy.spatial.distance import jensenshannon

    p, q = log_closure(a).exp(), log_closure(b).exp()
    peer = [jensenshannon(x, y) ** 2 for x, y in zip(p, q, strict=True)]
    close(jensen_shannon(a, b), torch.tensor(peer))


@pytest.mark.parametrize("sinks", [(0,), (0, 2)])
def test_jensen_shannon_splits_exactly(sinks: tuple[int, ...]) -> None:
    a, b = rows(60, 7), rows(60, 7)
    support = torch.rand(60, 7, generator=GENERATOR) < 0.8
    support[:, 0] = support[:, 1] = True
    parts = divergence_parts(a, b, mask(7, *sinks), support)
    close(parts.total, jensen_shannon(a, b, support))


def test_at_equal_sinks_the_content_is_scaled_by_what_the_sink_leaves() -> None:
    """Then neither JS nor Euclid can flip; cosine can."""
    pi, rho, s = log_closure(rows(20, 5)), log_closure(rows(20, 5)), 0.8
    sink = torch.full((20, 1), math.log(s), dtype=torch.float64)
    a = torch.cat([sink, math.log(1 - s) + pi], 1)
    b = torch.cat([sink, math.log(1 - s) + rho], 1)
    close(jensen_shannon(a, b), (1 - s) * jensen_shannon(pi, rho))
    close(euclid(a, b), (1 - s) * euclid(pi, rho))

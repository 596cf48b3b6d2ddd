"""Verdicts that a convention decides: theorem 1, and what theorem 3 leaves."""

import math

import pytest
import torch
from torch import Tensor

from maa.attention.rows.bounds import collapse_bounds
from maa.attention.rows.dissimilarity import (
    DISSIMILARITIES,
    cosine,
    euclid,
    flips,
    total_variation,
    verdict,
)
from maa.attention.rows.entropy import entropy, jensen_shannon
from maa.attention.rows.geometry import distance, log_closure
from maa.attention.rows.split import content_distance

SINK = torch.tensor([True, False, False])
P, Q, R = (
    torch.tensor(row, dtype=torch.float64).log()
    for row in ((0.90, 0.08, 0.02), (0.70, 0.24, 0.06), (0.90, 0.02, 0.08))
)
GENERATOR = torch.Generator().manual_seed(9)
# kept pq, pr; dropped pq, pr: the worked example, computed once by hand
EXAMPLE = {
    "cosine": (0.0307, 0.0044, 0.0, 0.5294),
    "js": (0.0324, 0.0193, 0.0, 0.1927),
    "euclid": (0.2592, 0.0849, 0.0, 0.8485),
    "aitchison": (1.1022, 1.9605, 0.0, 1.9605),
}


def rows(*shape: int) -> Tensor:
    return 2 * torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


@pytest.mark.parametrize("name", EXAMPLE)
def test_the_worked_example(name: str) -> None:
    measure = DISSIMILARITIES[name]
    found = [measure(P, other, None).item() for other in (Q, R)]
    found += [measure(P, other, ~SINK).item() for other in (Q, R)]
    assert found == pytest.approx(EXAMPLE[name], abs=5e-5)
    assert bool(flips(measure, P, Q, R, SINK)) == (name != "aitchison")
    assert verdict(measure, P, Q, R, ~SINK) == -1


@pytest.mark.parametrize("name", ["js", "euclid", "cosine"])
@pytest.mark.parametrize("keys", [3, 10, 64])
def test_theorem_1_the_reversal_holds_on_an_open_set(name: str, keys: int) -> None:
    """Rows near a reversing triple reverse too, whatever the direction they move in."""
    pi, rho = log_closure(rows(keys - 1)), log_closure(rows(keys - 1))
    s, t = 0.995, 0.6

    def row(mass: float, content: Tensor) -> Tensor:
        sink = torch.tensor([math.log(mass)], dtype=torch.float64)
        return torch.cat([sink, math.log1p(-mass) + content])

    centre = row(s, pi), row(t, pi), row(s, rho)
    near = [one + 1e-3 * rows(500, keys) for one in centre]
    sink = torch.zeros(keys, dtype=torch.bool)
    sink[0] = True
    assert flips(DISSIMILARITIES[name], *near, sink).all()


def test_the_condition_of_the_reversal() -> None:
    """JS reverses iff that of the shares exceeds what the sink leaves of the rest."""
    pi, rho = log_closure(rows(300, 4)), log_closure(rows(300, 4))
    s = torch.rand(300, 1, generator=GENERATOR, dtype=torch.float64)
    t = torch.rand(300, 1, generator=GENERATOR, dtype=torch.float64)
    p = torch.cat([s.log(), (1 - s).log() + pi], 1)
    q = torch.cat([t.log(), (1 - t).log() + pi], 1)
    r = torch.cat([s.log(), (1 - s).log() + rho], 1)
    shares = torch.cat([s, 1 - s], 1).log(), torch.cat([t, 1 - t], 1).log()
    should = jensen_shannon(*shares) > (1 - s[:, 0]) * jensen_shannon(pi, rho)
    sink = torch.tensor([True, False, False, False, False])
    kept = verdict(jensen_shannon, p, q, r) == 1
    assert torch.equal(kept, should)
    assert should.any() and not should.all()
    content = content_distance(p, q, sink) < content_distance(p, r, sink)
    assert content.all()


def test_equal_sinks_flip_neither_js_nor_euclid_but_cosine() -> None:
    contents = [log_closure(rows(2000, 4)) for _ in range(3)]
    sink = torch.zeros(2000, 1, dtype=torch.float64)
    triple = [torch.cat([sink, 0.2 + one], 1) for one in contents]
    first = torch.tensor([True, False, False, False, False])
    assert not flips(jensen_shannon, *triple, first).any()
    assert not flips(euclid, *triple, first).any()
    assert flips(cosine, *triple, first).any()


@pytest.mark.parametrize("content", [0.2, 0.05, 0.01])
def test_theorem_3_what_a_sink_leaves(content: float) -> None:
    keys = 33
    bounds = collapse_bounds(content, keys)
    share = content * torch.rand(2, 4000, 1, generator=GENERATOR, dtype=torch.float64)
    share[:, :2000] = content
    spread = log_closure(20 * rows(2, 4000, keys - 1))
    a, b = torch.cat([(1 - share).log(), share.log() + spread], -1)
    found = {
        "total_variation": total_variation(a, b),
        "euclid": euclid(a, b),
        "cosine": cosine(a, b),
        "js": jensen_shannon(a, b),
        "entropy": entropy(a),
    }
    for name, values in found.items():
        assert values.max() <= bounds[name] * (1 + 1e-9), name
        if name != "entropy":
            assert values.max() > 0.9 * bounds[name], name
    sink = torch.zeros(keys, dtype=torch.bool)
    sink[0] = True
    assert content_distance(a, b, sink).max() > 100
    flat = torch.cat([(1 - share[0]).log(), (share[0] / 32).log().expand(-1, 32)], -1)
    assert entropy(flat).max().item() == pytest.approx(bounds["entropy"])


def test_bounds_have_a_range() -> None:
    with pytest.raises(ValueError, match="at most at 1/2"):
        collapse_bounds(0.6, 3)
    with pytest.raises(ValueError, match="at least 2 keys"):
        collapse_bounds(0.1, 1)


def test_euclid_and_total_variation_by_hand() -> None:
    assert euclid(P, R).item() == pytest.approx(0.06 * math.sqrt(2))
    assert total_variation(P, Q).item() == pytest.approx(0.2)
    assert distance(P, P).item() == 0

"""Running moments and medians of groups, against exact ones of single prefixes."""

import statistics

import numpy as np
import pytest
from numpy.typing import NDArray

from maa.domains.ctdg.prefixes import prefix_medians, prefix_moments

HARD = {
    "small spread beside the mean": lambda rng, n: 1e6 + 1e-3 * rng.normal(size=n),
    "spread at the last digits": lambda rng, n: 1e9 + 1e-6 * rng.integers(0, 9, n),
    "twelve orders of magnitude": lambda rng, n: 10 ** rng.uniform(-6, 6, n),
    "an outlier first": lambda rng, n: np.append(1e9, 1 + rng.random(n - 1)),
    "an outlier amid": lambda rng, n: np.where(np.arange(n) == n // 2, 1e9, 1.0),
}


def ranks_of(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(size) for size in sizes])


@pytest.mark.parametrize("name", HARD)
def test_moments_keep_their_digits(name: str) -> None:
    rng = np.random.default_rng(0)
    # A group of huge values ahead must not cost the next one its digits.
    ahead, values = 1e12 * rng.random(50), HARD[name](rng, 300)
    mean, spread = prefix_moments(np.append(ahead, values), ranks_of([50, 300]))
    for stop in range(2, 301, 11):
        prefix = values[:stop].tolist()  # statistics computes in exact fractions
        # 300 values may cost a factor 300 of the precision of 1.1e-16.
        assert mean[49 + stop] == pytest.approx(statistics.mean(prefix), rel=1e-13)
        assert spread[49 + stop] == pytest.approx(
            statistics.pstdev(prefix), rel=1e-13, abs=0
        )


def test_equal_values_have_no_spread_at_all() -> None:
    values = np.full(1000, 0.1) * np.repeat([1, 1e9], 500)
    mean, spread = prefix_moments(values, ranks_of([500, 500]))
    assert not spread.any()
    assert np.array_equal(mean, values)


def test_medians_of_prefixes() -> None:
    rng = np.random.default_rng(1)
    sizes = [1, 7, 2, 40, 1]
    values = rng.integers(0, 9, sum(sizes)) + rng.choice([0.0, 0.5], sum(sizes))
    ranks = ranks_of(sizes)
    wanted = [np.median(values[k - r : k + 1]) for k, r in enumerate(ranks)]
    assert prefix_medians(values, ranks).tolist() == wanted


def test_no_values() -> None:
    nothing, ranks = np.empty(0), np.empty(0, dtype=np.int64)
    assert len(prefix_medians(nothing, ranks)) == 0
    assert [len(part) for part in prefix_moments(nothing, ranks)] == [0, 0]

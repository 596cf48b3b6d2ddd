import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from maa.inference.significance import (
    holm,
    smallest_p,
    wilcoxon_columns,
    wilcoxon_p,
)


def enumerate_p(effects):
    """Two-sided signed-rank p by brute force over all sign patterns."""
    values = np.array([e for e in effects if e != 0], dtype=float)
    ranks = rankdata(np.abs(values))
    observed = ranks[values > 0].sum()
    sums = [
        (ranks * np.array(signs)).sum()
        for signs in itertools.product((0, 1), repeat=len(values))
    ]
    upper = np.mean([s >= observed - 1e-9 for s in sums])
    lower = np.mean([s <= observed + 1e-9 for s in sums])
    return min(1.0, 2 * min(upper, lower))


def test_twelve_positive_effects_reach_the_smallest_p():
    assert wilcoxon_p(np.arange(1, 13)) == 2 / 4096
    assert smallest_p(12) == 2 / 4096


def test_one_smallest_effect_against_the_rest_is_the_papers_auc():
    # W- = 1: sign patterns with rank sum 0 or 1, both tails: 4 of 4096 (Table 3, AUC).
    assert wilcoxon_p([-1, *range(2, 13)]) == pytest.approx(4 / 4096, abs=1e-12)


@pytest.mark.parametrize(
    ("effects", "p"),
    [
        ([1.0, 2, 3, 4], 2 / 16),
        ([-1.0, 2, 3, 4], 4 / 16),
        ([1.0, 2, -3, 4], 10 / 16),  # W- = 3: {}, {1}, {2}, {3}, {1, 2}, twice
        ([5.0], 1.0),
    ],
)
def test_small_cases_by_hand(effects, p):
    assert wilcoxon_p(effects) == pytest.approx(p, abs=1e-12)


def test_ties_keep_the_test_exact():
    # Midranks 2, 2, 2, 4, 5 with the sign of one of the tied effects negative.
    effects = [1.0, 1, -1, 2, 3]
    # W- = 2; sums <= 2 of {2, 2, 2, 4, 5}: 0, 2, 2, 2 -> 4 of 32, twice.
    assert wilcoxon_p(effects) == pytest.approx(8 / 32, abs=1e-12)
    assert enumerate_p(effects) == 8 / 32


def test_zeros_are_dropped():
    assert wilcoxon_p([0.0, 0, 1, 2, 3, 4]) == pytest.approx(2 / 16, abs=1e-12)
    assert wilcoxon_p([0.0, 0, 1, 1, -1, 2, 3]) == pytest.approx(8 / 32, abs=1e-12)


def test_no_effect_at_all_is_no_evidence():
    assert wilcoxon_p(np.zeros(12)) == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_tied_samples_agree_with_enumeration(seed):
    effects = np.random.default_rng(seed).integers(-3, 6, size=9).astype(float)
    assert wilcoxon_p(effects) == pytest.approx(enumerate_p(effects), abs=1e-12)


def test_large_tied_samples_are_repeatable():
    effects = np.random.default_rng(1).integers(-3, 6, size=36).astype(float)
    assert wilcoxon_p(effects) == wilcoxon_p(effects)


def test_columns_are_tested_one_by_one():
    rng = np.random.default_rng(2)
    effects = np.column_stack(
        [
            rng.normal(size=(9, 3)),
            rng.integers(-3, 6, size=9),  # ties and zeros
            np.zeros(9),
            [0, *range(1, 9)],
        ]
    )
    expected = [wilcoxon_p(column) for column in effects.T]
    assert wilcoxon_columns(effects) == pytest.approx(expected, abs=1e-12)
    assert wilcoxon_columns(np.array([[0.3, 0.0]])).tolist() == [1, 1]


def test_table_3_holm_values():
    raw = np.array([4, 2124, 956, 140, 214, 110]) / 4096
    printed = [0.005859, 0.518555, 0.466797, 0.136719, 0.156738, 0.134277]
    assert np.round(holm(raw), 6).tolist() == printed


def test_table_4_holm_values_need_a_family_of_eight():
    # Linear: preferential attachment, pair frequency, density; the rest is larger, and
    # homophily, constant, stays in the family with p = 1.
    linear = np.array([2, 110, 316, 1000, 1500, 2000, 3000, 4096]) / 4096
    assert np.round(holm(linear)[:3], 6).tolist() == [0.003906, 0.187988, 0.462891]
    trees = np.array([20, 600, 700, 800, 900, 1000, 2000, 4096]) / 4096
    assert holm(trees)[0] == 0.0390625
    assert holm(trees[:-1])[0] != 0.0390625


def test_six_cells_cannot_be_significant_after_holm():
    assert smallest_p(6, family=6) == pytest.approx(0.1875)
    assert holm([wilcoxon_p(range(1, 7))] + [1.0] * 5)[0] == smallest_p(6, family=6)

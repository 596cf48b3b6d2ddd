import time

import numpy as np
import pandas as pd
import pytest

from maa.inference.bootstrap import (
    bootstrap_means,
    draw_counts,
    interval,
    interval_cells,
    resample,
    shape_of,
)


def test_equal_effects_have_no_width():
    assert interval(np.full((4, 3, 3), 0.25), 500, 0) == (0.25, 0.25)


def test_two_backbones_alone_give_the_binomial():
    # Effects 0 and 1 by backbone: means 0, 1/2, 1 have chances 1/4, 1/2, 1/4.
    effects = np.stack([np.zeros((3, 3)), np.ones((3, 3))])
    means = bootstrap_means(effects, 20_000, 1)
    values, counts = np.unique(means, return_counts=True)
    assert values.tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(counts / 20_000, [0.25, 0.5, 0.25], atol=0.015)
    assert interval(effects, 20_000, 1) == (0.0, 1.0)


def test_data_sets_are_shared_by_the_backbones_of_a_draw():
    # Effects differ by data set alone. Were data sets drawn anew for each backbone, the
    # mean of 4 x 2 draws would take more than three values.
    effects = np.broadcast_to(np.array([0.0, 1.0])[None, :, None], (4, 2, 3))
    assert set(bootstrap_means(effects.copy(), 2_000, 2)) == {0.0, 0.5, 1.0}


def test_seeds_are_drawn_inside_each_cell():
    # Effects differ by seed alone; independent seeds in 4 cells of 2: many levels.
    effects = np.broadcast_to(np.array([0.0, 1.0]), (2, 2, 2)).copy()
    means = bootstrap_means(effects, 20_000, 3)
    assert set(np.unique(means * 8)) == set(range(9))
    assert means.var() == pytest.approx(0.25 / 8, rel=0.05)


def test_agrees_with_a_loop_over_the_same_indices():
    effects = np.random.default_rng(4).normal(size=(4, 3, 3))
    rng = np.random.default_rng(9)
    draws = 200
    backbone = rng.integers(4, size=(draws, 4, 1, 1))
    dataset = rng.integers(3, size=(draws, 1, 3, 1))
    seed = rng.integers(3, size=(draws, 4, 3, 3))
    expected = []
    for n in range(draws):
        picked = [
            effects[backbone[n, b, 0, 0], dataset[n, 0, d, 0], seed[n, b, d, s]]
            for b in range(4)
            for d in range(3)
            for s in range(3)
        ]
        expected.append(sum(picked) / len(picked))
    np.testing.assert_allclose(bootstrap_means(effects, draws, 9), expected, rtol=1e-12)


def test_intervals_cover_about_as_often_as_they_say():
    # Independent normal cells, one seed: nominal 95 %; a percentile bootstrap of small
    # grids is known to fall short, but not below 80 %, and it must not always cover.
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(300):
        grid = 1.0 + rng.normal(size=(4, 1, 1)) + rng.normal(size=(4, 6, 1))
        low, high = interval(grid, 400, trial)
        hits += low <= 1.0 <= high
    assert 0.75 <= hits / 300 <= 0.97


def test_same_seed_same_interval_other_seed_another():
    effects = np.random.default_rng(6).normal(size=(4, 3, 3))
    assert interval(effects, 300, 1) == interval(effects, 300, 1)
    assert interval(effects, 300, 1) != interval(effects, 300, 2)


def test_the_papers_grid_takes_less_than_two_seconds():
    effects = np.random.default_rng(7).normal(size=(13, 4, 3, 3))
    draw_counts.cache_clear()
    start = time.perf_counter()
    for grid in effects:
        interval(grid, 20_000, 0)
    assert time.perf_counter() - start < 2


def keys_of(cells, seeds=(7, 17)):
    rows = [(backbone, dataset, seed) for backbone, dataset in cells for seed in seeds]
    return pd.DataFrame(rows, columns=["backbone", "dataset", "seed"])


def test_cells_that_are_no_grid_are_resampled_themselves():
    ragged = [("craft", "enron"), ("tgat", "uci"), ("graphmixer", "enron")]
    assert shape_of(keys_of(ragged)) == (3, 1, 2)
    grid = [(b, d) for b in ("craft", "tgat") for d in ("enron", "uci", "mooc")]
    assert shape_of(keys_of(grid)) == (2, 3, 2)
    assert shape_of(keys_of(ragged[:1])) == (1, 1, 2)


def test_ragged_cells_vary_as_independent_draws_of_cells():
    # Effects differ by cell alone: the mean of 4 draws of 4 cells has variance s2 / 4.
    effects = np.repeat(np.array([[0.0], [1.0], [2.0], [5.0]]), 3, axis=1)
    means = bootstrap_means(effects[:, None, :], 20_000, 4)
    assert means.var() == pytest.approx(effects[:, 0].var() / 4, rel=0.05)
    low, high = interval_cells(effects, 20_000, 4)
    assert (low, high) == tuple(np.quantile(means, [0.025, 0.975]))
    crossed = interval(effects[:, 0].reshape(2, 2, 1), 20_000, 4)
    assert crossed != (low, high)


def test_quantities_are_resampled_by_the_same_draws():
    effects = np.random.default_rng(8).normal(size=(2, 3, 2))
    both = np.column_stack([effects.ravel(), 3 * effects.ravel() - 1])
    drawn = resample(both, (2, 3, 2), 100, 5)
    np.testing.assert_allclose(drawn[:, 0], bootstrap_means(effects, 100, 5))
    np.testing.assert_allclose(drawn[:, 1], 3 * drawn[:, 0] - 1)
    assert (draw_counts((2, 3, 2), 100, 5).sum(axis=1) == 12).all()

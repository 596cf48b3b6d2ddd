"""What a covariate explains, against a regression library's answer and chance."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import LinearRegression

from maa.audit.chance import by_columns, by_differences, orders

RNG = np.random.default_rng(5)


def test_orders_stay_within_their_groups() -> None:
    groups = np.array([2, 0, 1, 0, 2, 1, 0])
    drawn = orders(7, 200, RNG, groups)
    assert (np.sort(drawn, 1) == np.arange(7)).all()
    assert (groups[drawn] == groups).all()
    assert len({tuple(row) for row in drawn}) == 24  # 3! 2! 2!
    assert len({tuple(row) for row in orders(3, 200, RNG)}) == 6


def test_columns_are_a_linear_regression() -> None:
    design, covariate = RNG.normal(size=(40, 3)), RNG.normal(size=40)
    peer = LinearRegression().fit(design, covariate).score(design, covariate)
    found = by_columns(covariate, design, orders(40, 999, RNG), None)
    assert found.r2 == pytest.approx(peer)
    # three columns that have nothing to do with it explain 3 / 39 on average
    assert found.chance == pytest.approx(3 / 39, abs=0.01)


def test_within_groups_their_means_are_taken_out() -> None:
    groups = np.repeat([0, 1, 2, 3], 10)
    inside = RNG.normal(size=40)
    column = inside + 100 * groups
    covariate = inside + 7 * (groups - 1.5) ** 2
    drawn = orders(40, 199, RNG, groups)
    assert by_columns(covariate, column[:, None], drawn, groups).r2 == pytest.approx(1)
    assert by_columns(covariate, column[:, None], orders(40, 9, RNG), None).r2 < 0.5
    apart = squareform(pdist(column[:, None]))
    assert by_differences(covariate, apart, drawn, groups).r2 == pytest.approx(1)


def test_differences_are_a_squared_correlation() -> None:
    covariate = RNG.normal(size=25)
    matrix = squareform(pdist(RNG.normal(size=(25, 2))))
    drawn = orders(25, 199, RNG)
    found = by_differences(covariate, matrix, drawn, None)
    apart = pdist(covariate[:, None])
    assert found.r2 == pytest.approx(np.corrcoef(apart, squareform(matrix))[0, 1] ** 2)
    assert found.chance < 0.05 and found.p > 0.01
    planted = by_differences(covariate, squareform(apart**2), drawn, None)
    assert planted.r2 > 0.7 and planted.p == pytest.approx(1 / 200)
    assert planted.chance_95 < 0.2


def test_what_does_not_vary_explains_nothing_and_is_no_number() -> None:
    flat, drawn = np.full(10, 0.3), orders(10, 20, RNG)
    assert np.isnan(by_columns(flat, RNG.normal(size=(10, 1)), drawn, None).r2)
    assert np.isnan(by_columns(RNG.normal(size=10), flat[:, None], drawn, None).r2)
    matrix = squareform(pdist(RNG.normal(size=(10, 2))))
    assert np.isnan(by_differences(flat, matrix, drawn, None).r2)
    alone = np.arange(10)
    assert np.isnan(by_differences(RNG.normal(size=10), matrix, drawn, alone).r2)

"""The ROC-AUC by hand, and against scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from maa.domains.ctdg.ranking import auc


def test_ties_count_one_half() -> None:
    # 1 beats 0; 2 beats 0 twice and ties with 2 twice: (1 + 2 + 2 / 2) / 6.
    assert auc(np.array([1.0, 2.0, 2.0]), np.array([2.0, 0.0])) == 4 / 6


def test_an_empty_side_is_nan() -> None:
    assert np.isnan(auc(np.array([]), np.array([])))
    assert np.isnan(auc(np.array([1.0]), np.array([])))


@pytest.mark.parametrize("values", [3, 50, 10_000])
def test_it_is_scikit_learns(values: int) -> None:
    rng = np.random.default_rng(values)
    positive = rng.integers(values, size=700).astype(np.float32)
    negative = rng.integers(values, size=301).astype(np.float32)
    label = np.repeat([1, 0], [700, 301])
    expected = roc_auc_score(label, np.concatenate([positive, negative]))
    assert auc(positive, negative) == pytest.approx(expected, abs=1e-12)

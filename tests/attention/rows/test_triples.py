"""Rates of flips that are expected of rows that no model made."""

import numpy as np
import pytest

from maa.attention.rows.chunks import slices
from maa.attention.rows.dissimilarity import DISSIMILARITIES
from maa.attention.rows.triples import model_free_rates

# Rates in per cent of an independent computation (NumPy, 33 keys, Dirichlet 1/2) for
# (share, spread of the logit): cosine, Jensen-Shannon, Euclid, Aitchison.
CURVE = {
    (0.5, 0.0): (12, 0, 0, 0.1),
    (0.2, 0.5): (23, 10, 19, 0.3),
    (0.5, 0.5): (31, 19, 37, 0.3),
    (0.95, 0.5): (33, 27, 44, 0.2),
    (0.2, 1.5): (34, 26, 38, 1.7),
    (0.95, 1.5): (41, 40, 49, 1.9),
}


@pytest.mark.parametrize(("point", "rates"), CURVE.items(), ids=map(str, CURVE))
def test_the_model_free_curve(
    point: tuple[float, float], rates: tuple[float, ...]
) -> None:
    found = model_free_rates(*point, np.random.default_rng(1), triples=6000)
    # three standard errors of a rate near 1/2, and the rounding of the other side
    assert [100 * found[name] for name in DISSIMILARITIES] == pytest.approx(
        rates, abs=2.5
    )


def test_slices_cover_everything_once() -> None:
    parts = list(slices(10, 4, 13))
    assert [part.stop - part.start for part in parts] == [3, 3, 3, 1]
    assert list(slices(2, 100, 13)) == [slice(0, 1), slice(1, 2)]
    assert list(slices(0, 4, 13)) == []

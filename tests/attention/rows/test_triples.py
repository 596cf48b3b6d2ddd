"""Rates of flips: of seen heads, and what is expected of rows that no model made."""

import numpy as np
import pytest
import torch

from maa.attention.rows.chunks import slices
from maa.attention.rows.dissimilarity import DISSIMILARITIES, flips
from maa.attention.rows.triples import flip_rates, model_free_rates, sample_triples

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


def test_triples_are_distinct_and_stay_in_their_group() -> None:
    groups = [range(0, 4), range(4, 8), range(8, 12)]
    triples = sample_triples(groups, 301, np.random.default_rng(2))
    assert triples.shape == (301, 3)
    assert all(len(set(triple)) == 3 for triple in triples.tolist())
    assert ((triples // 4) == triples[:, :1] // 4).all()
    assert sorted(np.bincount(triples[:, 0] // 4)) == [100, 100, 101]
    assert len({tuple(triple) for triple in triples.tolist()}) > 60
    with pytest.raises(ValueError, match="three heads"):
        sample_triples([[1, 2]], 5, np.random.default_rng(2))


def test_rates_are_means_over_triples_and_chunks_change_nothing() -> None:
    generator = torch.Generator().manual_seed(3)
    logits = 2 * torch.randn(6, 5, 7, generator=generator)
    support = torch.ones(5, 7, dtype=torch.bool).tril(2)
    sinks = torch.arange(7) == 0
    triples = sample_triples([range(6)], 40, np.random.default_rng(4))
    whole = flip_rates(logits, triples, sinks, support)
    parts = flip_rates(logits, triples, sinks, support, elements=200)
    for name, measure in DISSIMILARITIES.items():
        by_hand = [
            flips(measure, logits[a], logits[b], logits[c], sinks, support)
            for a, b, c in triples.tolist()
        ]
        expected = torch.stack(by_hand).double().mean(0)
        torch.testing.assert_close(whole[name], expected)
        torch.testing.assert_close(parts[name], expected)
    assert whole["js"].max() > 0


def test_slices_cover_everything_once() -> None:
    parts = list(slices(10, 4, 13))
    assert [part.stop - part.start for part in parts] == [3, 3, 3, 1]
    assert list(slices(2, 100, 13)) == [slice(0, 1), slice(1, 2)]
    assert list(slices(0, 4, 13)) == []

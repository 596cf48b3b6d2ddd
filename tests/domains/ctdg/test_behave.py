"""The context margin: who gives its history to whom, and what the margin is."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maa.attention import parse_operator
from maa.domains.ctdg.behave import behave, derangement, exchanged
from maa.errors import UserError
from maa.files import write_tensors
from tests.domains.ctdg.small_streams import (
    Transparent,
    make_stream,
    random_stream,
    transparent_backbone,
)

SETTINGS = {"seed": 65537, "device": "cpu", "model": {}}


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(0, 2**32 - 1))
def test_donors_have_other_sources_and_give_once(source, seed):
    source = np.array(source, dtype=np.int32)
    donor = derangement(source, np.random.default_rng(seed))
    given_ = donor[donor >= 0]
    assert len(set(given_.tolist())) == len(given_)
    assert (source[given_] != source[donor >= 0]).all()
    largest = max(Counter(source.tolist()).values(), default=0)
    assert (donor < 0).sum() == max(0, 2 * largest - len(source))


def test_donors_depend_on_the_seed_alone():
    source = np.random.default_rng(0).integers(0, 9, 200)
    first, again, other = (
        derangement(source, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert (first != other).mean() > 0.9


def test_donors_are_spread_over_the_other_sources():
    source = np.repeat(np.arange(10), 20)
    counts = np.zeros((10, 10))
    for seed in range(200):
        donor = derangement(source, np.random.default_rng(seed))
        np.add.at(counts, (source, source[donor]), 1)
    assert (np.diag(counts) == 0).all()
    share = counts[~np.eye(10, dtype=bool)] / (20 * 200)
    assert abs(share - 1 / 9).max() < 0.1


def test_any_event_of_another_source_may_be_the_donor():
    source = np.repeat([0, 1], 10)
    donors = {
        int(derangement(source, np.random.default_rng(seed))[0]) for seed in range(100)
    }
    assert donors == set(range(10, 20))


def test_a_model_that_ignores_history_has_no_margin():
    own, other = exchanged(Transparent(0.0), random_stream(), np.random.default_rng(0))
    assert len(own) == 18
    assert (own == other).all()


# Test rows 4 (source 0) and 5 (source 1); each can only take the other's history.
# Ages at row 4: 100 - 0 = 100 and 100 - 10 = 90; at row 5: 103 - 1 = 102.
PAIR = make_stream(
    [0, 1, 0, 2, 0, 1], [3, 4, 3, 3, 3, 4], [0, 1, 10, 50, 100, 103],
    sources=3, nodes=5, depth=3, train_end=3, validation_end=4,
)  # fmt: skip


def test_the_margin_by_hand():
    own, other = exchanged(Transparent(1.0), PAIR, np.random.default_rng(0))
    assert (own - other).tolist() == [190.0 - 102.0, 102.0 - 190.0]


def run(stream, scale, tmp_path):
    stream.save(tmp_path / "stream.safetensors")
    weights = {"scale": np.array([scale], dtype=np.float32)}
    write_tensors(tmp_path / "model.safetensors", weights, {"operator": "p1.10"})
    return behave(
        tmp_path / "stream.safetensors",
        tmp_path / "model.safetensors",
        transparent_backbone(scale),
        parse_operator("p1.10"),
        SETTINGS,
    )


# Rows 4 to 6 are tested: two of source 0 and one of source 1, so that two are paired.
UNEVEN = make_stream(
    [0, 1, 0, 2, 0, 0, 1], [3, 4, 3, 3, 3, 4, 4], [0, 1, 10, 50, 100, 103, 104],
    sources=3, nodes=5, depth=3, train_end=3, validation_end=4,
)  # fmt: skip


def test_signed_and_absolute_means_and_probabilities(tmp_path):
    table = run(PAIR, 0.5, tmp_path).set_index("measure")
    assert table.value["context_margin"] == 0.0
    assert table.value["context_margin_absolute"] == 44.0
    assert table.value["context_margin_probability"] == 0.0
    assert table.queries.tolist() == [2, 2, 2]


def test_the_probability_margin_is_the_mean_difference_of_sigmoids(tmp_path):
    table = run(UNEVEN, 0.01, tmp_path).set_index("measure")
    rng = np.random.default_rng(SETTINGS["seed"])
    own, other = exchanged(Transparent(0.01), UNEVEN, rng)
    expected = np.mean(1 / (1 + np.exp(-own)) - 1 / (1 + np.exp(-other)))
    assert expected != 0
    assert table.value["context_margin_probability"] == pytest.approx(expected)


def test_queries_without_a_donor_are_left_out_and_counted(tmp_path):
    table = run(UNEVEN, 1.0, tmp_path)
    assert table.queries.tolist() == [2, 2, 2]


def test_one_source_alone_is_a_users_error(tmp_path):
    stream = make_stream(
        [0] * 6, [1, 2, 1, 2, 1, 2], range(6),
        sources=1, nodes=3, depth=3, train_end=3, validation_end=4,
    )  # fmt: skip
    with pytest.raises(UserError, match="no test event has another source's history"):
        run(stream, 1.0, tmp_path)

"""ROC-AUC against each kind of negative, by hand."""

import numpy as np
import pytest

from maa.attention import parse_operator
from maa.domains.ctdg.utility import utility
from maa.files import write_tensors
from tests.domains.ctdg.small_streams import make_stream, transparent_backbone


def measure(tmp_path, **negatives):
    # The score is the destination's id: test events have 4, 5 and 6.
    stream = make_stream(
        [0, 1, 0, 1, 0, 1, 0], [3, 4, 5, 6, 4, 5, 6], range(7),
        sources=2, nodes=8, depth=3, train_end=3, validation_end=4,
        negatives=negatives,
    )  # fmt: skip
    stream.save(tmp_path / "stream.safetensors")
    weights = {"scale": np.zeros(1, dtype=np.float32)}
    write_tensors(tmp_path / "model.safetensors", weights, {"operator": "p1.00"})
    return utility(
        tmp_path / "stream.safetensors",
        tmp_path / "model.safetensors",
        transparent_backbone(0.0),
        parse_operator("p1.00"),
        {"device": "cpu", "model": {}},
    ).set_index("measure")


def test_each_kind_has_its_own_negatives(tmp_path):
    table = measure(
        tmp_path,
        validation_unseen=[3],  # the validation event has 6
        test_unseen=[3, 3, 3],  # below all of 4, 5, 6
        test_random=[5, 6, 4],  # the same scores: one half
        test_historical=[7, 7, 7],  # above all
    )
    assert table.value.to_dict() == {
        "auc_unseen": 1.0,
        "auc_random": 0.5,
        "auc_historical": 0.0,
        "validation_auc": 1.0,
    }
    assert table.queries.tolist() == [6, 6, 6, 2]


def test_an_event_without_historical_negative_is_left_out_on_both_sides(tmp_path):
    # Events 4 and 6 remain, against 5 and 3: 4 beats 3, 6 beats both.
    table = measure(tmp_path, test_historical=[5, -1, 3])
    assert table.value["auc_historical"] == pytest.approx(3 / 4)
    assert table.queries["auc_historical"] == 4
    assert table.queries["auc_unseen"] == 6


def test_no_historical_negative_at_all(tmp_path):
    table = measure(tmp_path, test_historical=[-1, -1, -1])
    assert np.isnan(table.value["auc_historical"])
    assert table.queries["auc_historical"] == 0

"""The numbers of claims, from made-up tables whose numbers are known."""

import numpy as np
import pandas as pd
import pytest

from maa.attention.rows.dissimilarity import DISSIMILARITIES
from maa.audit.facts import COLUMNS, facts
from maa.audit.predictor import Curve, model_free
from tests.figures import tables_of_audits as made

# A curve that says 40 % wherever it is asked.
RATES = {name: np.full((2, 2, 2), 0.4) for name in DISSIMILARITIES}
FREE = model_free(Curve((-8.0, 8.0), (0.0, 4.0), (8, 512), RATES, RATES, RATES))


def value(table: pd.DataFrame, fact: str, dataset: str = "hotpotqa") -> pd.Series:
    rows = table[(table["fact"] == fact) & (table["dataset"] == dataset)]
    return rows.iloc[0]


def test_perplexities_are_told_as_multiples() -> None:
    tables = {"pruning": made.pruning(), "switching": made.switching()}
    found = facts(tables, FREE)
    assert list(found.columns) == COLUMNS
    assert value(found, "pruning.worst")["value"] == 2.0  # random ones do not count
    assert value(found, "pruning.random.0")["value"] == 10.0
    ratio = value(found, "switching.p1.10.60 steps")["value"]
    assert ratio == pytest.approx(1.1)
    assert value(found, "switching.p1.20.0 steps")["value"] == pytest.approx(1.2**8)


def test_shares_are_percent() -> None:
    found = facts({"measured": made.measured()}, FREE)
    assert value(found, "sink.share")["value"] == pytest.approx(21.5)
    outside = value(found, "entropy.sink_part")
    assert outside["value"] == pytest.approx(100 / 3)
    assert (outside["low"], outside["high"]) == pytest.approx((100 / 3, 100 / 3))
    assert outside["cells"] == made.TEXTS


def test_flips_are_compared_with_the_curve() -> None:
    cells = made.frame(
        ("part", ["read", "held"]),
        ("text", [0, 1]),
        ("group", ["all", "layer 0", "layer 1"]),
        ("measure", DISSIMILARITIES),
        logit=0.0,
        spread=1.0,
        keys=64.0,
    )
    rate = np.where(cells["group"] == "all", 0.3, 0.1)
    rate = rate + np.where(cells["text"] == 1, 0.02, 0.0)
    cells["rate"] = np.where(cells["part"] == "held", 0.9, rate)
    found = facts({"flips": cells.assign(dataset="hotpotqa", backbone="m")}, FREE)
    js = value(found, "flips.js")
    assert (js["value"], js["low"], js["high"]) == pytest.approx((31, 30, 32))
    assert value(found, "flips.layer.js")["value"] == pytest.approx(11)
    assert value(found, "flips.expected.js")["value"] == pytest.approx(40)
    assert value(found, "flips.excess.js")["value"] == pytest.approx(-9)


def test_regimes_are_shares_of_what_is_resolved() -> None:
    found = facts({"regimes": made.regimes()}, FREE)
    for outcome in ("confirmed", "failed", "abstained"):
        assert value(found, f"predictor.{outcome}")["value"] == pytest.approx(100 / 3)
        one = value(found, f"predictor.{outcome}.no model")
        assert (one["value"], one["cells"]) == (pytest.approx(100 / 3), 12)


def test_a_collapse_is_counted_from_its_peak() -> None:
    _, _, changes = made.course()
    higher = (changes["start"] == 4) & (changes["end"] == 64)
    sink = higher & (changes["channel"] == "sink")
    changes["value"] = changes["value"].mask(sink, -0.75)
    found = facts({"course_changes": changes, "course_control": changes}, FREE)
    where = "shakespeare"
    assert value(found, "collapse.start", where)["value"] == 4
    assert value(found, "collapse.sink", where)["value"] == pytest.approx(75)
    assert value(found, "collapse.control", where)["value"] == pytest.approx(75)

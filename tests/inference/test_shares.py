import copy

import numpy as np
import pytest

from maa.inference.plan import plan_from
from maa.inference.shares import COLUMNS, shares_table
from tests.factories import PLAN, STUDY, make_study

DENSITY = "density"
EFFECTS = {
    ("p1.10", "r2_linear_z", DENSITY): 0.10,
    ("p1.10-uniform", "r2_linear_z", DENSITY): 0.02,
    ("p1.10-length", "r2_linear_z", DENSITY): 0.06,
    ("p1.10", "r2_linear_zn", DENSITY): 0.03,
}


@pytest.fixture(scope="module")
def shares():
    return shares_table(make_study(EFFECTS), plan_from(PLAN))


def pick(shares, **wanted):
    keys = {"scope": "all", "target": DENSITY, "backbone": "", "dataset": ""}
    for key, value in (keys | wanted).items():
        shares = shares[shares[key] == value]
    assert len(shares) == 1
    return shares.iloc[0]


@pytest.mark.parametrize(
    ("control", "explained", "cells"),
    [("uniform", 0.02, 4), ("length", 0.06, 4), ("log_n", 0.07, 12)],
)
def test_planted_shares_are_found(shares, control, explained, cells):
    row = pick(shares, control=control)
    assert row["gain"] == pytest.approx(0.1, abs=0.001)
    assert row["explained"] == pytest.approx(explained, abs=0.001)
    assert row["left"] == pytest.approx(row["gain"] - row["explained"], abs=1e-12)
    assert row["share"] == pytest.approx(row["explained"] / row["gain"], abs=1e-12)
    assert row["share_low"] < explained / 0.1 < row["share_high"]
    assert (row["cells"], row["seeds"]) == (cells, 3)


def test_without_a_gain_there_is_no_share(shares):
    row = pick(shares, control="log_n", target="recency")
    assert row["gain_low"] < 0 < row["gain_high"]
    assert np.isnan([row["share"], row["share_low"], row["share_high"]]).all()
    assert np.isfinite([row["explained"], row["left_low"]]).all()


def test_gain_and_explained_are_resampled_together():
    # Each run's control gives exactly half of its gain, which varies a lot by run:
    # the share must not vary at all.
    table = make_study(EFFECTS, jitter=0.0)
    rng = np.random.default_rng(1)
    keys = ["dataset", "backbone", "seed", "target"]
    scale = table.groupby(keys)["value"].transform(lambda _: rng.uniform(0.5, 2.0))
    linear = (table["measure"] == "r2_linear_z") & (table["target"] == DENSITY)
    for operator, share in (("p1.10", 1.0), ("p1.10-length", 0.5)):
        rows = linear & (table["operator"] == operator)
        planted = EFFECTS[operator, "r2_linear_z", DENSITY]
        table.loc[rows, "value"] += scale[rows] * 0.1 * share - planted
    row = pick(shares_table(table, plan_from(PLAN)), control="length")
    assert (row["share_low"], row["share_high"]) == pytest.approx((0.5, 0.5))
    assert row["gain_high"] - row["gain_low"] > 0.02


def test_scopes_are_cells_backbones_and_all(shares):
    log_n = shares[(shares["control"] == "log_n") & (shares["target"] == DENSITY)]
    assert log_n["scope"].value_counts().to_dict() == {
        "cell": 12,
        "backbone": 4,
        "all": 1,
    }
    uniform = shares[(shares["control"] == "uniform") & (shares["target"] == DENSITY)]
    assert uniform["scope"].value_counts().to_dict() == {
        "cell": 4,
        "backbone": 4,
        "all": 1,
    }
    craft = pick(shares, control="log_n", scope="backbone", backbone="craft")
    own = log_n[(log_n["scope"] == "cell") & (log_n["backbone"] == "craft")]
    assert craft["gain"] == pytest.approx(own["gain"].mean())


def test_the_mean_leaves_out_what_is_constant(shares):
    wikipedia = {"scope": "cell", "backbone": "tgat", "dataset": "wikipedia"}
    assert len(shares.query("target == 'homophily' and dataset == 'wikipedia'")) == 0
    mean = pick(shares, control="log_n", target="mean", **wikipedia)
    single = shares[
        (shares["scope"] == "cell")
        & (shares["backbone"] == "tgat")
        & (shares["dataset"] == "wikipedia")
        & (shares["control"] == "log_n")
        & (shares["target"] != "mean")
    ]
    assert len(single) == 7
    assert mean["gain"] == pytest.approx(single["gain"].mean())
    everywhere = pick(shares, control="log_n", target="homophily")
    assert everywhere["cells"] == 8


def test_controls_that_were_not_run_have_no_rows():
    study = copy.deepcopy({"core": STUDY["core"]})
    table = make_study(sets=study)
    plan = plan_from(PLAN | {"sets": {"ctdg": study}})
    assert set(shares_table(table, plan)["control"]) == {"log_n"}
    bare = table[table["measure"] != "r2_linear_zn"]
    empty = shares_table(bare, plan)
    assert empty.empty
    assert list(empty.columns) == COLUMNS

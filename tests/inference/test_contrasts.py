import numpy as np
import pandas as pd
import pytest

from maa.errors import UserError
from maa.inference.bootstrap import interval_cells
from maa.inference.cells import run_effects
from maa.inference.contrasts import comparisons, contrast_tables
from maa.inference.endpoints import label_of
from maa.inference.pairs import pair_runs
from maa.inference.plan import plan_from
from maa.inference.summary import aggregate_table, statistics_table
from tests.factories import PLAN, STUDY, make_study

SETS = {**STUDY, "core": {**STUDY["core"], "operators": ["p1.00", "p1.10", "p1.20"]}}
SETTINGS = PLAN | {"sets": {"ctdg": SETS}}

EFFECTS = {
    ("p1.10", "auc_unseen", ""): 0.01,
    ("p1.10-l2", "auc_unseen", ""): 0.006,
    ("p1.00-l2", "auc_unseen", ""): 0.004,
    ("cpa-scaled", "r2_linear_z", "recency"): -0.03,
}


@pytest.fixture(scope="module")
def study():
    return make_study(EFFECTS, sets=SETS)


@pytest.fixture(scope="module")
def tables(study):
    return contrast_tables(study, plan_from(SETTINGS))


def row(table, **wanted):
    keys = {"backbone": "", "target": "", "group": "controls", "baseline": "p1.00"}
    for key, value in (keys | wanted).items():
        table = table[table[key] == value]
    assert len(table) == 1
    return table.iloc[0]


def test_normalised_operators_have_two_baselines():
    operators = ["p1.00", "p1.10", "p1.00-l2", "p1.10-l2", "nap"]
    assert list(comparisons(operators, "p1.00")) == [
        ("p1.00", "p1.10"),
        ("p1.00", "p1.00-l2"),
        ("p1.00", "p1.10-l2"),
        ("p1.00", "nap"),
        ("p1.00-l2", "p1.10-l2"),
    ]
    assert list(comparisons(["p1.10-l2", "p1.00"], "p1.00")) == [("p1.00", "p1.10-l2")]


def test_planted_effects_are_found_in_their_own_contrast(tables):
    contrasts, _ = tables
    changes = {
        ("p1.00", "p1.10"): 0.010,
        ("p1.00", "p1.10-l2"): 0.006,
        ("p1.00", "p1.00-l2"): 0.004,
        ("p1.00-l2", "p1.10-l2"): 0.002,
        ("p1.00", "cpa-scaled"): 0.0,
    }
    for (baseline, treatment), change in changes.items():
        found = row(contrasts, baseline=baseline, treatment=treatment, endpoint="auc")
        assert found["change"] == pytest.approx(change, abs=0.0005)
        assert found["low"] <= found["change"] <= found["high"]
        assert (found["cells"], found["label"]) == (4, "AUC")
    recency = row(
        contrasts, treatment="cpa-scaled", endpoint="r2_linear_z", target="recency"
    )
    assert (recency["improved"], recency["worsened"], recency["p"]) == (0, 4, 2 / 16)
    assert recency["label"] == "Recency, linear R² from z"


def test_the_core_contrast_is_the_main_comparison(study, tables):
    contrasts, _ = tables
    plan = plan_from(SETTINGS)
    runs = run_effects(pair_runs(study, "p1.00", "p1.10", plan.cores[0]))
    main = [
        table(runs, plan.draws, plan.seed)
        for table in (aggregate_table, statistics_table)
    ]
    expected = pd.concat(main).fillna({"target": ""})
    chosen = contrasts.query(
        "group == 'core' and treatment == 'p1.10' and backbone == ''"
    ).set_index(["endpoint", "target"])
    assert len(chosen) == len(expected)
    for column in ("change", "low", "high", "p", "p_runs", "improved", "cells"):
        values = expected.set_index(["endpoint", "target"])[column]
        np.testing.assert_allclose(
            chosen[column],
            values.loc[chosen.index].astype(float),
            rtol=1e-9,
            atol=1e-15,
        )


def test_a_backbone_alone_has_its_own_cells(tables):
    contrasts, cells = tables
    found = row(
        contrasts, group="core", backbone="tgat", treatment="p1.20", endpoint="auc"
    )
    assert (found["cells"], found["backbones"], found["datasets"]) == (3, 1, 3)
    own = cells.query(
        "group == 'core' and backbone == 'tgat' and treatment == 'p1.20' "
        "and endpoint == 'auc' and baseline == 'p1.00'"
    )
    assert found["change"] == pytest.approx(own["effect"].mean())
    assert found["baseline_mean"] == pytest.approx(own["baseline_mean"].mean())


def test_representative_cells_are_resampled_as_cells(study, tables):
    contrasts, _ = tables
    plan = plan_from(SETTINGS)
    controls = plan.sets[1]
    runs = run_effects(pair_runs(study, "p1.00", "p1.10", controls))
    auc = runs[runs["endpoint"] == "auc"].sort_values(["backbone", "dataset", "seed"])
    effects = auc["effect"].to_numpy().reshape(4, 3)
    found = row(contrasts, treatment="p1.10", endpoint="auc")
    expected = interval_cells(effects, plan.draws, plan.seed)
    assert (found["low"], found["high"]) == pytest.approx(expected, rel=1e-9)


def test_forests_are_compared_where_both_arms_have_them(tables):
    contrasts, _ = tables
    forests = contrasts[contrasts["endpoint"].str.contains("extratrees")]
    assert set(forests["treatment"]) == {"p1.10"}
    assert set(forests["group"]) == {"core", "controls", "official"}


def test_quantities_have_names_for_readers():
    assert label_of("ctdg", "beyond_linear") == "Beyond linear R²"
    trees = label_of("ctdg", "r2_extratrees_zc", "preferential_attachment")
    assert trees == "Preferential attachment, ExtraTrees R² from zc"
    with pytest.raises(UserError, match="no endpoint 'auk'"):
        label_of("ctdg", "auk")


def test_validation_and_constants_stay_out(tables):
    contrasts, cells = tables
    assert not contrasts["endpoint"].str.startswith("validation").any()
    homophily = row(
        contrasts,
        group="core",
        treatment="p1.10",
        endpoint="r2_linear_z",
        target="homophily",
    )
    assert homophily["cells"] == 8
    official = row(
        contrasts,
        group="official",
        treatment="p1.10",
        endpoint="r2_linear_z",
        target="homophily",
    )
    assert official["constant"]
    assert np.isnan(official["baseline_mean"])
    flat = cells.query("target == 'homophily' and dataset == 'wikipedia'")
    assert flat["constant"].all()


def test_a_forest_missing_in_one_run_is_a_gap(study):
    lost = (
        (study["measure"] == "r2_extratrees_z")
        & (study["operator"] == "p1.10")
        & (study["backbone"] == "craft")
        & (study["dataset"] == "enron")
        & (study["seed"] == 17)
    )
    with pytest.raises(UserError, match=r"enron/craft/p1\.10/17 \(r2_extratrees_z"):
        contrast_tables(study[~lost], plan_from(SETTINGS))


def test_an_operator_that_was_never_run_is_named(study):
    without = study[study["operator"] != "p1.10"]
    with pytest.raises(UserError, match=r"treatment operator 'p1\.10'"):
        contrast_tables(without, plan_from(SETTINGS))

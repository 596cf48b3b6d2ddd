import numpy as np
import pytest

from maa.inference.cells import cell_effects, run_effects
from maa.inference.pairs import pair_runs
from maa.inference.summary import aggregate_table, statistics_table
from tests.factories import TARGETS, make_measurements

PRIMARY = [
    "auc",
    "shared_extratrees",
    "beyond_extratrees",
    "shared_linear",
    "beyond_linear",
    "context_margin",
]


def effects_of(**options):
    return run_effects(pair_runs(make_measurements(**options), "p1.00", "p1.10"))


@pytest.fixture(scope="module")
def planted():
    density = {("r2_linear_z", "density"): 0.08}
    return effects_of(effects={("auc_unseen", ""): 0.01} | density)


def test_the_planted_endpoint_alone_is_found(planted):
    table = aggregate_table(planted, 2_000, 0).set_index("endpoint")
    auc = table.loc["auc"]
    assert auc["p"] == 2 / 4096
    assert auc["p_holm"] == pytest.approx(12 / 4096)
    assert (auc["cells"], auc["improved"], auc["worsened"]) == (12, 12, 0)
    assert auc["low"] < auc["change"] < auc["high"]
    assert auc["low"] < 0.01 < auc["high"]
    margin = table.loc["context_margin"]
    assert margin["p_holm"] > 0.05
    assert margin["low"] < 0 < margin["high"]


def test_the_planted_statistic_alone_is_found(planted):
    table = statistics_table(planted, 2_000, 0).set_index(["endpoint", "target"])
    assert table.loc[("r2_linear_z", "density"), "p_holm"] == pytest.approx(16 / 4096)
    rest = table.drop(index=("r2_linear_z", "density"))
    assert (rest["p_holm"] > 0.05).all()


def test_holm_runs_over_the_six_primary_endpoints(planted):
    table = aggregate_table(planted, 50, 0)
    family = table[table["primary"]]
    assert family["endpoint"].tolist() == PRIMARY
    assert (family["family"] == 6).all()
    assert table.loc[~table["primary"], "p_holm"].isna().all()
    assert {f"{name}_all" for name in PRIMARY[1:5]} < set(table["endpoint"])


def test_percent_is_the_ratio_of_means(planted):
    table = aggregate_table(planted, 50, 0).set_index("endpoint")
    cells = cell_effects(planted)
    auc = cells[cells["endpoint"] == "auc"]
    ratio = auc["treatment"].mean() / auc["baseline"].mean() - 1
    assert table.loc["auc", "percent"] == pytest.approx(100 * ratio)
    mean_of_ratios = (auc["treatment"] / auc["baseline"] - 1).mean()
    assert table.loc["auc", "percent"] != pytest.approx(100 * mean_of_ratios, rel=1e-9)


def test_percent_is_relative_to_the_size_of_a_negative_baseline():
    runs = effects_of(effects={("context_margin", ""): -1.2}, jitter=0.0)
    runs[["baseline", "treatment"]] = runs[["treatment", "baseline"]].to_numpy()
    runs["effect"] = runs["treatment"] - runs["baseline"]
    row = aggregate_table(runs, 50, 0).set_index("endpoint").loc["context_margin"]
    assert row["baseline"] < 0 < row["percent"]


def test_a_constant_statistic_stays_in_the_family_without_values(planted):
    table = statistics_table(planted, 50, 0)
    rows = table[table["endpoint"] == "r2_extratrees_z"].set_index("target")
    assert set(rows.index) == set(TARGETS)
    assert (rows["family"] == 8).all()
    homophily = rows.loc["homophily"]
    assert homophily["constant"]
    assert (homophily["p"], homophily["p_holm"], homophily["cells"]) == (1, 1, 0)
    assert np.isnan(homophily["baseline"])


def test_a_statistic_is_taken_where_it_is_not_constant():
    runs = effects_of(
        effects={("r2_linear_z", "homophily"): 0.05}, constant={("mooc", "homophily")}
    )
    table = statistics_table(runs, 200, 0).set_index(["endpoint", "target"])
    row = table.loc[("r2_linear_z", "homophily")]
    assert (row["cells"], row["datasets"], row["backbones"]) == (8, 2, 4)
    assert row["change"] == pytest.approx(0.05, abs=0.002)


def test_an_effect_that_flips_its_sign_by_backbone_is_not_called_positive():
    runs = effects_of(effects={("auc_unseen", ""): 0.01})
    flipped = runs["backbone"].isin(["craft", "tgat"]) & (runs["endpoint"] == "auc")
    runs.loc[flipped, ["baseline", "treatment"]] = runs.loc[
        flipped, ["treatment", "baseline"]
    ].to_numpy()
    runs["effect"] = runs["treatment"] - runs["baseline"]
    row = aggregate_table(runs, 2_000, 0).set_index("endpoint").loc["auc"]
    assert (row["improved"], row["worsened"]) == (6, 6)
    assert row["low"] < 0 < row["high"]
    assert row["p"] > 0.2


def test_identical_arms_give_no_effect():
    row = (
        aggregate_table(effects_of(jitter=0.0), 50, 0).set_index("endpoint").loc["auc"]
    )
    assert (row["change"], row["improved"], row["worsened"], row["p"]) == (0, 0, 0, 1)


def test_single_runs_are_tested_beside_the_cells(planted):
    row = aggregate_table(planted, 50, 0).set_index("endpoint").loc["auc"]
    assert row["p_runs"] == pytest.approx(2 / 2**36)

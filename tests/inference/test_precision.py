import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from maa.inference.bootstrap import interval
from maa.inference.cells import cell_effects, run_effects
from maa.inference.pairs import pair_runs
from maa.inference.precision import (
    critical_rank_sum,
    detectable_shift,
    precision_table,
)
from tests.factories import make_measurements


@pytest.mark.parametrize(
    ("cells", "alpha", "critical"),
    # The first four are in every printed table of the two-sided signed-rank test.
    [
        *((6, 0.05, 0), (8, 0.05, 3), (12, 0.05, 13), (12, 0.01, 7), (5, 0.05, -1)),
        *((12, 0.05 / 8, 5), (6, 0.05 / 6, -1), (1, 0.05, -1)),
    ],
)
def test_critical_values(cells, alpha, critical):
    assert critical_rank_sum(cells, alpha) == critical


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6])
def test_the_detectable_shift_has_its_power(alpha):
    shift = detectable_shift(12, alpha)
    effects = np.random.default_rng(77).normal(shift, 1, (12, 4_000))
    p_values = stats.wilcoxon(effects, method="exact", axis=0).pvalue
    assert (p_values <= alpha).mean() == pytest.approx(0.8, abs=0.025)


def test_twelve_cells_detect_about_nine_tenths_of_a_standard_deviation():
    # The t-test, which is best here, needs .889; the signed-rank test's relative
    # efficiency is 3 / pi, and its level a little below .05.
    t_test = TTestPower().solve_power(nobs=12, alpha=0.05, power=0.8)
    assert t_test == pytest.approx(0.889, abs=0.001)
    assert t_test < detectable_shift(12, 0.05) < 1.08 * t_test
    large = TTestPower().solve_power(nobs=60, alpha=0.05, power=0.8)
    efficiency = np.sqrt(np.pi / 3)
    assert detectable_shift(60, 0.05) == pytest.approx(efficiency * large, rel=0.02)


def test_few_cells_detect_nothing():
    assert detectable_shift(5, 0.05) == np.inf
    assert detectable_shift(6, 0.05 / 6) == np.inf
    assert 1 < detectable_shift(6, 0.05) < np.inf
    assert detectable_shift(0, 0.05) == np.inf


def effects_of(**options):
    return run_effects(pair_runs(make_measurements(**options), "p1.00", "p1.10"))


def test_detectable_effects_are_in_units_of_the_endpoint():
    runs = effects_of(effects={("auc_unseen", ""): 0.01}, jitter=0.004)
    table = precision_table(runs, 200, 0).set_index(["endpoint", "target"])
    auc = table.loc[("auc", "")]
    cells = cell_effects(runs).query("endpoint == 'auc'")
    assert auc["sd"] == pytest.approx(cells["effect"].std())
    assert auc["mde"] == pytest.approx(auc["sd"] * detectable_shift(12, 0.05))
    holm = detectable_shift(12, 0.05 / 6)
    assert auc["mde_holm"] == pytest.approx(auc["sd"] * holm)
    assert auc["mde_paper"] == auc["mde"]  # the same twelve cells
    assert (auc["family"], auc["cells"], auc["note"]) == (6, 12, "")
    density = table.loc[("r2_linear_z", "density")]
    assert density["family"] == 8
    assert density["mde_holm"] > density["mde"]
    assert table.loc[("auc_random", ""), "family"] == 0
    assert np.isnan(table.loc[("auc_random", ""), "mde_holm"])


def test_six_cells_are_said_to_be_too_few():
    runs = effects_of(backbones=("craft", "tgat"))
    table = precision_table(runs, 200, 0).set_index(["endpoint", "target"])
    auc = table.loc[("auc", "")]
    assert (auc["cells"], auc["mde_holm"]) == (6, np.inf)
    assert np.isfinite([auc["mde"], auc["mde_paper_holm"]]).all()
    assert auc["note"] == "6 cells cannot reach p = 0.05 after Holm"
    few = effects_of(backbones=("craft",))
    table = precision_table(few, 200, 0).set_index(["endpoint", "target"])
    assert table.loc[("auc", ""), "note"] == "3 cells cannot reach p = 0.05"
    assert table.loc[("auc", ""), "mde"] == np.inf


def test_the_bound_of_equivalence_holds_the_90_percent_interval():
    runs = effects_of(effects={("auc_unseen", ""): -0.01}, jitter=0.004)
    table = precision_table(runs, 500, 3).set_index(["endpoint", "target"])
    auc = table.loc[("auc", "")]
    rows = runs[runs["endpoint"] == "auc"].sort_values(["backbone", "dataset", "seed"])
    grid = rows["effect"].to_numpy().reshape(4, 3, 3)
    low, high = interval(grid, 500, 3, level=0.9)
    assert (auc["low90"], auc["high90"]) == pytest.approx((low, high), rel=1e-9)
    assert auc["equivalence_bound"] == pytest.approx(-low, rel=1e-9)


def test_a_constant_statistic_has_no_values():
    table = precision_table(effects_of(), 100, 0)
    row = table[table["target"] == "homophily"].iloc[0]
    assert (row["cells"], row["note"]) == (0, "constant on all data")
    assert np.isnan(row[["sd", "equivalence_bound"]].astype(float)).all()
    assert row["family"] == 8

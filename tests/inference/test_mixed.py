import time

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from maa.inference.cells import run_effects
from maa.inference.mixed import fit_effect, mixed_table
from maa.inference.pairs import pair_runs
from tests.factories import make_measurements


def grid(effects):
    """Lay out effects[backbones, datasets, seeds] as rows of runs."""
    return pd.DataFrame(
        [
            (f"b{b}", f"d{d}", s, effects[b, d, s])
            for b, d, s in np.ndindex(effects.shape)
        ],
        columns=["backbone", "dataset", "seed", "effect"],
    )


def anova(effects):
    """Closed form of a balanced two-way layout with replicates, all factors random."""
    b, d, s = effects.shape
    mean, cell = effects.mean(), effects.mean(axis=2)
    rows, columns = cell.mean(axis=1), cell.mean(axis=0)
    ms_b = d * s * ((rows - mean) ** 2).sum() / (b - 1)
    ms_d = b * s * ((columns - mean) ** 2).sum() / (d - 1)
    rest = cell - rows[:, None] - columns + mean
    ms_cell = s * (rest**2).sum() / ((b - 1) * (d - 1))
    ms_run = ((effects - cell[..., None]) ** 2).sum() / (b * d * (s - 1))
    return {
        "estimate": mean,
        "se": np.sqrt((ms_b + ms_d - ms_cell) / (b * d * s)),
        "var_backbone": (ms_b - ms_cell) / (d * s),
        "var_dataset": (ms_d - ms_cell) / (b * s),
        "var_cell": (ms_cell - ms_run) / s,
        "var_residual": ms_run,
    }


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_balanced_data_give_the_analysis_of_variance(scale):
    rng = np.random.default_rng(11)
    effects = scale * (
        0.7
        + rng.normal(0, 1, (5, 1, 1))
        + rng.normal(0, 0.8, (1, 4, 1))
        + rng.normal(0, 0.7, (5, 4, 1))
        + rng.normal(0, 0.5, (5, 4, 3))
    )
    expected = anova(effects)
    assert min(expected.values()) > 0  # inside the boundary REML is the closed form
    found = fit_effect(grid(effects))
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=2e-3), name
    assert (found["converged"], found["singular"], found["note"]) == (True, False, "")
    assert (found["cells"], found["runs"]) == (20, 60)
    z = expected["estimate"] / expected["se"]
    assert found["p"] == pytest.approx(2 * stats.norm.sf(z), rel=0.02)
    half = 1.959964 * found["se"]
    assert found["high"] - found["estimate"] == pytest.approx(half, rel=1e-6)


def test_an_effect_that_varies_by_backbone_is_in_doubt():
    # Seeds agree to a hair: a model of replicates alone would be sure of the effect.
    means = np.array([0.9, -0.5, 0.6, 0.1])[:, None, None]
    effects = means + np.random.default_rng(1).normal(0, 0.01, (4, 3, 3))
    found = fit_effect(grid(effects))
    assert found["se"] == pytest.approx(stats.sem(effects.mean(axis=(1, 2))), rel=0.01)
    assert found["low"] < 0 < found["high"]
    assert found["var_backbone"] > 100 * found["var_cell"]


@pytest.mark.parametrize("seed", range(6))
def test_singular_fits_say_so_and_keep_an_honest_error(seed):
    # No factor matters, and the draw's means differ less than its noise would have
    # them: the likeliest variances are zero, and what is left is the mean of runs.
    effects = np.random.default_rng(seed).normal(size=(4, 3, 3))
    effects -= effects.mean(axis=2, keepdims=True)  # all cells alike
    found = fit_effect(grid(effects + 0.2))
    assert found["singular"]
    assert "backbone, dataset, cell" in found["note"]
    assert found["estimate"] == pytest.approx(0.2)
    assert found["se"] == pytest.approx(stats.sem(effects.ravel()), rel=1e-3)


def test_factors_that_cannot_be_told_apart_are_left_out():
    rng = np.random.default_rng(5)
    one = fit_effect(grid(rng.normal(size=(4, 1, 3)) + rng.normal(size=(4, 1, 1)) * 3))
    assert one["var_backbone"] > 0
    assert np.isnan([one["var_dataset"], one["var_cell"]]).all()
    no_replicates = fit_effect(grid(rng.normal(size=(4, 3, 1))))
    assert np.isnan(no_replicates["var_cell"])
    assert not np.isnan(no_replicates["var_dataset"])
    cell = rng.normal(size=(1, 1, 3))
    alone = fit_effect(grid(cell))
    assert alone["se"] == pytest.approx(stats.sem(cell.ravel()))
    assert np.isnan(alone["var_backbone"])


def test_effects_that_do_not_vary_have_no_test():
    found = fit_effect(grid(np.zeros((4, 3, 3))))
    assert (found["estimate"], found["note"]) == (0, "the effect does not vary")
    assert np.isnan([found["se"], found["p"]]).all()


def test_every_quantity_has_its_row_beside_the_signed_rank_test():
    table = make_measurements({("auc_unseen", ""): 0.01})
    runs = run_effects(pair_runs(table, "p1.00", "p1.10"))
    runs = runs[runs["endpoint"].isin(["auc", "r2_linear_z"])]
    start = time.perf_counter()
    found = mixed_table(runs)
    assert time.perf_counter() - start < 0.5 * len(found)
    assert len(found) == 9
    auc = found[found["endpoint"] == "auc"].iloc[0]
    assert auc["p_wilcoxon"] == 2 / 4096
    assert auc["p"] < 1e-6
    assert auc["estimate"] == pytest.approx(0.01, abs=0.0005)
    homophily = found[found["target"] == "homophily"]
    assert len(homophily) == 1
    assert (homophily["note"] == "constant on all data").all()
    assert homophily["p"].isna().all()

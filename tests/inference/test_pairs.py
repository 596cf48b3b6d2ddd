import numpy as np
import pandas as pd
import pytest

from maa.errors import UserError
from maa.inference.cells import cell_effects, run_effects
from maa.inference.pairs import pair_runs
from maa.inference.sets import sets_from
from tests.factories import TARGETS, make_measurements


@pytest.fixture(scope="module")
def measurements():
    return make_measurements()


def pair(table):
    return pair_runs(table, "p1.00", "p1.10")


def test_effect_is_treatment_minus_baseline_and_seeds_are_averaged(measurements):
    cells = cell_effects(run_effects(pair(measurements)))
    own = measurements[
        (measurements["dataset"] == "mooc")
        & (measurements["backbone"] == "tgat")
        & (measurements["measure"] == "auc_unseen")
    ]
    means = own.groupby("operator")["value"].mean()
    cell = cells.query("dataset == 'mooc' and backbone == 'tgat' and endpoint == 'auc'")
    assert len(cell) == 1
    assert cell["baseline"].item() == pytest.approx(means["p1.00"])
    assert cell["treatment"].item() == pytest.approx(means["p1.10"])
    assert cell["effect"].item() == pytest.approx(means["p1.10"] - means["p1.00"])
    assert cell["seeds"].item() == 3


def test_both_means_leave_out_and_keep_the_constant_target(measurements):
    cells = cell_effects(run_effects(pair(measurements)))
    picked = cells[(cells["dataset"] == "mooc") & (cells["backbone"] == "craft")]
    by_target = picked[picked["endpoint"] == "r2_linear_z"].set_index("target")
    informative = [target for target in TARGETS if target != "homophily"]
    shared = picked[picked["endpoint"] == "shared_linear"].iloc[0]
    shared_all = picked[picked["endpoint"] == "shared_linear_all"].iloc[0]
    assert shared["baseline"] == pytest.approx(
        by_target.loc[informative, "baseline"].mean()
    )
    assert shared_all["baseline"] == pytest.approx(by_target["baseline"].mean())
    assert shared_all["effect"] == pytest.approx(shared["effect"] * 7 / 8)
    assert by_target.loc["homophily", "constant"]


def test_a_target_may_be_constant_on_one_data_set_alone():
    table = make_measurements(constant={("mooc", "homophily")})
    cells = cell_effects(run_effects(pair(table)))
    rows = cells[
        (cells["endpoint"] == "r2_linear_z") & (cells["target"] == "homophily")
    ]
    assert set(rows.loc[rows["constant"], "dataset"]) == {"mooc"}
    assert len(rows) == 12


def test_other_operators_do_not_matter(measurements):
    other = measurements[measurements["operator"] == "p1.10"].assign(
        operator="p2.00", value=np.nan
    )
    extended = pd.concat([measurements, other.head(3)], ignore_index=True)
    pd.testing.assert_frame_equal(pair(extended), pair(measurements))


def test_order_of_rows_does_not_matter(measurements):
    shuffled = measurements.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(
        run_effects(pair(shuffled)), run_effects(pair(measurements))
    )


def test_a_run_without_its_partner_is_named(measurements):
    lost = (
        (measurements["dataset"] == "mooc")
        & (measurements["backbone"] == "tgat")
        & (measurements["operator"] == "p1.10")
        & (measurements["seed"] == 17)
    )
    with pytest.raises(UserError, match=r"ctdg/mooc/tgat/p1\.10/17"):
        pair(measurements[~lost])


def test_a_missing_cell_is_named(measurements):
    lost = (measurements["dataset"] == "mooc") & (measurements["backbone"] == "tgat")
    with pytest.raises(UserError, match=r"ctdg/mooc/tgat/p1\.00/7 .* and 1 more"):
        pair(measurements[~lost])


def test_values_that_are_not_finite_are_named(measurements):
    broken = measurements.copy()
    row = broken.index[(broken["target"] == "density") & (broken["seed"] == 29)][0]
    for value in (np.nan, np.inf):
        broken.loc[row, "value"] = value
        with pytest.raises(UserError, match=r"/29 \(r2_linear_z density\)"):
            pair(broken)


def test_a_doubled_run_is_named(measurements):
    doubled = pd.concat([measurements, measurements.head(1)], ignore_index=True)
    with pytest.raises(UserError, match=r"occur twice: ctdg/lastfm/craft/p1\.00/7"):
        pair(doubled)


def test_a_target_constant_in_some_runs_only_is_refused(measurements):
    mixed = measurements.copy()
    row = mixed.index[mixed["target"] == "homophily"][0]
    mixed.loc[row, "constant"] = False
    with pytest.raises(UserError, match=r"homophily.*constant in some"):
        pair(mixed)


def test_a_target_may_be_constant_on_validation_queries_alone(measurements):
    linear = measurements[measurements["measure"] == "r2_linear_z"]
    flat = linear["target"].isin(["homophily", "periodicity"])
    chosen = linear.assign(measure="validation_r2_linear_z", constant=flat)
    both = pd.concat([measurements, chosen], ignore_index=True)
    pairs = pair(both)
    expected = run_effects(pair(measurements))
    pd.testing.assert_frame_equal(run_effects(pairs), expected)
    row = both.index[both["measure"].eq("validation_r2_linear_z")][0]
    both.loc[row, "constant"] = ~both.loc[row, "constant"]
    with pytest.raises(UserError, match="constant in some"):
        pair(both)


def test_a_set_names_the_runs_that_are_missing_altogether(measurements):
    core = {
        "datasets": ["lastfm", "mooc", "uci"],
        "backbones": ["tgat"],
        "operators": ["p1.00", "p1.10"],
        "seeds": [7, 17, 29],
    }
    (run_set,) = sets_from({"ctdg": {"core": core}})
    with pytest.raises(UserError, match=r"missing.*ctdg/uci/tgat/p1\.00/7"):
        pair_runs(measurements, "p1.00", "p1.10", run_set)
    core["datasets"].remove("uci")
    (run_set,) = sets_from({"ctdg": {"core": core}})
    pairs = pair_runs(measurements, "p1.00", "p1.10", run_set)
    assert set(pairs["backbone"]) == {"tgat"}
    assert set(pairs["dataset"]) == {"lastfm", "mooc"}


def test_probes_that_some_operators_lack_may_be_left_out(measurements):
    without = measurements[~measurements["measure"].str.contains("extratrees")]
    with pytest.raises(UserError, match="'r2_extratrees_z'"):
        run_effects(pair(without))
    names = set(run_effects(pair(without), complete=False)["endpoint"])
    assert {"auc", "shared_linear"} < names
    assert not any("extratrees" in name for name in names)


def test_an_operator_that_was_not_run_is_named(measurements):
    with pytest.raises(UserError, match=r"treatment .* 'p1\.30' .*'p1\.10'"):
        pair_runs(measurements, "p1.00", "p1.30")
    with pytest.raises(UserError, match=r"both 'p1\.00'"):
        pair_runs(measurements, "p1.00", "p1.00")


def test_a_missing_measure_is_named(measurements):
    without = measurements[measurements["measure"] != "context_margin"]
    with pytest.raises(UserError, match="'context_margin'"):
        run_effects(pair(without))


def test_a_secondary_measure_may_be_absent(measurements):
    without = measurements[measurements["measure"] != "auc_historical"]
    assert "auc_historical" not in set(run_effects(pair(without))["endpoint"])


def test_a_data_set_with_constant_targets_alone_is_named():
    table = make_measurements(constant={("mooc", target) for target in TARGETS})
    with pytest.raises(UserError, match="all targets of the data set 'mooc'"):
        run_effects(pair(table))

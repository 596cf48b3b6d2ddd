"""What the probes find in planted representations."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.metrics import r2_score

from maa.errors import UserError
from maa.probes.recovery import ProbeData, measure_recovery, predict, recover
from maa.probes.settings import ProbeSettings
from maa.probes.split import constant_targets, split_at
from tests.probes.planted import QUERIES, planted

SETTINGS = ProbeSettings(trees=30, max_features="sqrt", joint=True)


def r2(table: pd.DataFrame, probe: str, inputs: str, target: str) -> float:
    rows = table.query("probe == @probe and inputs == @inputs and target == @target")
    (value,) = rows["r2"]
    return float(value)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return measure_recovery(planted(), SETTINGS, seed=7)


def test_one_row_a_probe_inputs_and_target(table: pd.DataFrame) -> None:
    columns = ["part", "probe", "inputs", "target", "r2", "constant"]
    assert list(table.columns) == columns
    keys = table[["probe", "inputs", "target"]]
    assert len(keys.drop_duplicates()) == len(table) == (3 + 2) * 5
    assert set(table["part"]) == {"test"}
    assert table["r2"].dtype == np.float64
    assert table["constant"].dtype == bool


def test_a_linear_signal_is_recovered_as_far_as_its_noise_allows(
    table: pd.DataFrame,
) -> None:
    # Variance 9 + 1 of signal, 1 of noise: R2 = 10/11, less what 120 queries blur.
    assert r2(table, "linear", "z", "linear") == pytest.approx(10 / 11, abs=0.03)
    assert 0.5 < r2(table, "extratrees", "z", "linear") < 10 / 11


def test_noise_is_not_recovered(table: pd.DataFrame) -> None:
    for probe in ("linear", "extratrees"):
        for inputs in ("z", "zc"):
            assert -0.2 < r2(table, probe, inputs, "noise") < 0.03


def test_the_coordinates_add_what_they_hold(table: pd.DataFrame) -> None:
    for probe, least in (("linear", 0.999), ("extratrees", 0.5)):
        assert r2(table, probe, "z", "coordinate") < 0.05
        assert r2(table, probe, "zc", "coordinate") > least


def test_the_number_of_keys_adds_its_logarithm(table: pd.DataFrame) -> None:
    assert r2(table, "linear", "z", "length") < 0.05
    assert r2(table, "linear", "zn", "length") > 0.999


def test_validation_has_the_linear_probe_of_z_alone(data: ProbeData) -> None:
    found = measure_recovery(data, SETTINGS, seed=7, part="validation")
    assert (found["part"] == "validation").all()
    assert set(zip(found["probe"], found["inputs"], strict=True)) == {("linear", "z")}
    assert len(found) == 5


def test_without_forest_only_the_linear_probe_is_left(
    data: ProbeData, table: pd.DataFrame
) -> None:
    found = measure_recovery(data, replace(SETTINGS, forest=False), seed=7)
    linear = table[table["probe"] == "linear"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, linear)


def test_a_constant_is_flagged_and_keeps_the_librarys_value(
    table: pd.DataFrame,
) -> None:
    # 0.1 has no exact binary form: a mean of many copies would miss it by a bit.
    rows = table[table["target"] == "constant"]
    assert rows["constant"].all()
    assert (rows["r2"] == r2_score([0.1, 0.1], [0.1, 0.1])).all()
    assert not table.loc[table["target"] != "constant", "constant"].any()


@pytest.mark.parametrize("probe", ["linear", "extratrees"])
def test_a_constant_on_one_side_is_scored_but_flagged(
    data: ProbeData, probe: str
) -> None:
    early, late = data.targets[:, 0].copy(), data.targets[:, 0].copy()
    early[:280], late[280:] = 2.0, 2.0
    targets = np.stack([early, late], axis=1)
    assert constant_targets(targets, 280).tolist() == [True, True]
    scores = recover(probe, data.inputs("z"), targets, SETTINGS, seed=7)
    offset = early[280:].mean() - 2.0
    expected = 1 - (early[280:].var() + offset**2) / early[280:].var()
    np.testing.assert_allclose(scores, [expected, r2_score([2.0, 2.0], [1.0, 2.0])])


@pytest.mark.parametrize("probe", ["linear", "extratrees"])
def test_what_holds_only_later_is_not_recovered(data: ProbeData, probe: str) -> None:
    # A shuffled split would see it in a third of the queries that fit.
    target = np.random.default_rng(1).normal(size=QUERIES)
    target[280:] = data.z[280:, 0]
    score = recover(probe, data.inputs("z"), target[:, None], SETTINGS, seed=7)
    assert score.item() < 0.05


@pytest.mark.parametrize("probe", ["linear", "extratrees"])
def test_later_queries_do_not_touch_the_fit(data: ProbeData, probe: str) -> None:
    inputs, known = data.inputs("z"), data.targets[:280, :3]
    changed = inputs.copy()
    changed[300:] = 1e3 * changed[300:][::-1]
    before = predict(probe, inputs, known, SETTINGS, seed=7)
    after = predict(probe, changed, known, SETTINGS, seed=7)
    np.testing.assert_allclose(before[:20], after[:20], rtol=1e-12)
    assert not np.allclose(before[20:], after[20:])


def test_ridge_is_the_closed_form(data: ProbeData) -> None:
    settings = replace(SETTINGS, ridge_alpha=25.0)
    inputs, known = data.inputs("zc"), data.targets[:280, :3]
    mean, scale = inputs[:280].mean(0), inputs[:280].std(0)
    x = (inputs - mean) / scale
    gram = x[:280].T @ x[:280] + 25.0 * np.eye(7)
    weights = np.linalg.solve(gram, x[:280].T @ (known - known.mean(0)))
    expected = x[280:] @ weights + known.mean(0)
    predictions = predict("linear", inputs, known, settings, seed=7)
    np.testing.assert_allclose(predictions, expected, rtol=1e-9)


def forest_by_hand(
    x: NDArray[np.float64], y: NDArray[np.float64], joint: bool
) -> NDArray[np.float64]:
    mean, scale = x[:280].mean(0), x[:280].std(0)
    x = ((x - mean) / scale).astype(np.float32)
    standard = (y - y.mean(0)) / y.std(0)

    def fit(target: NDArray[np.float64]) -> NDArray[np.float64]:
        forest = ExtraTreesRegressor(
            n_estimators=30, min_samples_leaf=5, max_features="sqrt", random_state=7
        )
        return np.asarray(forest.fit(x[:280], target).predict(x[280:]))

    if joint:
        return fit(standard) * y.std(0) + y.mean(0)
    columns = [fit(column) for column in standard.T]
    return np.stack(columns, axis=1) * y.std(0) + y.mean(0)


@pytest.mark.parametrize("joint", [True, False])
def test_forests_are_those_of_scikit_learn(data: ProbeData, joint: bool) -> None:
    inputs, known = data.inputs("z"), data.targets[:280, :3]
    settings = replace(SETTINGS, joint=joint)
    predictions = predict("extratrees", inputs, known, settings, seed=7)
    np.testing.assert_allclose(predictions, forest_by_hand(inputs, known, joint))


def test_a_joint_forest_does_not_care_for_units(data: ProbeData) -> None:
    # Without standardised targets, the one in the larger unit would pick the splits.
    inputs, known = data.inputs("z"), data.targets[:280, :3]
    large = known * [1.0, 1024.0, 1.0]
    small = predict("extratrees", inputs, known, SETTINGS, seed=7)
    predictions = predict("extratrees", inputs, large, SETTINGS, seed=7)
    np.testing.assert_allclose(predictions, small * [1.0, 1024.0, 1.0])


def test_every_setting_of_the_forest_reaches_it(data: ProbeData) -> None:
    inputs, known = data.inputs("z"), data.targets[:280, :1]
    base = predict("extratrees", inputs, known, SETTINGS, seed=7)
    options = {"trees": 31, "min_samples_leaf": 6, "max_features": 1.0}
    for name, value in options.items():
        settings = replace(SETTINGS, **{name: value})
        assert not np.allclose(
            predict("extratrees", inputs, known, settings, seed=7), base
        ), name
    assert not np.allclose(predict("extratrees", inputs, known, SETTINGS, seed=8), base)


@pytest.mark.parametrize("joint", [True, False])
def test_the_result_does_not_depend_on_threads(data: ProbeData, joint: bool) -> None:
    settings = replace(SETTINGS, joint=joint)
    one = measure_recovery(data, settings, seed=7, threads=1)
    pd.testing.assert_frame_equal(
        one, measure_recovery(data, settings, seed=7, threads=3), check_exact=True
    )


def test_threads_do_not_reorder_the_sum_over_trees(data: ProbeData) -> None:
    # Many rows: trees that predict at the same time finish in another order each time.
    inputs, known = data.inputs("z"), data.targets[:280, :3]
    many = np.concatenate([inputs[:280], np.tile(inputs[280:], (80, 1))])
    one = predict("extratrees", many, known, SETTINGS, seed=7)
    for _ in range(3):
        four = predict("extratrees", many, known, SETTINGS, seed=7, threads=4)
        assert np.array_equal(one, four)


@pytest.mark.parametrize(
    ("queries", "fraction", "cut"),
    [(400, 0.7, 280), (60, 0.7, 42), (6, 0.7, 4), (4, 0.5, 2), (19662, 0.7, 13762)],
)
def test_the_split_falls_between_pairs(queries: int, fraction: float, cut: int) -> None:
    assert split_at(queries, fraction) == cut


@pytest.mark.parametrize(("queries", "fraction"), [(0, 0.7), (2, 0.7), (10, 0.1)])
def test_too_few_queries_are_refused(queries: int, fraction: float) -> None:
    with pytest.raises(UserError, match=rf"^{queries // 2} pairs of queries cannot"):
        split_at(queries, fraction)


def test_half_a_pair_is_refused() -> None:
    with pytest.raises(UserError, match="the probes got 5 queries; expected pairs"):
        split_at(5, 0.5)

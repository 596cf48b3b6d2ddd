"""Comparing settings of the forest."""

from dataclasses import replace

import numpy as np
import pytest

from maa.errors import UserError
from maa.probes.calibration import GRID, calibrate_forest
from maa.probes.recovery import ProbeData, recover
from maa.probes.settings import ProbeSettings

BASE = ProbeSettings(trees=10)


def test_every_combination_is_compared_on_targets_that_vary(data: ProbeData) -> None:
    table = calibrate_forest(data, BASE, GRID, seed=7)
    assert list(table.columns) == [
        *("joint", "min_samples_leaf", "max_features", "trees"),
        *("inputs", "targets", "mean_r2", "cpu_seconds"),
    ]
    assert len(table) == 2 * 3 * 3 * 2 * 2
    assert (table["targets"] == 4).all()
    assert (table["cpu_seconds"] > 0).all()
    row = table.query(
        "joint == 'False' and max_features == '0.333' and trees == '12'"
        " and min_samples_leaf == '10' and inputs == 'zc'"
    )
    forest = {"max_features": 1 / 3, "min_samples_leaf": 10, "trees": 12}
    settings = replace(BASE, joint=False, **forest)
    inputs = data.inputs("zc")
    targets = np.delete(data.targets, data.names.index("constant"), axis=1)
    expected = recover("extratrees", inputs, targets, settings, seed=7).mean()
    assert row["mean_r2"].item() == pytest.approx(expected)


def test_more_trees_recover_more_and_cost_more(data: ProbeData) -> None:
    table = calibrate_forest(data, BASE, {"trees": [1, 100]}, seed=7)
    few, many = table[table["inputs"] == "zc"].to_dict("records")
    assert (few["trees"], many["trees"]) == ("1", "100")
    assert few["mean_r2"] < many["mean_r2"]
    assert few["cpu_seconds"] < many["cpu_seconds"]


def test_bad_grids_are_refused(data: ProbeData) -> None:
    with pytest.raises(UserError, match="probe setting 'depth' is unknown"):
        calibrate_forest(data, BASE, {"depth": [3]}, seed=7)
    for choices in ("sqrt", True, []):
        with pytest.raises(UserError, match="expected a list of values"):
            calibrate_forest(data, BASE, {"max_features": choices}, seed=7)  # type: ignore[dict-item]


def test_constant_targets_alone_are_refused(data: ProbeData) -> None:
    constant = replace(data, targets=np.zeros((400, 1)), names=("constant",))
    with pytest.raises(UserError, match="every target is constant"):
        calibrate_forest(constant, BASE, GRID, seed=7)

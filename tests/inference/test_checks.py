import numpy as np
import pytest

from maa.errors import UserError
from maa.inference.cells import cell_effects, run_effects
from maa.inference.checks import check_recovery, recovery_gaps
from maa.inference.pairs import pair_runs
from maa.inference.summary import aggregate_table, statistics_table
from tests.factories import make_measurements


@pytest.fixture(scope="module")
def runs():
    table = make_measurements({("r2_linear_z", "density"): 0.08}, jitter=0.01)
    return run_effects(pair_runs(table, "p1.00", "p1.10"))


def test_aggregate_recovery_is_the_mean_of_its_statistics(runs):
    gaps = recovery_gaps(cell_effects(runs)).set_index("endpoint")["gap"]
    assert len(gaps) == 8
    assert gaps.max() < 1e-14
    check_recovery(cell_effects(runs))


def test_the_same_holds_of_the_tables_with_and_without_the_constant(runs):
    aggregate = aggregate_table(runs, 50, 0).set_index("endpoint")["change"]
    statistics = statistics_table(runs, 50, 0)
    changes = statistics[statistics["endpoint"] == "r2_linear_z"]["change"]
    assert changes.isna().sum() == 1  # homophily
    assert aggregate["shared_linear"] == pytest.approx(changes.mean(), abs=1e-14)
    mean_of_eight = changes.fillna(0).mean()
    assert aggregate["shared_linear_all"] == pytest.approx(mean_of_eight, abs=1e-14)


def test_an_aggregate_that_is_off_is_named(runs):
    cells = cell_effects(runs)
    row = cells.index[cells["endpoint"] == "beyond_linear"][5]
    cells.loc[row, "effect"] += 0.001
    with pytest.raises(UserError, match=r"'beyond_linear' differ .* up to 0\.001"):
        check_recovery(cells)
    cells.loc[row, "effect"] = np.nan
    assert len(recovery_gaps(cells)) == 8

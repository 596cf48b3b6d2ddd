"""Facts of made-up runs, whose differences are known."""

import pandas as pd
import pytest

from maa.domains.traffic import facts as stage
from tests.figures import tables_of_traffic as made


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> tuple[pd.DataFrame, pd.DataFrame]:
    patch = pytest.MonkeyPatch()
    request.addfinalizer(patch.undo)
    patch.setattr(stage, "theory", lambda: iter([("theory.one", 1.0, 0.0, 2.0, 5)]))
    other = made.measurements().assign(domain="ctdg")
    measured = pd.concat([made.measurements(), other], ignore_index=True)
    return stage.facts(measured, made.traces())


def value(facts: pd.DataFrame, fact: str, dataset: str = "metr-la-10") -> pd.Series:
    rows = facts[(facts["fact"] == fact) & (facts["dataset"] == dataset)]
    assert len(rows) == 1
    return rows.iloc[0]


def test_gaps_are_percent_of_the_same_seeds(found) -> None:
    facts, _ = found
    dropout = value(facts, "gap.diagonal-dropout0.20.mae_12")
    assert dropout["value"] == pytest.approx(-2.0, abs=0.1)
    assert dropout["low"] < -2.0 < dropout["high"] < 0
    assert dropout["backbone"] == "released" and dropout["cells"] == 4
    assert value(facts, "gap.diagonal-mask.mae_12")["value"] == 0
    assert value(facts, "gap.no-residual.rmse_3")["value"] == pytest.approx(30, abs=0.3)
    assert value(facts, "gap.largest_reduction")["value"] == pytest.approx(2, abs=0.1)
    # nine errors of two regularisers; dropout's are clear, the mask's are none
    assert value(facts, "gap.clear")["value"] == pytest.approx(50)


def test_models_are_compared_with_simple_forecasts(found) -> None:
    facts, _ = found
    assert value(facts, "better.last_value.mae_3")["value"] == pytest.approx(50)
    assert value(facts, "better.linear.mae_3")["value"] == pytest.approx(-100)


def test_diagonals_are_in_even_weights(found) -> None:
    facts, _ = found
    plain = value(facts, "diagonal.last.none")
    assert plain["value"] == pytest.approx(0.2, abs=0.002)
    assert 0 < plain["low"] < plain["high"] < 0.3
    mask = value(facts, "diagonal.all.diagonal-mask")["value"]
    assert mask == pytest.approx(-1.0, abs=0.002)
    assert value(facts, "diagonal.last.no-residual")["value"] > 0.7


def test_paths_are_means_over_blocks_seed_by_seed(found) -> None:
    facts, _ = found
    query = value(facts, "jacobian_own.query.none")
    assert query["value"] == pytest.approx(2 * 1.05)
    assert query["low"] < query["value"] < query["high"] and query["cells"] == 4
    assert value(facts, "jacobian_others.all.p1.10")["value"] == pytest.approx(0.1)
    # seeds differ by a half, the ratio does not
    kept = value(facts, "query_kept.diagonal-mask")
    assert [kept["low"], kept["value"], kept["high"]] == pytest.approx([0.9] * 3)


def test_recovery_is_that_of_mass(found) -> None:
    facts, gaps = found
    read = value(facts, "recovery.window_onsets")
    assert read["value"] == pytest.approx(0.05, abs=0.002)
    assert read["low"] > 0
    assert set(gaps["measure"]) >= {"recovery.window_onsets", "mae_3", "mape_12_best"}


def test_longer_windows_are_not_the_first_tables(found) -> None:
    steps = (3, 6, 12, 24, 36)
    facts, _ = stage.facts(made.measurements(steps), made.traces())
    of_models = facts[facts["dataset"] != ""]["fact"]
    assert of_models.str.startswith("ahead36.").all()
    longer = value(facts, "ahead36.gap.diagonal-dropout0.20.mape_36")
    assert longer["value"] == pytest.approx(-2.0, abs=0.1)


def test_theory_needs_no_data(found) -> None:
    facts, _ = found
    row = value(facts, "theory.one", dataset="")
    assert (row["backbone"], row["value"], row["cells"]) == ("", 1.0, 5)


def test_the_papers_bounds_as_they_come_out() -> None:
    from maa.domains.traffic.theory import theory

    told = {name: value for name, value, *_ in theory()}
    assert told["theory.exponent.off_diagonal"] == pytest.approx(-0.96, abs=0.1)
    assert told["theory.broken.off_diagonal"] == 0
    assert told["theory.broken.query"] > 90
    assert told["theory.query_masked"] > 0.8

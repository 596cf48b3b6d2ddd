"""Numbers of the paper, looked up in made-up tables of contrasts."""

import math

import pytest

from maa.claims.numbers import entries, numbers_of, paper_value
from tests.figures.tables_of_inference import (
    BACKBONES,
    CONTROL_CELLS,
    DATASETS,
    contrasts,
    value,
)


def number(contrasts_=None, **entry):
    claim = {"domain": "ctdg", "numbers": [{"name": "x", "paper": 0.1} | entry]}
    table = contrasts() if contrasts_ is None else contrasts_
    return numbers_of(claim, table)[0]


def mean(operator, endpoint, target="", cells=CONTROL_CELLS):
    values = [value(d, b, operator, endpoint, target) for b, d in cells]
    return sum(values) / len(values)


def test_a_change_over_all_cells_of_a_group():
    found = number(group="controls", treatment="p1.20", endpoint="auc")
    expected = mean("p1.20", "auc") - mean("p1.00", "auc")
    assert found.found == pytest.approx(expected)
    assert found.low < found.found < found.high
    assert found.cells == 4


def test_a_change_in_one_backbone():
    cells = [("tgat", dataset) for dataset in DATASETS]
    found = number(backbone="tgat", endpoint="r2_linear_z", target="density")
    expected = mean("p1.10", "r2_linear_z", "density", cells)
    expected -= mean("p1.00", "r2_linear_z", "density", cells)
    assert found.found == pytest.approx(expected)
    assert found.cells == 3


def test_levels_of_both_arms():
    cells = [(b, d) for b in BACKBONES for d in DATASETS]
    for arm, operator in (("baseline", "p1.00"), ("treatment", "p1.10")):
        found = number(endpoint="beyond_linear", value=arm)
        expected = mean(operator, "beyond_linear", cells=cells)
        assert found.found == pytest.approx(expected)
        assert math.isnan(found.low)


def test_the_best_of_several_operators():
    both = [
        number(group="controls", treatment=f"cpa-{form}", endpoint="auc").found
        for form in ("additive", "scaled")
    ]
    cpa = ["cpa-additive", "cpa-scaled"]
    best = number(group="controls", treatment=cpa, endpoint="auc")
    assert best.found == max(both)
    over = number(group="controls", against=cpa, endpoint="auc")
    plain = number(group="controls", endpoint="auc")
    assert over.found == pytest.approx(plain.found - max(both))
    assert math.isnan(over.low)


def test_the_best_of_fewer_operators_is_another_number():
    table = contrasts()[contrasts()["treatment"] != "cpa-scaled"]
    cpa = ["cpa-additive", "cpa-scaled"]
    assert not number(table, group="controls", treatment=cpa, endpoint="auc").ran
    assert not number(table, group="controls", against=cpa, endpoint="auc").ran


def test_a_lead_is_over_the_mean_of_the_others():
    levels = {
        b: mean("p1.00", "r2_linear_z", "granularity", [(b, d) for d in DATASETS])
        for b in BACKBONES
    }
    entry = {"endpoint": "r2_linear_z", "target": "granularity", "value": "lead"}
    found = number(backbone="tgat", **entry)
    others = [level for name, level in levels.items() if name != "tgat"]
    assert found.found == pytest.approx(levels["tgat"] - sum(others) / 3)
    alone = contrasts()[contrasts()["backbone"].isin(["", "tgat"])]
    assert not number(alone, backbone="tgat", **entry).ran


def test_what_was_not_run_or_is_constant_is_no_number():
    assert not number(endpoint="auc", treatment="p1.70").ran
    assert not number(endpoint="auc", treatment="p2.00").ran  # not in the core
    flat = contrasts().assign(constant=True)
    assert not number(flat, endpoint="r2_linear_z", target="homophily").ran
    other = contrasts().assign(domain="tkg")
    assert not number(other, endpoint="auc").ran


def test_the_papers_numbers_as_printed():
    assert paper_value({"paper": {"from": 0.5, "to": 0.75}}) == 0.25
    assert [paper_value({"paper": way}) for way in ("up", "down")] == [1.0, -1.0]
    assert math.isnan(paper_value({}))


def test_entries_take_what_they_have_in_common():
    claim = {"common": {"group": "controls"}, "numbers": [{"name": "a", "target": "b"}]}
    (entry,) = entries(claim)
    assert (entry["group"], entry["target"]) == ("controls", "b")
    assert (entry["baseline"], entry["treatment"]) == ("p1.00", "p1.10")

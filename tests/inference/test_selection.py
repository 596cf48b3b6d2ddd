import copy

import numpy as np
import pandas as pd
import pytest

from maa.errors import UserError
from maa.inference.plan import plan_from
from maa.inference.selection import (
    EFFECT_COLUMNS,
    SELECTION_COLUMNS,
    choose,
    selection_tables,
)
from tests.factories import PLAN, STUDY, make_study

GRID = PLAN["selection"]["grid"]


def pick(utility, recovery, tolerance=0.0, p=(1.0, 1.02, 1.05, 1.1)):
    powers = pd.DataFrame({"p": p, "utility": utility, "recovery": recovery})
    shuffled = powers.sample(frac=1, random_state=1)
    table = choose(shuffled, tolerance)
    return table.loc[table["chosen"], "p"].item(), table["feasible"].tolist()


def test_the_best_recovery_of_the_feasible_powers_is_chosen():
    p, feasible = pick([0.80, 0.81, 0.80, 0.79], [0.40, 0.41, 0.42, 0.50])
    assert p == 1.05
    assert feasible == [True, True, True, False]  # no worse than p = 1 is enough


def test_equals_go_to_the_smaller_power():
    assert pick([0.8] * 4, [0.40, 0.42, 0.42, 0.41])[0] == 1.02
    assert pick([0.8] * 4, [0.42, 0.42, 0.42, 0.42])[0] == 1.0


def test_nothing_better_stays_at_one():
    assert pick([0.80, 0.79, 0.79, 0.79], [0.1, 0.9, 0.9, 0.9])[0] == 1.0
    assert pick([0.8] * 4, [0.42, 0.41, 0.41, 0.41])[0] == 1.0
    p, feasible = pick([np.nan, 0.9, 0.9, 0.9], [0.1, 0.2, 0.3, 0.4])
    assert (p, any(feasible)) == (1.0, False)


def test_the_tolerance_admits_a_little_loss():
    utility, recovery = [0.80, 0.7951, 0.79, 0.70], [0.1, 0.2, 0.3, 0.4]
    assert pick(utility, recovery)[0] == 1.0
    assert pick(utility, recovery, tolerance=0.005)[0] == 1.02
    assert pick(utility, recovery, tolerance=0.02)[0] == 1.05


def planted():
    """Validation favours 1.20, test 1.05 with a harmful 1.20; all utilities equal."""
    table = make_study(
        {
            ("p1.20", "validation_r2_linear_z", "density"): 0.08,
            ("p1.05", "r2_linear_z", "density"): 0.08,
            ("p1.20", "r2_linear_z", "preferential_attachment"): -0.07,
            ("p1.20", "context_margin", ""): 0.02,
        },
        jitter=0.0,
    )
    return table


@pytest.fixture(scope="module")
def tables():
    return selection_tables(planted(), plan_from(PLAN))


def test_validation_selects_and_the_leak_selects_on_test(tables):
    selection, _ = tables
    chosen = selection[selection["chosen"]]
    by_variant = chosen.groupby("variant")["p"].unique().map(list).to_dict()
    assert by_variant == {
        "leave-one-model-out": [1.2],
        "per-cell": [1.2],
        "leaky": [1.05],
    }
    assert chosen.groupby("variant").size().to_dict() == {
        "leave-one-model-out": 4,
        "per-cell": 12,
        "leaky": 4,
    }
    assert selection.groupby("variant")["cells"].unique().map(list).to_dict() == {
        "leave-one-model-out": [9],
        "per-cell": [1],
        "leaky": [9],
    }
    assert (selection.groupby(["variant", "fold"]).size() == 6).all()  # never p2.00


def test_choices_are_judged_on_the_test_queries_of_the_held_out_cells(tables):
    _, effects = tables
    held = effects[effects["variant"] == "leave-one-model-out"]
    assert len(held) == 12
    assert (held["fold"] == held["backbone"]).all()
    np.testing.assert_allclose(held["d_pa"], -0.07, atol=1e-9)
    np.testing.assert_allclose(held["d_margin"], 0.02, atol=1e-9)
    np.testing.assert_allclose(held["d_auc"], 0, atol=1e-9)
    informative = np.where(held["dataset"] == "wikipedia", 7, 8)
    np.testing.assert_allclose(held["d_shared_linear"], -0.07 / informative, atol=1e-9)
    own = effects[effects["variant"] == "per-cell"]
    assert (own["fold"] == own["backbone"] + "/" + own["dataset"]).all()


def test_a_held_out_backbone_does_not_select():
    table = planted()
    spoilt = (
        (table["backbone"] == "craft")
        & (table["operator"] == "p1.20")
        & (table["measure"] == "validation_auc")
    )
    table.loc[spoilt, "value"] -= 0.3  # infeasible wherever craft takes part
    selection, _ = selection_tables(table, plan_from(PLAN))
    chosen = selection[
        selection["chosen"] & (selection["variant"] == "leave-one-model-out")
    ].set_index("fold")["p"]
    assert chosen["craft"] == 1.2
    assert (chosen.drop("craft") < 1.2).all()


def test_utility_and_recovery_are_means_of_the_selecting_cells(tables):
    selection, _ = tables
    table = planted()
    own = table[
        (table["operator"] == "p1.10")
        & table["backbone"].isin(["craft", "dygformer", "graphmixer"])
        & ~table["constant"]
    ]
    auc = own[own["measure"] == "validation_auc"]["value"].mean()
    linear = own[own["measure"] == "validation_r2_linear_z"]
    recovery = linear.groupby(["dataset", "backbone"])["value"].mean().mean()
    row = selection.query(
        "variant == 'leave-one-model-out' and fold == 'tgat' and operator == 'p1.10'"
    ).iloc[0]
    assert row["utility"] == pytest.approx(auc)
    assert row["recovery"] == pytest.approx(recovery)


def small(**changes):
    core = copy.deepcopy(STUDY["core"]) | changes
    sets = {"core": core}
    return make_study(sets=sets), plan_from(PLAN | {"sets": {"ctdg": sets}})


def test_one_backbone_cannot_be_left_out():
    selection, effects = selection_tables(*small(backbones=["tgat"]))
    assert set(selection["variant"]) == set(effects["variant"]) == {"per-cell"}


@pytest.mark.parametrize(
    "operators", [["p1.00"], ["p1.05", "p1.10"], ["p1.00", "p2.00"]]
)
def test_without_a_choice_the_tables_are_empty(operators):
    selection, effects = selection_tables(*small(operators=operators))
    assert selection.empty and effects.empty
    assert list(selection.columns) == SELECTION_COLUMNS
    assert list(effects.columns) == EFFECT_COLUMNS


def test_what_is_missing_is_named():
    table, plan = small(operators=["p1.00", "p1.10"])
    with pytest.raises(UserError, match="'validation_auc' is in no run"):
        selection_tables(table[table["measure"] != "validation_auc"], plan)
    lost = (table["measure"] == "validation_auc") & (table["seed"] == 7)
    with pytest.raises(UserError, match=r"enron/craft/p1\.00/7 \(validation_auc\)"):
        selection_tables(table[~lost], plan)
    flat = table["measure"].eq("validation_r2_linear_z") & table["dataset"].eq("uci")
    with pytest.raises(UserError, match="'uci' are constant in 'validation_r2"):
        selection_tables(table.assign(constant=table["constant"] | flat), plan)
    bare = {key: value for key, value in PLAN.items() if key != "selection"}
    with pytest.raises(UserError, match="no selection"):
        selection_tables(table, plan_from(bare))

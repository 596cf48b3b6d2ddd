import pytest

from maa.figures.labels import by_model, cell_label, model_of, operator_label, power


@pytest.mark.parametrize(
    ("name", "p"),
    [
        ("p1.10", 1.1),
        ("p2.00", 2.0),
        ("p1.10-l2", None),
        ("p2.00to1.10", None),
        ("pinf", None),
        ("nap", None),
    ],
)
def test_only_fixed_powers_have_a_power(name, p):
    assert power(name) == p


def test_operators_have_names_for_readers():
    assert operator_label("p1.00") == "Softmax, p = 1"
    assert operator_label("p1.20") == "MAA, p = 1.2"
    assert operator_label("cpa-scaled") == "CPA, scaled"
    assert operator_label("luck") == "luck"


def test_cells_are_ordered_by_model_and_named():
    cells = ["zeta/uci", "graphmixer/uci", "tgat-official/enron", "craft/uci"]
    expected = ["craft/uci", "tgat-official/enron", "graphmixer/uci", "zeta/uci"]
    assert sorted(cells, key=by_model) == expected
    assert cell_label("tgat/uci") == "TGAT, UCI"
    assert model_of("tgat-official") == model_of("tgat") == "tgat"

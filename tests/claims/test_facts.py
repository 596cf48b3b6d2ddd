"""Numbers of companion papers, looked up in tables of facts."""

import math

import pandas as pd
import pytest

from maa.claims.evaluate import Tables, evaluate, numbers_table, results_table
from maa.claims.facts import COLUMNS, numbers_of_facts
from maa.claims.texts import number_texts
from tests.claims.test_arithmetic import BOOK, CLAIMS

NAMES = COLUMNS.split()
ROWS = [
    ("rows", "flips.cosine", "hotpotqa", "smollm2", 28.0, 26.0, 30.0, 20),
    ("rows", "flips.cosine", "hotpotqa", "bert-base", 60.0, 58.0, 62.0, 20),
    ("rows", "flips.js", "hotpotqa", "smollm2", 23.0, 22.0, 24.0, 20),
    ("rows", "flips.euclid", "hotpotqa", "smollm2", 31.0, 30.0, 32.0, 20),
    ("rows", "pruning.worst", "hotpotqa", "smollm2", 700.0, math.nan, math.nan, 6),
    ("rows", "collapse.sink", "x", "pythia-1b", 90.0, 85.0, 95.0, 24),
    ("traffic", "flips.cosine", "x", "y", 1.0, 1.0, 1.0, 1),
    ("traffic", "gap.largest_reduction", "metr-la", "released", 2.8, 0.0, 0.0, 4),
]
FACTS = pd.DataFrame(ROWS, columns=NAMES)


def verdicts(facts: pd.DataFrame) -> pd.DataFrame:
    return results_table(evaluate(BOOK, Tables(facts=facts))).set_index("id")


def test_every_model_and_data_set_is_a_number_of_its_own() -> None:
    numbers = numbers_of_facts(CLAIMS["R1"], FACTS)
    assert [(number.name, number.found) for number in numbers] == [
        ("Cosine, smollm2, hotpotqa", 28.0),
        ("Cosine, bert-base, hotpotqa", 60.0),
        ("Jensen-Shannon, smollm2, hotpotqa", 23.0),
        ("Euclid, smollm2, hotpotqa", 31.0),
    ]
    assert (numbers[0].low, numbers[0].high, numbers[0].cells) == (26.0, 30.0, 20)


def test_verdicts_follow_the_rules() -> None:
    found = verdicts(FACTS)
    assert found.loc["R1", "verdict"] == "direction only"  # 3 of 4 in the range
    assert found.loc["R5", "verdict"] == "reproduced"
    assert found.loc["J3b", "verdict"] == "reproduced"
    assert found.loc["R3", "verdict"] == "not run"
    low = FACTS.assign(value=FACTS["value"].where(FACTS["fact"] != "pruning.worst", 9))
    assert verdicts(low).loc["R5", "verdict"] == "contradicted"


def test_an_entry_of_one_model_asks_for_no_other() -> None:
    numbers = numbers_of_facts(CLAIMS["R4"], FACTS)
    ran = {number.name for number in numbers if number.ran}
    assert ran == {"Pythia 1B, pythia-1b, x"}
    found = verdicts(FACTS).loc["R4"]
    assert found["verdict"] == "reproduced"


def test_scope_tells_the_papers_models_from_others() -> None:
    found = verdicts(FACTS)
    scope = "1 of the models are known to be the paper's."
    assert found.loc["R1", "scope"] == scope
    assert found.loc["R1", "foreign"] == "hotpotqa, smollm2"
    assert found.loc["R3", "scope"] == "Not measured."


def test_numbers_are_shown_with_the_papers() -> None:
    results = evaluate(BOOK, Tables(facts=FACTS))
    shown = numbers_table(results).set_index(["id", "number"])
    row = shown.loc[("R1", "Cosine, bert-base, hotpotqa")]
    assert (row["paper"], row["paper_high"], row["agrees"]) == (17.0, 47.0, "no")
    (worst,) = numbers_of_facts(CLAIMS["R5"], FACTS)
    assert number_texts(worst)["paper"] == "100 at least"
    masked = next(iter(numbers_of_facts(CLAIMS["J8"], FACTS)))
    assert number_texts(masked)["paper"] == "0.1 at most"


def test_standard_deviations_become_margins() -> None:
    row = ("traffic", "level.none.mae_3", "metr-la", "released", 3.0, 0.0, 0.0, 4)
    facts = pd.DataFrame([row], columns=NAMES)
    numbers = [n for n in numbers_of_facts(CLAIMS["J1"], facts) if n.ran]
    assert len(numbers) == 1
    assert numbers[0].margin == pytest.approx(2 * 0.022)
    assert verdicts(facts).loc["J1", "verdict"] == "reproduced"

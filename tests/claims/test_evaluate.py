"""Planted effects through the whole: measurements to verdicts."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from maa.claims.book import load_book
from maa.claims.evaluate import Tables, evaluate, numbers_table, results_table
from maa.claims.page import page_scope, render, tally
from maa.files import write_table
from maa.inference.cells import cell_effects, run_effects
from maa.inference.pairs import pair_runs
from maa.inference.summary import aggregate_table, statistics_table
from tests.factories import ALL_HOMOPHILY, make_measurements
from tests.figures.tables_of_inference import all_tables

ROOT = Path(__file__).parents[2]
BOOK = load_book(
    ROOT / "config/claims.yaml", ROOT / "workflow/schemas/claims.schema.yaml"
)
AS_PUBLISHED = {
    ("auc_unseen", ""): 0.0035,
    ("context_margin", ""): 0.032,
    ("r2_linear_z", "preferential_attachment"): 0.09,
    ("r2_linear_z", "density"): 0.04,
    ("r2_linear_z", "pair_frequency"): 0.014,
    ("r2_extratrees_z", "density"): -0.022,
}
DRAWS = 300
ON_DATA = ["C1", "C2", "C3", "C4a", "C4b", "C5"]


def tables_of(effects, **options):
    measurements = make_measurements(effects, **options)
    runs = run_effects(pair_runs(measurements, "p1.00", "p1.10"))
    return Tables(
        cell_effects(runs),
        aggregate_table(runs, DRAWS, 0),
        statistics_table(runs, DRAWS, 0),
    )


def verdicts(tables):
    table = results_table(evaluate(BOOK, tables)).set_index("id")
    return table, table.loc[ON_DATA, "verdict"].to_dict()


@pytest.fixture(scope="module")
def published():
    return tables_of(AS_PUBLISHED)


def test_the_published_effects_are_reproduced(published):
    table, found = verdicts(published)
    assert set(found.values()) == {"reproduced"}
    on_paper = table["section"].isin(["identities", "arithmetic"])
    assert set(table.loc[on_paper, "verdict"]) == {"reproduced"}
    pattern = table["kind"].isin(["pattern", "choice", "support"])
    assert set(table.loc[pattern, "verdict"]) == {"not run"}
    assert (table.loc[ON_DATA, "paper_cells"] == 12).all()
    scope = "12 of the paper's 12 cells. Seeds a cell: 3 (paper: 3)."
    assert table.loc["C1", "scope"] == scope
    assert page_scope(evaluate(BOOK, published)) == []


def test_one_planted_effect_is_found_and_the_absent_ones_are_not():
    _, found = verdicts(tables_of({("auc_unseen", ""): 0.0035}))
    assert found.pop("C1") == "reproduced"
    assert found.pop("C4a") == "reproduced"  # claims that nothing changes
    assert set(found.values()) <= {"direction only", "not reproduced", "contradicted"}


def test_opposite_effects_contradict():
    opposite = {key: -value for key, value in AS_PUBLISHED.items()}
    opposite |= {("r2_extratrees_z", "recency"): 0.2}
    table, found = verdicts(tables_of(opposite))
    assert set(found.values()) == {"contradicted"}
    assert "down" in table.loc["C1", "reason"]


def test_two_backbones_on_other_data_say_so():
    tables = tables_of(
        AS_PUBLISHED,
        datasets=("wikipedia", "uci", "enron"),
        backbones=("craft", "tgat"),
        constant={("wikipedia", "homophily")},
    )
    table, found = verdicts(tables)
    assert found["C1"] == "reproduced"
    assert "significance was not asked" in table.loc["C1", "reason"]
    assert table.loc["C1", "paper_cells"] == 2
    assert table.loc["C1", "paper_total"] == 12
    assert table.loc["C1", "foreign"] == "enron, uci"
    warnings = " ".join(page_scope(evaluate(BOOK, tables)))
    assert "2 of the paper's 12 cells" in warnings
    assert "enron, uci" in warnings


def test_generated_data_alone_is_no_replication():
    tables = tables_of(AS_PUBLISHED, datasets=("planted",), constant=())
    warnings = " ".join(page_scope(evaluate(BOOK, tables)))
    assert "None of the paper's cells was run" in warnings


def test_what_was_not_run_is_not_judged(published):
    empty = Tables(*(t.head(0) for t in vars(published).values()))
    table, found = verdicts(empty)
    assert set(found.values()) == {"not run"}
    assert table.loc["C1", "reason"] == "No run measured ctdg auc."
    assert (table.loc[[f"I{n}" for n in range(1, 8)], "verdict"] == "reproduced").all()


def test_a_claim_on_a_constant_target_is_not_judged():
    flat = {(dataset, "density") for dataset, _ in ALL_HOMOPHILY}
    table, found = verdicts(tables_of(AS_PUBLISHED, constant=ALL_HOMOPHILY | flat))
    assert found["C4b"] == "not run"
    assert "density is constant" in table.loc["C4b", "reason"]


def test_another_domain_does_not_count(published):
    renamed = Tables(*(t.assign(domain="tkg") for t in vars(published).values()))
    assert set(verdicts(renamed)[1].values()) == {"not run"}


def page_of(tables):
    results = evaluate(BOOK, tables)
    return results, render(BOOK, results, tables.cells, tables.aggregate)


def test_the_page_shows_every_verdict_alike(published):
    mixed = tables_of({("auc_unseen", ""): 0.0035, ("context_margin", ""): -0.03})
    results, html = page_of(mixed)
    assert tally(results)["contradicted"] >= 1
    for result in results:
        css = result.finding.verdict.replace(" ", "-")
        card = f'<article class="card {css}" id="{result.claim["id"]}">'
        assert card in html
        assert f'<span class="badge">{result.finding.verdict}</span>' in html
    elsewhere = ("identity", "arithmetic", "fact")
    on_data = [r for r in results if r.claim["kind"] not in elsewhere]
    for verdict, count in tally(on_data).items():
        assert f"{count} {verdict}</span>" in html


def test_the_page_needs_nothing_from_elsewhere(published):
    _, html = page_of(published)
    assert "<script" not in html
    assert 'rel="stylesheet"' not in html
    assert "prefers-color-scheme: dark" in html
    for path in ("figures/fig1.png", "figures/fig2.pdf", "tables/table3.html"):
        assert f'"{path}"' in html
    assert 'src="http' not in html


def test_the_page_names_constant_targets_and_both_means(published):
    _, html = page_of(published)
    assert "<strong>homophily</strong> on lastfm, mooc, wikipedia" in html
    row = published.aggregate.set_index("endpoint")
    for name in ("shared_linear", "shared_linear_all"):
        assert f"{row.loc[name, 'change']:+.5f}" in html
    _, without = page_of(tables_of(AS_PUBLISHED, constant=()))
    assert "No target is constant" in without


def test_the_page_escapes_what_it_shows(published):
    results = evaluate(BOOK, published)
    cells = published.cells.copy()
    cells.loc[cells["constant"], "dataset"] = "<b>odd</b>"
    html = render(BOOK, results, cells, published.aggregate)
    assert "&lt;b&gt;odd&lt;/b&gt;" in html
    assert "<b>odd</b>" not in html


def test_the_script_writes_table_and_page(published, tmp_path):
    flags = ["--claims", ROOT / "config/claims.yaml"]
    flags += ["--schema", ROOT / "workflow/schemas/claims.schema.yaml"]
    for name, table in vars(published).items():
        write_table(tmp_path / f"{name}.parquet", table)
        flags += [f"--{name.replace('_', '-')}", tmp_path / f"{name}.parquet"]
    flags += ["--numbers", tmp_path / "numbers.csv"]
    for suffix in ("parquet", "csv", "html"):
        flags += [f"--{suffix}", tmp_path / f"claims.{suffix}"]
    script = ROOT / "workflow/scripts/claims.py"
    command = [sys.executable, script, *map(str, flags)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "claims.csv").set_index("id")
    assert table.loc["C2", "verdict"] == "reproduced"
    _, html = page_of(published)
    assert (tmp_path / "claims.html").read_text(encoding="utf-8") == html
    numbers = pd.read_csv(tmp_path / "numbers.csv")
    assert set(numbers["id"]) == {c["id"] for c in BOOK["claims"] if c["id"][0] != "I"}


def test_verdicts_survive_the_way_through_a_file(published, tmp_path):
    table = results_table(evaluate(BOOK, published))
    table.to_parquet(tmp_path / "claims.parquet")
    read = pd.read_parquet(tmp_path / "claims.parquet")
    pd.testing.assert_frame_equal(read, table)


@pytest.fixture(scope="module")
def whole():
    """Return a study with controls and selection, and two prepared data sets."""
    names = ("cells", "aggregate", "statistics", "contrasts", "contrast_cells")
    tables = {name: table for name, table in all_tables().items() if name in names}
    return Tables(**tables, selection=all_tables()["selection"], support=support())


def support(**changed):
    """Return the paper's own support, between its ends, on two data sets."""
    entries = next(c for c in BOOK["claims"] if c["kind"] == "support")["numbers"]
    rows = [
        ("ctdg", dataset, e["target"], changed.get(e["target"], e[end]) / 100)
        for e in entries
        for dataset, end in (("wikipedia", "low"), ("mooc", "high"))
    ]
    columns = ["domain", "dataset", "target", "support"]
    return pd.DataFrame(rows, columns=columns)


def judged(tables):
    return {r.claim["id"]: r for r in evaluate(BOOK, tables)}


def test_claims_on_controls_name_their_cells_and_the_papers(whole):
    results = judged(whole)
    fixed = results["C6a"]
    assert fixed.finding.verdict == "reproduced"
    assert (fixed.scope.paper_cells, fixed.scope.paper_total) == (1, 4)
    assert fixed.scope.foreign == ("enron", "uci")
    cpa = results["C8a"].scope
    assert (cpa.paper_cells, cpa.paper_total) == (0, 2)
    assert cpa.backbones == ("craft", "tgat")
    assert results["C4d"].scope.paper_total == 12


def test_some_of_the_operators_say_nothing_about_all(whole):
    rows, cells = whole.contrasts, whole.contrast_cells
    kept = {
        "contrasts": rows[~rows["treatment"].isin(["p1.02", "cpa-scaled"])],
        "contrast_cells": cells[~cells["treatment"].isin(["p1.02", "cpa-scaled"])],
    }
    results = judged(Tables(**{**vars(whole), **kept}))
    for name, operator in (("C6a", "p1.02"), ("C8a", "cpa-scaled")):
        finding = results[name].finding
        assert finding.verdict == "not run"
        assert finding.reason.endswith(f"not in the study ({operator}).")
    assert results["C7c"].finding.verdict == "reproduced"


def test_normalised_outputs_of_one_head_must_be_equal(whole):
    assert judged(whole)["C7c"].finding.verdict == "reproduced"
    table = whole.contrasts.copy()
    one = (table["treatment"] == "p1.10-l2") & (table["baseline"] == "p1.00-l2")
    one &= (table["backbone"] == "tgat") & (table["endpoint"] == "auc")
    table.loc[one, "change"] = 1e-4
    changed = Tables(**{**vars(whole), "contrasts": table})
    assert judged(changed)["C7c"].finding.verdict == "contradicted"


def test_each_fold_of_its_own_variant_is_judged(whole):
    table = whole.selection.copy()
    leaky = table["variant"] == "leaky"
    table.loc[leaky, "chosen"] = table.loc[leaky, "p"] == 1.1
    results = judged(Tables(**{**vars(whole), "selection": table}))
    assert results["S2"].finding.verdict == "reproduced"
    assert {number.name for number in results["S2"].numbers} == {
        *("craft", "tgat", "dygformer", "graphmixer")
    }
    assert results["S1"].finding.verdict == "direction only"  # 1.2 in every fold


def test_support_is_judged_on_the_papers_data_alone(whole):
    assert judged(whole)["T11"].finding.verdict == "reproduced"
    far = support(periodicity=40.0)
    found = judged(Tables(**{**vars(whole), "support": far}))["T11"]
    assert found.finding.verdict == "direction only"
    assert "Periodicity, wikipedia is 40.00" in found.finding.reason
    other = far.assign(dataset="enron")
    found = judged(Tables(**{**vars(whole), "support": other}))["T11"]
    assert found.finding.verdict == "not run"
    assert "0 of the paper's 3 data sets" in found.scope.text


def test_every_number_of_the_paper_has_a_row(whole):
    numbers = numbers_table(evaluate(BOOK, whole)).set_index(["id", "number"])
    claims = {claim["id"]: claim for claim in BOOK["claims"]}
    paper = claims["C1"]["paper"]
    assert numbers.loc[("C1", "change"), "paper"] == paper["change"]
    row = whole.aggregate.set_index("endpoint").loc["auc"]
    assert numbers.loc[("C1", "change"), "found"] == row["change"]
    assert numbers.loc[("C1", "change"), "low"] == row["low"]
    moved = paper["moved"] / paper["cells"]
    assert numbers.loc[("C1", "share moved"), "paper"] == moved
    assert len(numbers.loc["C4d"]) == 32
    assert set(numbers.loc["C4d", "agrees"].fillna("")) <= {"yes", "no", ""}
    levels = claims["C6a"]["numbers"][2]["paper"]
    difference = numbers.loc[("C6a", "AUC, p = 1.1"), "paper"]
    assert difference == pytest.approx(levels["to"] - levels["from"])


def test_the_page_is_divided_as_the_book_says(whole):
    results = evaluate(BOOK, whole)
    html = render(BOOK, results, whole.cells, whole.aggregate, ["fig1", "table9"])
    places = [html.index(f'<h2 id="{s["name"]}">') for s in BOOK["sections"]]
    assert places == sorted(places)
    assert '"figures/fig1.png"' in html and '"tables/table9.html"' in html
    assert "fig8.png" not in html
    assert "32 numbers, the paper&#39;s beside ours" in html or (
        "32 numbers, the paper's beside ours" in html
    )

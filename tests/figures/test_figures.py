import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from maa.errors import UserError
from maa.figures import curves, fig1, fig2, fig4, fig_jacobian, table3, table4
from maa.figures.catalogue import CATALOGUE
from maa.figures.labels import STATISTICS, label, ordered
from maa.figures.load import load, pick
from maa.figures.style import save
from maa.figures.tabular import number, page, span, starred
from maa.files import write_table
from tests.figures.tables_of_audits import audit_tables
from tests.figures.tables_of_inference import (
    BACKBONES,
    CONTROL_CELLS,
    DATASETS,
    TARGETS,
    all_tables,
    is_constant,
    value,
)
from tests.figures.tables_of_traffic import traces as traffic_traces
from tests.figures.tables_of_traffic import traffic_tables

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


GRID = [(b, d) for b in BACKBONES for d in DATASETS]
FIXED = (1.02, 1.05, 1.1, 1.2, 1.3, 2)
DRAWN = sorted(CATALOGUE)


@pytest.fixture(scope="module")
def tables():
    found = all_tables() | audit_tables() | traffic_tables()
    both = [found["traces"], traffic_traces()]
    return found | {"traces": pd.concat(both, ignore_index=True)}


def table_of(name, tables):
    module = load(name)
    return module.table(*pick(module, tables))


def gain(operator, endpoint, target="", cells=CONTROL_CELLS):
    """Return the mean change from softmax, as the made-up study has it."""
    changes = [
        value(d, b, operator, endpoint, target) - value(d, b, "p1.00", endpoint, target)
        for b, d in cells
        if not is_constant(d, target)
    ]
    return sum(changes) / len(changes)


def test_fig1_bars_are_means_over_data_sets(tables):
    changes = fig1.table(tables["cells"])
    assert len(changes) == 4 * len(BACKBONES) * (len(DATASETS) + 1)
    panel = changes[(changes["panel"] == "AUC") & (changes["backbone"] == "tgat")]
    effects = panel.set_index("dataset")["effect"]
    assert effects["mean"] == pytest.approx(effects[list(DATASETS)].mean())
    axis = fig1.draw(changes).axes[0]
    heights = [bar.get_height() for bar in axis.patches]
    means = changes[(changes["panel"] == "AUC") & (changes["dataset"] == "mean")]
    order = means.set_index("backbone")["effect"][list(BACKBONES)]
    np.testing.assert_allclose(heights, order)
    names = [text.get_text() for text in axis.get_xticklabels()]
    assert names == ["CRAFT", "TGAT", "DyGFormer", "GraphMixer"]


def test_fig1_names_what_is_missing(tables):
    cells = tables["cells"]
    with pytest.raises(UserError, match="no context_margin of the domain 'ctdg'"):
        fig1.table(cells[cells["endpoint"] != "context_margin"])


def test_fig1_draws_one_backbone_on_one_data_set(tables):
    cells = tables["cells"].query("backbone == 'tgat' and dataset == 'uci'")
    assert len(fig1.draw(fig1.table(cells)).axes) == 4


def test_fig2_shows_the_operators_own_values():
    points = fig2.table()
    repeats = points[points["panel"] == "repetition"].set_index(["p", "x"])
    np.testing.assert_allclose(repeats["value"], repeats["theory"], rtol=1e-12)
    assert repeats.loc[(1.0, 20), "value"] == pytest.approx(1.0)
    assert repeats.loc[(2.0, 20), "value"] == pytest.approx(20**0.5)
    gains = points[points["panel"] == "gain"].pivot(
        index="x", columns="quantity", values="value"
    )
    assert gains.loc[20, "uniform row"] == pytest.approx(1.313, abs=5e-4)
    assert (gains["quantile 0.05"] >= 1 - 1e-12).all()
    assert (gains["quantile 0.95"] <= gains["uniform row"] + 1e-12).all()
    assert len(fig2.draw(points).axes) == 2


def test_fig_jacobian_shows_the_layers_own_values(monkeypatch):
    monkeypatch.setattr(fig_jacobian, "LENGTHS", (8, 16))
    monkeypatch.setattr(fig_jacobian, "SEEDS", (0, 1))
    points = fig_jacobian.table()
    means = points.groupby(["setting", "quantity", "T"])["value"].mean()
    assert set(points["setting"]) == {"plain", "mask"}
    assert means["mask", "diagonal_attention", 8] == 0
    off, own, broken = fig_jacobian.draw(points).axes
    largest, mean, bound = (line.get_ydata() for line in off.lines)
    np.testing.assert_allclose(largest, means["plain", "off_diagonal_largest"])
    np.testing.assert_allclose(mean, means["plain", "off_diagonal"])
    assert (bound > mean).all()
    np.testing.assert_allclose(own.lines[-1].get_ydata(), means["mask", "query"])
    assert len(broken.lines) == 6
    assert all(0 <= y <= 100 for line in broken.lines for y in line.get_ydata())


def test_curves_draw_every_run_and_say_what_was_not_run(tables):
    course = curves.table(tables["curves"])
    assert len(course) == len(tables["curves"])
    axes = curves.draw(course).axes
    assert len(axes) == 8 * len(DATASETS)
    drawn = [len(axis.lines) for axis in axes]
    assert sorted(set(drawn)) == [0, 9] and drawn.count(0) == 4
    empty = [axis for axis in axes if not axis.lines]
    assert all(axis.texts[0].get_text() == "not run" for axis in empty)
    line = axes[0].lines[0]
    first = course.query("backbone == 'craft' and dataset == 'wikipedia'").iloc[:3]
    assert set(line.get_ydata()) <= set(course["validation_auc"])
    assert len(line.get_xdata()) == len(first)


def test_table3_shows_tested_endpoints_first(tables):
    endpoints = table3.table(tables["aggregate"])
    assert endpoints["primary"].tolist()[:6] == [True] * 6
    shown = table3.display(endpoints)
    auc = shown[shown["Endpoint"] == "AUC"].iloc[0]
    assert auc["Improved"] == "12/12"
    assert auc["Holm"] == "0.0029*"
    assert auc["Change"] == f"{gain('p1.10', 'auc', cells=GRID):+.5f}"
    assert shown["Holm"].tolist()[6:] == ["\u2013"] * (len(shown) - 6)
    with pytest.raises(UserError, match="'tkg'"):
        table3.table(tables["aggregate"], "tkg")


def test_table4_shows_both_probes_and_constants(tables):
    statistics = table4.table(tables["statistics"])
    assert set(statistics["endpoint"]) == {"r2_linear_z", "r2_extratrees_z"}
    shown = table4.display(statistics).set_index("Statistic")
    assert shown.index.tolist() == [STATISTICS[name] for name in STATISTICS]
    assert shown.loc["Density", "ExtraTrees up"] == "0/12"
    assert shown.loc["Density", "ExtraTrees Holm"] == "0.0039*"
    assert shown.loc["Homophily", "Linear up"] == "8/8"  # constant on wikipedia
    flat = statistics.assign(constant=statistics["target"] == "homophily")
    shown = table4.display(flat).set_index("Statistic")
    assert shown.loc["Homophily", "Linear ΔR²"] == "constant"
    assert shown.loc["Homophily", "Linear Holm"] == "\u2013"
    with pytest.raises(UserError, match="Table 4"):
        table4.table(tables["statistics"].head(0))


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_is_cut_off_or_overlaps(tables, name):
    figure = load(name).draw(table_of(name, tables))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    drawn, size = figure.get_tightbbox(renderer), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= -0.01
    assert drawn.x1 <= size[0] + 0.01 and drawn.y1 <= size[1] + 0.01
    kind = CATALOGUE[name]["kind"]
    assert kind == "table" or size[0] == 7.2
    for axis in figure.axes:
        texts = axis.texts if kind == "table" else axis.get_xticklabels()
        boxes = [
            text.get_window_extent(renderer)
            for text in texts
            if not text.get_rotation()
        ]
        for index, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[index + 1 :])


def test_saving_twice_gives_the_same_bytes(tables, tmp_path):
    changes = fig1.table(tables["cells"])
    for name in ("one", "two"):
        paths = [tmp_path / f"{name}.pdf", tmp_path / f"{name}.png"]
        save(fig1.draw(changes), *paths)
    for suffix in ("pdf", "png"):
        one = (tmp_path / f"one.{suffix}").read_bytes()
        assert one == (tmp_path / f"two.{suffix}").read_bytes()
        assert b"CreationDate" not in one
    assert len(list(tmp_path.iterdir())) == 4  # no temporary file is left


def test_numbers_are_formatted_for_reading():
    assert number(-0.00168, 5, sign=True) == "\u22120.00168"
    assert number(0.5, 2) == "0.50"
    assert number(float("nan")) == "\u2013"
    assert span(-0.1, 0.2, 1) == "[\u22120.1, +0.2]"
    assert span(float("nan"), float("nan")) == "\u2013"
    assert starred(0.0499) == "0.0499*"
    assert starred(0.05) == "0.0500"


def test_a_page_escapes_its_texts():
    html = page(pd.DataFrame({"a": ["<i>"]}), "A & B", "x < y")
    assert "A &amp; B" in html
    assert "x &lt; y" in html
    assert "<td>&lt;i&gt;</td>" in html


def test_unknown_names_keep_an_order_and_a_label():
    assert label("planted_stream", {}) == "Planted stream"
    names = {"zeta", "density", "alpha", "preferential_attachment"}
    expected = ["preferential_attachment", "density", "alpha", "zeta"]
    assert ordered(names, STATISTICS) == expected
    assert set(STATISTICS) == set(TARGETS)


def test_only_figures_and_tables_are_loaded(tables):
    assert load("fig1") is importlib.import_module("maa.figures.fig1")
    for name in ("fig99", "labels", "load"):
        with pytest.raises(UserError, match=f"no figure or table '{name}'"):
            load(name)
    with pytest.raises(UserError, match="give it as --cells"):
        pick(load("fig1"), {})
    with pytest.raises(UserError, match="give it as --contrast-cells"):
        pick(load("official"), {"cells": tables["cells"]})


@pytest.mark.parametrize("name", ["fig2", "fig8", "table_selection"])
def test_scripts_write_every_format(tables, tmp_path, name):
    kind = CATALOGUE[name]["kind"]
    flags = [f"--{kind}", name]
    for need in CATALOGUE[name]["tables"]:
        write_table(tmp_path / f"{need}.parquet", tables[need])
        flags += [f"--{need.replace('_', '-')}", tmp_path / f"{need}.parquet"]
    formats = ["pdf", "png", "csv"] + (["html"] if kind == "table" else [])
    outputs = {suffix: tmp_path / f"{name}.{suffix}" for suffix in formats}
    flags += [
        part for suffix, path in outputs.items() for part in (f"--{suffix}", path)
    ]
    command = [sys.executable, SCRIPTS / f"{kind}.py", *map(str, flags)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert outputs["pdf"].read_bytes().startswith(b"%PDF")
    assert outputs["png"].read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(outputs["csv"])) > 3
    if "html" in outputs:
        assert "<table" in outputs["html"].read_text(encoding="utf-8")


def test_fig3_shows_both_arms_from_both_inputs(tables):
    audit = table_of("fig3", tables).set_index("inputs")
    assert audit.index.tolist() == ["Z", "(Z, c)"]
    for inputs, endpoint in (("Z", "shared_linear"), ("(Z, c)", "beyond_linear")):
        expected = gain("p1.10", endpoint, cells=GRID)
        assert audit.loc[inputs, "change"] == pytest.approx(expected)
        difference = audit.loc[inputs, "treatment"] - audit.loc[inputs, "baseline"]
        assert difference == pytest.approx(expected)


def test_fig4_averages_where_a_statistic_varies(tables):
    changes = table_of("fig4", tables).set_index(["endpoint", "target", "backbone"])
    row = changes.loc[("r2_linear_z", "homophily", "tgat")]
    cells = [("tgat", dataset) for dataset in ("uci", "enron")]
    assert row["change"] == pytest.approx(
        gain("p1.10", "r2_linear_z", "homophily", cells)
    )
    assert row["cells"] == 2 and not row["constant"]
    only = {**tables, "cells": tables["cells"].query("dataset == 'wikipedia'")}
    flat = table_of("fig4", only).set_index(["endpoint", "target", "backbone"])
    assert flat.loc[("r2_linear_z", "homophily", "tgat"), "constant"]
    texts = [text.get_text() for text in fig4.draw(flat.reset_index()).axes[0].texts]
    assert texts.count("const") == len(BACKBONES)
    starred = [text for text in texts if text.endswith("*")]
    assert len(starred) == (flat.loc["r2_linear_z"]["p_holm"] < 0.05).sum() > 0


def test_fig8_starts_at_softmax_and_keeps_groups_apart(tables):
    points = table_of("fig8", tables).set_index(["endpoint", "series", "p"])
    assert (points.xs(1.0, level="p")["change"] == 0).all()
    assert points.loc[("auc", "controls", 2.0), "change"] == pytest.approx(
        gain("p2.00", "auc")
    )
    assert points.loc[("auc", "core", 1.2), "change"] == pytest.approx(
        gain("p1.20", "auc", cells=GRID)
    )
    assert ("auc", "core", 2.0) not in points.index
    assert points.loc[("auc", "tgat/uci", 1.1), "change"] == pytest.approx(
        gain("p1.10", "auc", cells=[("tgat", "uci")])
    )
    assert not points.index.duplicated().any()


def test_fig9_marks_what_one_head_cannot_change(tables):
    effects = table_of("fig9", tables)
    matched = effects.query("baseline == 'p1.00-l2' and series != 'mean'")
    single = ~matched["series"].str.startswith("craft")
    assert (matched["zero"] == single).all()
    assert not effects.query("baseline == 'p1.00'")["zero"].any()


def test_controls_set_explained_gains_beside_gains_of_the_same_cells(tables):
    marks = table_of("controls", tables).set_index(["target", "backbone", "series"])
    for series, operator, cells in (
        ("gain", "p1.10", CONTROL_CELLS),
        ("uniform", "p1.10-uniform", CONTROL_CELLS),
        ("gain_grid", "p1.10", GRID),
        ("log_n", "p1.10-length", GRID),
    ):
        row = marks.loc[("density", "all", series)]
        expected = gain(operator, "r2_linear_z", "density", cells)
        assert row["value"] == pytest.approx(expected)
        assert row["cells"] == len(cells)
    assert ("mean", "tgat", "gain") in marks.index


def test_the_trace_averages_seeds_then_data_sets(tables):
    traced = table_of("trace", tables)
    keys = ["backbone", "operator", "order", "measure", "target"]
    wide = traced.pivot(index=keys, columns="dataset", values="value")
    np.testing.assert_allclose(wide["mean"], wide[list(DATASETS)].mean(axis=1))
    assert traced["order"].min() == 0  # the gain itself is no point on the way


def test_selection_is_relative_to_softmax(tables):
    curves = table_of("selection", tables)
    start = curves[curves["p"] == 1.0]
    np.testing.assert_allclose(start[["utility", "recovery"]], 0, atol=1e-12)
    assert (curves.groupby(["variant", "fold"])["chosen"].sum() == 1).all()
    with pytest.raises(UserError, match="has no fold"):
        table_of("selection", tables | {"selection": tables["selection"].head(0)})


def test_official_forms_stand_beside_the_same_data(tables):
    changes = table_of("official", tables)
    assert set(changes["dataset"]) == {"wikipedia", "mean"}
    one = changes.query("panel == 'AUC' and model == 'tgat' and dataset == 'mean'")
    for form, name in (("core", "tgat"), ("official", "tgat-official")):
        expected = gain("p1.10", "auc", cells=[(name, "wikipedia")])
        assert one.set_index("form").loc[form, "effect"] == pytest.approx(expected)
    core = tables["contrast_cells"].query("group == 'core'")
    with pytest.raises(UserError, match="reference and its official form"):
        table_of("official", tables | {"contrast_cells": core})


def test_official_bars_stand_right_of_their_reference(tables):
    changes = table_of("official", tables)
    axis = load("official").draw(changes).axes[0]
    middles = [bar.get_x() + bar.get_width() / 2 for bar in axis.patches]
    places = np.arange(len(BACKBONES))
    np.testing.assert_allclose(middles, [*(places - 0.2), *(places + 0.2)])
    means = changes.query("panel == 'AUC' and dataset == 'mean'")
    wide = means.pivot(index="form", columns="model", values="effect")
    expected = wide.loc[["core", "official"], list(BACKBONES)].to_numpy().ravel()
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches], expected)
    names = axis.get_legend_handles_labels()[1]
    assert sorted(names) == ["Official form", "Reference form", "Wikipedia"]


def test_table8_has_softmax_and_every_power(tables):
    powers = table_of("table8", tables)
    shown = load("table8").display(powers).set_index("p")
    assert shown.index.tolist() == [f"{p:.2f}" for p in (1, *FIXED)]
    base = np.mean([value(d, b, "p1.00", "auc", "") for b, d in CONTROL_CELLS])
    assert shown.loc["1.00", "AUC"] == f"{base:.5f}"
    percent = 100 * gain("p2.00", "auc") / base
    assert shown.loc["2.00", "AUC %"] == number(percent, 2, sign=True)
    assert shown.loc["1.00", "AUC %"] == "\u2013"


def test_table9_takes_the_better_variant_of_each_cell_and_endpoint(tables):
    effects = table_of("table9", tables)
    wide = effects.pivot(
        index=["endpoint", "backbone"], columns="operator", values="effect"
    )
    best = wide[["cpa-additive", "cpa-scaled"]].max(axis=1)
    np.testing.assert_array_equal(wide["cpa-best"], best)
    minus = effects[effects["operator"] == "cpa-best"]
    minus = minus.set_index(["endpoint", "backbone"])["minus_maa"]
    np.testing.assert_allclose(minus, (wide["p1.10"] - best)[minus.index])
    without = tables["contrast_cells"].query("treatment != 'cpa-scaled'")
    with pytest.raises(UserError, match="treatment 'cpa-scaled'"):
        table_of("table9", tables | {"contrast_cells": without})


def test_the_choices_are_shown_with_their_effects_on_test(tables):
    folds = table_of("table_selection", tables)
    assert folds["variant"].drop_duplicates().tolist() == [
        "leave-one-model-out",
        "leaky",
        "per-cell",
    ]
    first = folds.iloc[0]
    assert first["fold"] == "craft"
    effects = tables["selection_effects"].query(
        "variant == 'leave-one-model-out' and fold == 'craft'"
    )
    assert first["d_auc"] == pytest.approx(effects["d_auc"].mean())
    assert len(folds) == 4 + 4 + 12


def test_checks_stand_beside_the_tests_they_check(tables):
    checks = table_of("table_checks", tables)
    assert len(checks) == 6 + 16
    assert checks["mixed_estimate"].notna().all()
    shown = load("table_checks").display(checks).set_index("Quantity")
    assert shown.loc["AUC", "with Holm"] == "∞"
    assert shown.loc["Context margin", "Mixed estimate"].endswith("†")
    assert not shown.loc["AUC", "Mixed estimate"].endswith("†")


def test_shares_are_ordered_and_shown_for_all_backbones(tables):
    shares = table_of("table_shares", tables)
    shown = load("table_shares").display(shares)
    assert shown["Statistic"].iloc[0] == "Preferential attachment"
    assert shown["Statistic"].iloc[-1] == "Mean"
    assert len(shown) == 9 * 3 < len(shares)


def test_official_forms_are_listed_below_their_reference(tables):
    forms = table_of("table_official", tables)
    shown = load("table_official").display(forms)
    assert shown["Form"].tolist() == ["reference", "official"] * (len(shown) // 2)
    assert shown["Model"].iloc[-1] == "All"


SMALL = ["fig1", "fig3", "fig4", "trace", "table3", "table4", "table_checks"]


@pytest.mark.parametrize("name", SMALL)
def test_two_backbones_on_one_data_set_are_enough(tables, name):
    small = {
        key: table[
            table["backbone"].isin(["craft", "tgat"]) & (table["dataset"] == "uci")
        ]
        for key, table in tables.items()
        if {"backbone", "dataset"} <= set(table.columns)
    }
    given = tables | small
    assert load(name).draw(table_of(name, given)).axes


def test_forecasts_are_shown_at_the_last_three_steps():
    from maa.figures import table_traffic, traffic_gaps

    longer = traffic_tables((3, 6, 12, 24, 36))["traffic_gaps"]
    shown = table_traffic.display(table_traffic.table(longer))
    assert {"MAE 12/24/36", "RMSE 12/24/36", "Change, MAE 36 (%)"} <= set(shown)
    drawn = traffic_gaps.table(longer)
    assert set(drawn["measure"]) == {"mae_12", "mae_24", "mae_36"}
    assert len(traffic_gaps.draw(drawn).axes[0].containers) == 3

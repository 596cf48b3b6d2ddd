import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from maa.errors import UserError
from maa.figures import fig1, fig2, table3, table4
from maa.figures.labels import STATISTICS, label, ordered
from maa.figures.load import load, pick
from maa.figures.style import save
from maa.figures.tabular import number, page, span, starred
from maa.files import write_table
from maa.inference.cells import cell_effects, run_effects
from maa.inference.pairs import pair_runs
from maa.inference.summary import aggregate_table, statistics_table
from tests.factories import BACKBONES, DATASETS, TARGETS, make_measurements

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


@pytest.fixture(scope="module")
def tables():
    effects = {("auc_unseen", ""): 0.01, ("r2_extratrees_z", "density"): -0.02}
    runs = run_effects(pair_runs(make_measurements(effects), "p1.00", "p1.10"))
    return {
        "cells": cell_effects(runs),
        "aggregate": aggregate_table(runs, 200, 0),
        "statistics": statistics_table(runs, 200, 0),
    }


def test_fig1_bars_are_means_over_data_sets(tables):
    changes = fig1.table(tables["cells"])
    assert len(changes) == 4 * len(BACKBONES) * (len(DATASETS) + 1)
    panel = changes[(changes["panel"] == "AUC") & (changes["backbone"] == "tgat")]
    effects = panel.set_index("dataset")["effect"]
    assert effects["mean"] == pytest.approx(effects[list(DATASETS)].mean())
    axis = fig1.draw(changes).axes[0]
    heights = [bar.get_height() for bar in axis.patches]
    means = changes[(changes["panel"] == "AUC") & (changes["dataset"] == "mean")]
    order = means.set_index("backbone")["effect"][["craft", "tgat"]]
    np.testing.assert_allclose(heights[:2], order)
    assert [text.get_text() for text in axis.get_xticklabels()][:2] == ["CRAFT", "TGAT"]


def test_fig1_names_what_is_missing(tables):
    cells = tables["cells"]
    with pytest.raises(UserError, match="no context_margin of the domain 'ctdg'"):
        fig1.table(cells[cells["endpoint"] != "context_margin"])


def test_fig1_draws_one_backbone_on_one_data_set(tables):
    cells = tables["cells"].query("backbone == 'tgat' and dataset == 'mooc'")
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


def test_table3_shows_tested_endpoints_first(tables):
    endpoints = table3.table(tables["aggregate"])
    assert endpoints["primary"].tolist()[:6] == [True] * 6
    shown = table3.display(endpoints)
    auc = shown[shown["Endpoint"] == "AUC"].iloc[0]
    assert auc["Improved"] == "12/12"
    assert auc["Holm"] == "0.0029*"
    assert auc["Change"].startswith("+0.0")
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
    assert shown.loc["Homophily", "Linear ΔR²"] == "constant"
    assert shown.loc["Homophily", "Linear Holm"] == "\u2013"
    with pytest.raises(UserError, match="Table 4"):
        table4.table(tables["statistics"].head(0))


@pytest.mark.parametrize("name", ["fig1", "fig2", "table3", "table4"])
def test_no_text_is_cut_off_or_overlaps(tables, name):
    module = load(name)
    figure = module.draw(module.table(*pick(module, tables)))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    drawn, size = figure.get_tightbbox(renderer), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= -0.01
    assert drawn.x1 <= size[0] + 0.01 and drawn.y1 <= size[1] + 0.01
    for axis in figure.axes:
        texts = axis.texts if name.startswith("table") else axis.get_xticklabels()
        boxes = [text.get_window_extent(renderer) for text in texts]
        assert len(boxes) >= 4
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
    for name in ("fig9", "labels", "load"):
        with pytest.raises(UserError, match=f"no figure or table '{name}'"):
            load(name)
    with pytest.raises(UserError, match="give it as --cells"):
        pick(load("fig1"), {})


@pytest.mark.parametrize(
    ("script", "name", "needs", "formats"),
    [
        ("figure.py", "fig1", ["cells"], ["pdf", "png", "csv"]),
        ("figure.py", "fig2", [], ["pdf", "png", "csv"]),
        ("table.py", "table3", ["aggregate"], ["csv", "html", "pdf", "png"]),
        ("table.py", "table4", ["statistics"], ["csv", "html", "pdf", "png"]),
    ],
)
def test_scripts_write_every_format(tables, tmp_path, script, name, needs, formats):
    flags = [f"--{script[:-3]}", name]
    for need in needs:
        write_table(tmp_path / f"{need}.parquet", tables[need])
        flags += [f"--{need}", tmp_path / f"{need}.parquet"]
    outputs = {suffix: tmp_path / f"{name}.{suffix}" for suffix in formats}
    flags += [
        part for suffix, path in outputs.items() for part in (f"--{suffix}", path)
    ]
    command = [sys.executable, SCRIPTS / script, *map(str, flags)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert outputs["pdf"].read_bytes().startswith(b"%PDF")
    assert outputs["png"].read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(outputs["csv"])) > 3
    if "html" in outputs:
        assert "<table" in outputs["html"].read_text(encoding="utf-8")

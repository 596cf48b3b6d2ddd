"""The whole workflow on a tiny study: what it leaves, and how it fails."""

import zipfile
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.workflow.conftest import ROOT, Study

VERDICTS = {
    "reproduced",
    "direction only",
    "not reproduced",
    "contradicted",
    "not run",
}


def test_it_ends_in_verdicts_figures_and_tables(finished: Study) -> None:
    results = finished.root / "results"
    claims = pd.read_csv(results / "claims.csv")
    assert set(claims["verdict"]) <= VERDICTS
    assert {"C1", "C2", "C3", "C4a", "C4b", "C5"} <= set(claims["id"])
    identities = claims[claims["kind"] == "identity"]
    assert len(identities) >= 6 and (identities["verdict"] == "reproduced").all()
    for name in ("figures/fig1", "figures/fig2", "tables/table3", "tables/table4"):
        for suffix in (".pdf", ".png", ".csv"):
            assert (results / name).with_suffix(suffix).stat().st_size > 100
    page = (results / "claims.html").read_text()
    assert all(identity in page for identity in claims["id"])
    assert not list(results.rglob("*.part*"))


def test_every_run_has_every_measurement(finished: Study) -> None:
    table = pd.read_parquet(finished.root / "results/measurements.parquet")
    runs = table.groupby(["dataset", "backbone", "operator", "seed"]).size()
    assert len(runs) == 8 + 4 + 4  # the grid, the controls, the official form
    scalars, linear, forest = 3 + 4, 4 * 8, 2 * 8
    operator = runs.index.get_level_values("operator")
    official = runs.index.get_level_values("backbone") == "craft-official"
    probed = operator.isin(["p1.00", "p1.10"]) & ~official
    assert set(runs[probed]) == {scalars + linear + forest}
    assert set(runs[~probed]) == {scalars + linear}
    flagged = table[table["constant"]]
    assert set(flagged["target"]) == {"homophily"}


def test_an_official_form_is_compared_in_a_set_of_its_own(finished: Study) -> None:
    table = pd.read_parquet(finished.root / "results/inference/contrasts.parquet")
    backbones = table.groupby("group")["backbone"].unique()
    assert set(backbones["official"]) == {"", "craft-official"}
    assert set(backbones["core"]) == {"", "tgat", "craft"}
    treatments = table.groupby("group")["treatment"].unique()
    assert set(treatments["controls"]) == {"p1.10", "p1.10-uniform", "p1.10-length"}
    assert set(treatments["official"]) == {"p1.10"}


def test_the_controls_own_measures_are_those_of_their_runs(finished: Study) -> None:
    inference = finished.root / "results/inference"
    shares = pd.read_parquet(inference / "shares.parquet")
    table = pd.read_parquet(finished.root / "results/measurements.parquet")
    values = (
        table.query("backbone == 'tgat' and target == 'density'")
        .query("measure == 'r2_linear_z'")
        .groupby("operator")["value"]
        .mean()
    )
    row = shares.query(
        "scope == 'backbone' and backbone == 'tgat' and target == 'density'"
        " and control == 'length'"
    )
    given = values["p1.10-length"] - values["p1.00"]
    assert row["explained"].item() == pytest.approx(given)
    gain = values["p1.10"] - values["p1.00"]
    assert row["gain"].item() == pytest.approx(gain)
    assert row["left"].item() == pytest.approx(gain - given)


def test_the_same_run_again_gives_the_same_bytes(study: Study) -> None:
    run = study.root / "results/runs/ctdg/planted/tgat/p1.10/7"
    names = ("model.safetensors", "representation.safetensors", "probe.parquet")
    before = {name: (run / name).read_bytes() for name in names}
    target = str((run / "probe.parquet").relative_to(study.root))
    study.snakemake("--forcerun", "train", "--", target)
    assert {name: (run / name).read_bytes() for name in names} == before


def test_the_report_is_whole_and_needs_no_network(study: Study) -> None:
    study.snakemake("--report", "report.zip")
    with zipfile.ZipFile(study.root / "report.zip") as archive:
        names = {Path(name).name for name in archive.namelist()}
        pages = [name for name in archive.namelist() if name.endswith("report.html")]
        text = archive.read(pages[0]).decode()
    wanted = {"fig1.png", "fig2.png", "table3.png", "table4.csv", "claims.html"}
    assert wanted <= names
    for category in ("Figures", "Tables", "Claims"):
        assert category in text
    assert 'src="http' not in text and 'rel="stylesheet" href="http' not in text
    assert (study.root / "report.zip").stat().st_size < 20_000_000


def test_a_copy_of_the_tree_has_nothing_to_do(study: Study) -> None:
    assert study.planned() == {}


def test_a_failing_step_leaves_its_sentence_in_its_log(study: Study) -> None:
    empty = {"datasets": [], "backbones": [], "operators": [], "seeds": []}
    only = {"controls": {"cells": [], "operators": []}, "official": empty}
    study.configure(lambda c: c["domains"]["ctdg"].update(datasets=["uci"], **only))
    target = "data/raw/ctdg/uci/source.json"
    missing = str(study.root / "no-mirror")
    done = study.attempt("--", target, MAA_DATA_MIRROR=missing)
    assert done.returncode == 1
    log = (study.root / "logs/download/ctdg/uci.log").read_text()
    (line,) = (line for line in log.splitlines() if line.startswith("error:"))
    assert f"{missing} does not exist" in line and "Traceback" not in log
    assert line in done.stdout
    assert not (study.root / target).exists()


def test_the_profiles_name_rules_that_exist() -> None:
    rules = {
        line.split()[1].rstrip(":")
        for file in (ROOT / "workflow/rules").glob("*.smk")
        for line in file.read_text().splitlines()
        if line.startswith("rule ")
    }
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/config.yaml").read_text())
    assert set(profile["set-resources"]) <= rules
    gpu = {rule for rule, wants in profile["set-resources"].items() if "gpu" in wants}
    assert gpu == {"train", "represent", "behave"}

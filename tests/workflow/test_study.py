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
    assert len(runs) == 8
    assert set(runs) == {3 + 3 + 4 * 8}
    flagged = table[table["constant"]]
    assert set(flagged["target"]) == {"homophily"}


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


WRONG = {
    "an unknown data set": (
        {"domains": {"ctdg": {"datasets": ["wikipeda"]}}},
        "domains.ctdg.datasets: 'wikipeda' is not in config/datasets.yaml",
    ),
    "a baseline that is not run": (
        {"inference": {"baseline": "p2.00"}},
        "inference.baseline: p2.00 is not among domains.ctdg.operators",
    ),
    "the same arm twice": (
        {"inference": {"baseline": "p1.10"}},
        "inference: baseline and treatment are both p1.10",
    ),
    "a typo": ({"domain": {}}, "'domain' was unexpected"),
    "a p below 1": (
        {"domains": {"ctdg": {"operators": ["p0.90", "p1.00", "p1.10"]}}},
        "domains.ctdg.operators.0: 'p0.90' does not match",
    ),
}


@pytest.mark.parametrize(("config", "sentence"), WRONG.values(), ids=WRONG)
def test_a_wrong_study_is_one_sentence(
    config: dict, sentence: str, finished: Study, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(config))
    done = Study(finished.root, file).attempt("--dry-run")
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    (line,) = (line for line in done.stdout.splitlines() if "error:" in line)
    assert sentence in line


def test_a_failing_step_leaves_its_sentence_in_its_log(study: Study) -> None:
    study.configure(lambda c: c["domains"]["ctdg"].update(datasets=["uci"]))
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
    assert gpu == {"train", "represent", "behave", "trace"}

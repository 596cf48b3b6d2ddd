"""A bundle ships a study's results, and another tree verifies every number of it."""

import json
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from maa.bundle.compare import compare
from maa.bundle.manifest import NAME, sha256
from maa.bundle.pack import pack, unpack
from maa.errors import UserError
from tests.workflow.conftest import ROOT, Study


@pytest.fixture(scope="module")
def bundled(finished: Study, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A copy of the finished study with its bundle."""
    root = tmp_path_factory.mktemp("bundled") / "tree"
    shutil.copytree(finished.root, root)
    study = Study(root, root / "tiny.yaml")
    study.snakemake("--", "results/bundle.zip")
    return study


def verify(bundle: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / "workflow/scripts/verify.py"
    return subprocess.run(
        [sys.executable, str(script), str(bundle), "--snakefile", ROOT / "Snakefile"],
        capture_output=True,
        text=True,
        timeout=600,
    )


def rewrite(bundle: Path, changed: Path, edit: dict[str, bytes], listed: bool) -> None:
    """Copy a bundle with other contents; ``listed`` puts them into its manifest."""
    folder = changed.parent / "unpacked"
    manifest = unpack(bundle, folder)
    for name, content in edit.items():
        (folder / name).write_bytes(content)
    if listed:
        manifest["files"] |= {name: sha256(folder / name) for name in edit}
    with zipfile.ZipFile(changed, "w") as target:
        for name in [*manifest["files"]]:
            target.write(folder / name, name)
        target.writestr(NAME, json.dumps(manifest))


def test_it_holds_what_is_needed_and_nothing_of_this_machine(bundled: Study) -> None:
    with zipfile.ZipFile(bundled.root / "results/bundle.zip") as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read(NAME))
    assert {
        "results/measurements.parquet",
        "results/claims.html",
        "results/figures/fig1.pdf",
        "results/tables/table3.csv",
        "results/provenance/study.yaml",
    } <= names
    assert set(manifest["files"]) == names - {NAME}
    assert manifest["config"]["domains"]["ctdg"]["seeds"] == [7, 17]
    assert manifest["code"]["maa.attention.lp"] and manifest["code"]["train.py"]
    assert manifest["software"]["torch"].startswith("2.")
    (machine,) = manifest["machines"]
    assert machine["jobs"] == 16 and machine["cores"] >= 1
    data = manifest["data"]["ctdg/planted"]
    assert data["format"] == "generated" and len(data["prepared"]["sha256"]) == 64
    assert str(bundled.root) not in json.dumps(manifest)


def test_the_same_results_give_the_same_bytes(bundled: Study) -> None:
    bundle = bundled.root / "results/bundle.zip"
    first = bundle.read_bytes()
    bundled.snakemake("--forcerun", "bundle", "--", "results/bundle.zip")
    assert bundle.read_bytes() == first


def test_another_tree_verifies_every_number(bundled: Study) -> None:
    done = verify(bundled.root / "results/bundle.zip")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verified: all agree to 1e-09" in done.stdout
    assert "packages that differ here: none" in done.stdout


def test_a_forged_number_is_found(bundled: Study, tmp_path: Path) -> None:
    name = "results/inference/aggregate.parquet"
    with zipfile.ZipFile(bundled.root / "results/bundle.zip") as archive:
        archive.extract(name, tmp_path)
    table = pd.read_parquet(tmp_path / name)
    column = table.select_dtypes("float").columns[0]
    table.loc[0, column] += 0.001
    table.to_parquet(tmp_path / name, index=False)
    forged = tmp_path / "forged.zip"
    content = {name: (tmp_path / name).read_bytes()}
    rewrite(bundled.root / "results/bundle.zip", forged, content, listed=True)
    done = verify(forged)
    assert done.returncode == 1
    assert f"{name}, {column}, row 0" in done.stdout
    assert "NOT verified: 1 differences" in done.stdout


def test_a_damaged_bundle_is_one_sentence(bundled: Study, tmp_path: Path) -> None:
    bundle = bundled.root / "results/bundle.zip"
    changed = tmp_path / "changed.zip"
    rewrite(bundle, changed, {"results/claims.csv": b"id\n"}, listed=False)
    short = tmp_path / "short.zip"
    short.write_bytes(bundle.read_bytes()[:-1000])
    for path, words in (
        (changed, "results/claims.csv differ from the manifest"),
        (short, "is not a whole archive"),
        (tmp_path / "none.zip", "is missing"),
    ):
        done = verify(path)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ") and words in done.stderr
        assert done.stderr.count("\n") == 1


def test_figures_are_drawn_from_shipped_results_alone(
    bundled: Study, tmp_path: Path
) -> None:
    root = tmp_path / "other"
    shutil.copytree(
        bundled.root,
        root,
        ignore=shutil.ignore_patterns("results", "data", "logs", ".snakemake"),
    )
    unpack(bundled.root / "results/bundle.zip", root)
    other = Study(root, root / "tiny.yaml")
    other.edit("src/maa/figures/style.mplstyle", "savefig.dpi: 200", "savefig.dpi: 100")
    sizes = {p.name: p.stat().st_size for p in (root / "results/figures").glob("*.png")}
    recipe = (ROOT / "Makefile").read_text().split("figures: $(READY)\n")[1]
    options = shlex.split(recipe.split("\n")[0])
    other.snakemake(*options[options.index("$(CONFIG)") + 1 :])
    for name, size in sizes.items():
        assert (root / "results/figures" / name).stat().st_size < size
    assert not (root / "results/runs").exists()


def test_comparison_counts_and_tolerates(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for folder, value in ((a, 1.0), (b, 1.0 + 1e-12)):
        folder.mkdir()
        table = pd.DataFrame({"x": [value, float("nan"), 0.0], "name": ["p", "q", "r"]})
        table.to_csv(folder / "t.csv", index=False)
    found = compare(a, b, ["t.csv"], tolerance=1e-9)
    assert (found.numbers, found.differences) == (3, [])
    assert found.largest == pytest.approx(1e-12, rel=1e-3)
    found = compare(a, b, ["t.csv", "u.csv"], tolerance=1e-14)
    assert (
        len(found.differences) == 2
        and "u.csv: was not computed" in (found.differences[1])
    )


def test_a_bundle_without_manifest_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "x.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("a.txt", "a")
    with pytest.raises(UserError, match=r"has no results/provenance/manifest\.json"):
        unpack(archive, tmp_path / "folder")


def test_packing_and_unpacking_give_the_files_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("results/a.csv")
    file.parent.mkdir()
    file.write_text("x\n1\n")
    pack(Path("b.zip"), [file], {"files": {file.as_posix(): sha256(file)}})
    unpack(Path("b.zip"), tmp_path / "there")
    assert (tmp_path / "there/results/a.csv").read_text() == "x\n1\n"

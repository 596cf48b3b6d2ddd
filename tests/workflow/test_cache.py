"""Two checkouts that share a cache: the second neither downloads nor prepares."""

import hashlib
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.workflow.conftest import Study, plant
from tests.workflow.small import MINI

PREPARED = "data/prepared/ctdg/mine/stream.safetensors"
RAW = "data/raw/ctdg/mine"
CACHE = ("--cache", "download", "prepare")
COUNTS = {"events": 2000, "nodes": 90}


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror folder with a small data set of one's own."""
    folder = tmp_path_factory.mktemp("mirror")
    draw = np.random.default_rng(3)
    lines = ["u,i,ts,label"]
    for time in range(2000):
        lines.append(f"{draw.integers(60)},{draw.integers(30)},{time}.0,0")
    (folder / "mine.csv").write_text("\n".join(lines) + "\n")
    return folder


def checkout(folder: Path, mine: Path, *names: str) -> Study:
    """A tree with data sets of that one file; nothing is run."""
    config = MINI["domains"]["ctdg"] | {"datasets": list(names)}
    study = plant(folder, MINI | {"domains": {"ctdg": config}})
    file = study.root / "config/datasets.yaml"
    registry = yaml.safe_load(file.read_text())
    digest = hashlib.sha256((mine / "mine.csv").read_bytes()).hexdigest()
    for name in names:
        source = {"name": "own", "format": "jodie-reduced"}
        source |= {"files": [{"mirror": "mine.csv", "sha256": digest}]}
        known = {"citation": "here", "licence": "none", "counts": COUNTS}
        registry["ctdg"][name] = known | {"bipartite": True, "sources": [source]}
    file.write_text(yaml.safe_dump(registry))
    return study


def made(output: str) -> set[str]:
    """The files that were made, and not taken from the cache."""
    names = re.findall(r"Moving output file (\S+) to cache", output)
    return {Path(name).name for name in names}


def test_a_second_checkout_takes_both_from_the_cache(
    mine: Path, tmp_path: Path
) -> None:
    cache = {"SNAKEMAKE_OUTPUT_CACHE": str(tmp_path / "cache")}
    one = checkout(tmp_path / "one", mine, "mine")
    told = one.snakemake(*CACHE, "--", PREPARED, MAA_DATA_MIRROR=str(mine), **cache)
    prepared = {"stream.safetensors", "summary.json"}
    assert made(told) == prepared | {"source.json", "files"}

    # no mirror and no public source: what is not in the cache cannot be had
    other = checkout(tmp_path / "other", mine, "mine")
    told = other.snakemake(*CACHE, "--", PREPARED, MAA_DATA_MIRROR="", **cache)
    assert made(told) == set()
    for path in (PREPARED, f"{RAW}/source.json", f"{RAW}/files/own-mine.csv"):
        assert (one.root / path).read_bytes() == (other.root / path).read_bytes()
        assert (other.root / path).stat().st_mode & 0o044 == 0o044
    assert other.planned("--", PREPARED) == {}

    # other settings: the raw files are still the cache's
    other.configure(lambda c: c["domains"]["ctdg"]["prepare"].update(window=1400))
    told = other.snakemake(*CACHE, "--", PREPARED, MAA_DATA_MIRROR="", **cache)
    assert made(told) == prepared
    assert one.planned("--", PREPARED) == {}
    first = (one.root / PREPARED).read_bytes()
    assert (other.root / PREPARED).read_bytes() != first

    # the cache is gone: the first tree has lost its links and makes its own files again
    shutil.rmtree(tmp_path / "cache")
    one.snakemake("--", PREPARED, MAA_DATA_MIRROR="")
    assert (one.root / PREPARED).read_bytes() == first


def test_two_data_sets_of_one_entry_are_not_confused(
    mine: Path, tmp_path: Path
) -> None:
    study = checkout(tmp_path / "one", mine, "mine", "yours")
    study.snakemake(
        *(*CACHE, "--", f"{RAW}/source.json", "data/raw/ctdg/yours/source.json"),
        MAA_DATA_MIRROR=str(mine),
        SNAKEMAKE_OUTPUT_CACHE=str(tmp_path / "cache"),
    )
    for name in ("mine", "yours"):
        text = (study.root / f"data/raw/ctdg/{name}/source.json").read_text()
        assert f'"dataset": "{name}"' in text

"""A finished tiny study, made once by the real Snakefile, and copies of it to edit."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from maa.runs import run_key

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("Snakefile", "environment.yml", "config", "profiles", "src", "workflow")
TINY = {
    "domains": {
        "ctdg": {
            "datasets": ["planted"],
            "seeds": [7, 17],
            "controls": {
                "cells": [{"dataset": "planted", "backbone": "tgat"}],
                "operators": ["p1.10-uniform", "p1.10-length"],
            },
            "official": {
                "datasets": ["planted"],
                "backbones": ["craft-official"],
                "operators": ["p1.00", "p1.10"],
                "seeds": [7, 17],
            },
            "prepare": {"window": 1500, "history": 8},
            "fit": {"epochs": 1},
            "models": {
                "tgat": {"hidden": 16},
                "craft": {"hidden": 16},
                "craft-official": {"hidden": 16},
            },
            "probe": {"trees": 5},
        }
    },
    "inference": {"draws": 500},
}


ROADS = {
    "domains": {
        "ctdg": {"datasets": []},
        "traffic": {
            "datasets": ["planted-roads"],
            "backbones": ["released"],
            "operators": ["p1.00", "p1.10"],
            "seeds": [7],
            "controls": {
                "cells": [{"dataset": "planted-roads", "backbone": "released"}],
                "operators": ["diagonal-mask"],
            },
            "official": {
                "datasets": ["planted-roads"],
                "backbones": ["corrected"],
                "operators": ["p1.00", "p1.10"],
                "seeds": [7],
            },
            "trace": {"official": False, "windows": 4, "probes": 1},
            "prepare": {"stride": 96, "query_stride": 48},
            "fit": {"epochs": 1},
            "models": {
                "released": {"hidden": 8, "heads": 2, "depth": 2},
                "corrected": {"hidden": 8, "heads": 2, "depth": 2},
            },
        },
    },
    "inference": {"draws": 500},
}


@dataclass
class Study:
    """A copy of the project's tree in which a study is run, edited and run again."""

    root: Path
    config: Path

    def snakemake(self, *options: str, **environment: str) -> str:
        """Run Snakemake here and return what it prints; it must succeed."""
        done = self.attempt(*options, **environment)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def attempt(
        self, *options: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Snakemake here, whatever comes of it."""
        command = [sys.executable, "-m", "snakemake", "--cores", "2"]
        command += ["--configfile", str(self.config), *options]
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        return subprocess.run(
            command,
            cwd=self.root,
            env=inherited | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
        )

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a piece of text that stands exactly once in a file."""
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def configure(self, change: Callable[[dict], object]) -> None:
        """Change the study's own configuration file."""
        value = yaml.safe_load(self.config.read_text())
        change(value)
        self.config.write_text(yaml.safe_dump(value))

    def planned(self, *options: str) -> dict[str, list[dict[str, str]]]:
        """Return the jobs of a dry run: rule name to the options of each command."""
        output = self.snakemake("--dry-run", "--printshellcmds", *options)
        jobs: dict[str, list[dict[str, str]]] = {}
        block = r"(?:local)?rule (\w+):\n(?:    .*\n)+\s*Shell command: (python .*)"
        for rule, rest in re.findall(block, output):
            found = dict(re.findall(r"--([a-z]+) ([^\s'\"]+)", rest))
            if "run" in found:
                found |= run_key(found["run"])
            jobs.setdefault(rule, []).append(found)
        return jobs


def plant(root: Path, config: dict[str, Any]) -> Study:
    """Make a copy of the project's tree, with a study that has not been run."""
    root.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, root / part, ignore=ignored)
        else:
            shutil.copy2(source, root / part)
    file = root / "tiny.yaml"
    file.write_text(yaml.safe_dump(config))
    return Study(root, file)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The tiny study, run to its end (do not edit: take `study`).

    Where tests run in several processes, one makes it and the others wait for it.
    """
    return _finish(tmp_path_factory, "finished", TINY)


@pytest.fixture(scope="session")
def finished_roads(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The same of traffic alone: five runs on generated roads."""
    return _finish(tmp_path_factory, "finished-roads", ROADS)


def _finish(
    factory: pytest.TempPathFactory, name: str, config: dict[str, Any]
) -> Study:
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    root = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if root.exists():
            return Study(root, root / "tiny.yaml")
        study = plant(folder / f"un{name}", config)
        study.snakemake()
        study.root.rename(root)
        return Study(root, root / "tiny.yaml")


@pytest.fixture
def study(finished: Study, tmp_path: Path) -> Study:
    """A copy of the finished tiny study that a test may edit."""
    return _copy(finished, tmp_path)


@pytest.fixture
def roads(finished_roads: Study, tmp_path: Path) -> Study:
    """A copy of the finished study of traffic that a test may edit."""
    return _copy(finished_roads, tmp_path)


def _copy(finished: Study, folder: Path) -> Study:
    root = folder / "copy"
    shutil.copytree(finished.root, root)
    return Study(root, root / "tiny.yaml")

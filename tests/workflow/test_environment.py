"""The pins agree wherever they are written down."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_conda_users_get_the_same_pins() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = (d["pip"] for d in environment["dependencies"] if isinstance(d, dict))
    extras = project()["optional-dependencies"]
    assert sorted(pip) == sorted(project()["dependencies"] + extras["slurm"])


def test_every_pin_is_exact_and_also_a_constraint() -> None:
    constraints = set((ROOT / "constraints.txt").read_text().lower().split())
    pins = [*project()["dependencies"]]
    for extra in project()["optional-dependencies"].values():
        pins += extra
    assert pins and {pin.lower() for pin in pins} <= constraints


def test_the_pins_are_what_runs_here() -> None:
    for pin in project()["dependencies"]:
        name, _, wanted = pin.partition("==")
        assert version(name).partition("+")[0] == wanted

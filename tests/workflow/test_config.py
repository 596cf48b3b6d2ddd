"""Wrong configurations end in one sentence that names the key."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from maa.config import check, load
from maa.errors import UserError
from tests.workflow.conftest import ROOT

SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"

WRONG: dict[str, tuple[str, Any, str]] = {
    "a typo": ("domains.ctdg.sedes", [7], "'sedes' was unexpected"),
    "a seed as text": ("domains.ctdg.seeds", ["7"], "seeds.0: '7' is not of type"),
    "a seed twice": ("domains.ctdg.seeds", [7, 7], "non-unique"),
    "1e-3 as text": ("domains.ctdg.fit.learning_rate", "1e-3", "write 1.0e-3"),
    "p below 1": ("domains.ctdg.operators", ["p0.90"], "p is 1 or more"),
    "p without decimals": ("domains.ctdg.operators", ["p1"], "two decimals"),
    "no seeds": ("domains.ctdg.seeds", [], "seeds: [] should be non-empty"),
    "an unknown backbone": ("domains.ctdg.backbones", ["gat"], "'gat' is not one of"),
    "all of it for testing": (
        "domains.ctdg.prepare.test_fraction",
        1.0,
        "strictly between 0 and 1",
    ),
    "an unknown device": ("device", "tpu", "cpu or cuda"),
}


def demo() -> dict[str, Any]:
    return load(ROOT / "config/config.yaml")


def test_the_demo_is_valid() -> None:
    check(demo(), SCHEMA, "config.yaml")


@pytest.mark.parametrize(("key", "value", "expected"), WRONG.values(), ids=WRONG)
def test_one_sentence_names_the_key(key: str, value: Any, expected: str) -> None:
    config = demo()
    place = config
    *parents, last = key.split(".")
    for parent in parents:
        place = place[parent]
    place[last] = value
    with pytest.raises(UserError) as caught:
        check(config, SCHEMA, "study.yaml")
    message = str(caught.value)
    assert message.startswith("study.yaml, ")
    assert expected in message and "\n" not in message


def test_every_property_is_described() -> None:
    missing: list[str] = []

    def walk(schema: Any, path: str) -> None:
        for name, child in schema.get("properties", {}).items():
            if "$ref" not in child and "description" not in child:
                missing.append(f"{path}.{name}")
            walk(child, f"{path}.{name}")
        for name, child in schema.get("$defs", {}).items():
            walk(child, name)

    walk(load(SCHEMA), "")
    assert missing == []


def test_a_broken_file_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("a: [1\nb: 2\n")
    with pytest.raises(UserError, match=r"broken\.yaml is not valid YAML"):
        load(file)


TABLES = {"datasets.yaml", "claims.yaml"}
STUDIES = sorted({p.name for p in (ROOT / "config").glob("*.yaml")} - TABLES)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_in_the_config_folder_is_valid(name: str) -> None:
    config = demo()
    _overlay(config, yaml.safe_load((ROOT / "config" / name).read_text()))
    check(config, SCHEMA, name)


def _overlay(config: dict[str, Any], change: dict[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            _overlay(config[key], value)
        else:
            config[key] = value

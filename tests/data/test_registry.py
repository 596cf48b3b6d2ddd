"""The registry: its schema, its order of sources, its facts."""

import copy
from pathlib import Path
from typing import Any

import pytest

from maa import config
from maa.audit.corpora import FORMATS
from maa.data.registry import parse_sources
from maa.domains import load_stage
from maa.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = ROOT / "config/datasets.yaml"
SCHEMA = ROOT / "workflow/schemas/datasets.schema.yaml"


@pytest.fixture
def registry() -> dict[str, Any]:
    return copy.deepcopy(config.load(REGISTRY))


def entries(registry: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [item for domain in registry.values() for item in domain.items()]


def test_the_registry_satisfies_its_schema(registry: dict[str, Any]) -> None:
    config.check(registry, SCHEMA, "datasets.yaml")
    assert set(registry["ctdg"]) >= {
        "wikipedia",
        "mooc",
        "lastfm",
        "uci",
        "enron",
        "planted",
    }


def test_every_source_has_a_reader_and_counts_add_up(registry: dict[str, Any]) -> None:
    for domain, datasets in registry.items():
        if domain == "rows":
            layouts = (*FORMATS, "gguf", "folder")
        else:
            layouts = load_stage(domain, "readers").LAYOUTS
        for name, entry in datasets.items():
            if "generated" in entry or "hub" in entry:
                continue
            for source in parse_sources(name, entry):
                assert source.format in layouts
            counts = entry.get("counts", {})
            if entry.get("bipartite"):
                assert counts["sources"] + counts["destinations"] == counts["nodes"]


def test_every_public_set_can_also_come_from_a_mirror(
    registry: dict[str, Any],
) -> None:
    for name, entry in entries(registry):
        sources = parse_sources(name, entry) if "sources" in entry else ()
        if any(file.package for source in sources for file in source.files):
            continue  # pip has mirrors of its own
        if sources:
            mirrored = [source.mirrored for source in sources]
            assert mirrored == sorted(mirrored, reverse=True)
            assert set(mirrored) == {True, False}


def test_every_property_of_the_schema_is_described() -> None:
    def walk(node: Any, path: str = "") -> list[str]:
        if not isinstance(node, dict):
            return []
        bare = [
            f"{path}.{key}"
            for key, value in node.get("properties", {}).items()
            if "description" not in value and "$ref" not in value
        ]
        open_ended = (
            [path]
            if "properties" in node and node.get("additionalProperties") is not False
            else []
        )
        return (
            bare
            + open_ended
            + [
                found
                for key, value in node.items()
                for found in walk(value, f"{path}.{key}")
            ]
        )

    assert walk(config.load(SCHEMA)) == []


def break_key(entry: dict[str, Any], change: str) -> None:
    source = entry["sources"][0]
    match change:
        case "both":
            entry["generated"] = {}
        case "unknown":
            entry["url"] = "http://example.org"
        case "no counts":
            del entry["counts"]
        case "format":
            source["format"] = "jodi"
        case "sha256":
            source["files"][0]["sha256"] = "B68D"
        case "two places":
            source["files"][0]["url"] = "https://example.org/f"
        case "outside":
            source["files"][0]["mirror"] = "../secret"
        case "absolute":
            source["files"][0]["mirror"] = "/etc/passwd"
        case "negative":
            entry["counts"]["events"] = -1


@pytest.mark.parametrize(
    "change",
    [
        "both",
        "unknown",
        "no counts",
        "format",
        "sha256",
        "two places",
        "outside",
        "absolute",
        "negative",
    ],
)
def test_a_broken_entry_is_refused(change: str, registry: dict[str, Any]) -> None:
    break_key(registry["ctdg"]["wikipedia"], change)
    with pytest.raises(UserError, match=r"datasets\.yaml, ctdg\.wikipedia"):
        config.check(registry, SCHEMA, "datasets.yaml")


def test_mirrors_come_first_and_the_rest_keeps_its_order() -> None:
    def item(name: str, **place: str) -> dict[str, Any]:
        return {"name": name, "format": "edges", "files": [place]}

    entry = {
        "sources": [
            item("b", url="http://b/f"),
            item("m", mirror="m/f"),
            item("a", url="http://a/f"),
            item("k", mirror="k/f"),
        ]
    }
    assert [s.name for s in parse_sources("x", entry)] == ["m", "k", "b", "a"]


def test_names_of_sources_must_differ() -> None:
    item = {"name": "a", "format": "edges", "files": [{"url": "http://a/f"}]}
    with pytest.raises(UserError, match=r"x has the sources \['a', 'a'\]"):
        parse_sources("x", {"sources": [item, item]})
    with pytest.raises(UserError, match=r"x has the sources \[\]"):
        parse_sources("x", {})

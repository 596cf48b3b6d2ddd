"""What a bundle says of itself: configuration, code, software, machines and data."""

import hashlib
from collections.abc import Iterable, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from maa.files import read_json
from maa.hardware import machines

NAME = "results/provenance/manifest.json"


def sha256(path: Path) -> str:
    """Return a file's SHA-256 as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def software() -> dict[str, str]:
    """Return the version of every installed package."""
    found = {each.metadata["Name"]: each.version for each in distributions()}
    return dict(sorted(found.items(), key=lambda pair: pair[0].lower()))


def data(sources: Iterable[Path], streams: Iterable[Path]) -> dict[str, Any]:
    """Return, for each data set, where it came from and the checksums of its files.

    Args:
        sources: the ``source.json`` of each data set.
        streams: the prepared stream of each data set, in the same order.
    """
    found = {}
    for source, stream in zip(sources, streams, strict=True):
        record = read_json(source)
        name = f"{record['domain']}/{record['dataset']}"
        kept = {key: record[key] for key in sorted(record) if key not in ("domain",)}
        found[name] = kept | {
            "prepared": {"name": stream.name, "sha256": sha256(stream)}
        }
    return found


def manifest(
    files: Iterable[Path],
    sources: Iterable[Path],
    streams: Iterable[Path],
    logs: Iterable[Path],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a bundle's manifest.

    Args:
        files: all files of the bundle but the manifest.
        sources: the ``source.json`` of each data set.
        streams: the prepared streams, in the same order.
        logs: the logs of the trainings, which name their machines.
        settings: ``config`` (the whole configuration) and ``code`` (each step's
            modules with their hashes).
    """
    return {
        "config": settings["config"],
        "code": settings["code"],
        "software": software(),
        "machines": machines(logs),
        "data": data(sources, streams),
        "files": {path.as_posix(): sha256(path) for path in sorted(files)},
    }

"""A Python package as a source: fetched by the real pip, never run."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from maa.data.download import fetch
from maa.data.registry import RemoteFile, Source, parse_sources
from maa.data.transfer import Patience
from maa.errors import UserError

QUICK = Patience(connect=1, read=2, attempts=1, backoff=0.01)
DATA = b"a model, say"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for all there is."""
    folder = tmp_path / "index"
    folder.mkdir()
    wheel(folder, "carrier", "1.0", needs="not-there==1.0")
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def wheel(folder: Path, name: str, version: str, needs: str) -> Path:
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    meta = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/data.bin", DATA)
        archive.writestr(f"{about}/METADATA", f"{meta}Requires-Dist: {needs}\n")
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{about}/WHEEL", tag)
        archive.writestr(f"{about}/RECORD", "")
    return path


def package(requirement: str, sha256: str | None) -> Source:
    file = RemoteFile(package=requirement, sha256=sha256, member="carrier/data.bin")
    return Source("wheel", "gguf", (file,))


def test_a_wheel_is_fetched_verified_and_recorded(index: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256(next(index.iterdir()).read_bytes()).hexdigest()
    record = fetch("m", [package("carrier==1.0", digest)], tmp_path / "s", None, QUICK)
    (file,) = record["files"]
    assert file["package"] == "carrier==1.0" and file["checksum"] == "verified"
    assert (file["name"], file["member"]) == (
        "wheel-carrier-1.0.whl",
        "carrier/data.bin",
    )
    with zipfile.ZipFile(tmp_path / "s" / file["name"]) as archive:
        assert archive.read("carrier/data.bin") == DATA
    assert [path.name for path in (tmp_path / "s").iterdir()] == [file["name"]]


def test_another_wheel_under_that_name_is_set_aside(
    index: Path, tmp_path: Path
) -> None:
    source = package("carrier==1.0", "0" * 64)
    with pytest.raises(UserError, match=r"carrier==1\.0: .*kept aside as .*rejected"):
        fetch("m", [source], tmp_path / "s", None, QUICK)
    (left,) = (tmp_path / "s").iterdir()
    assert left.name.endswith(".rejected")


def test_a_package_that_is_not_there_is_one_sentence(
    index: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as caught:
        fetch("m", [package("carrier==2.0", None)], tmp_path / "s", None, QUICK)
    message = str(caught.value)
    assert "package carrier==2.0: No matching distribution" in message
    assert "\n" not in message
    assert list((tmp_path / "s").iterdir()) == []


def test_an_entry_of_the_registry_may_name_a_package() -> None:
    file = {"package": "carrier==1.0", "sha256": None, "member": "carrier/data.bin"}
    entry = {"sources": [{"name": "wheel", "format": "gguf", "files": [file]}]}
    (source,) = parse_sources("m", entry)
    assert source.files[0].origin == {"package": "carrier==1.0"}
    assert source.local_name(source.files[0]) == "wheel-carrier-1.0.whl"
    assert not source.mirrored

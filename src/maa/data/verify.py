"""Telling a good file from a bad one."""

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

import pooch

from maa.data.registry import RemoteFile
from maa.data.unpack import PACKING_ERRORS, open_unpacked

CHUNK = 1 << 20


@dataclass(frozen=True)
class Inspection:
    """What a file on disk turned out to be.

    Attributes:
        size: its bytes.
        sha256: its checksum.
        broken: why it can never be used (empty, a web page, a damaged archive), or
            None.
        mismatch: in what it differs from the registry, or None.
        checked: whether the registry has a checksum for it.
    """

    size: int
    sha256: str
    broken: str | None
    mismatch: str | None
    checked: bool


def inspect(path: Path, expected: RemoteFile) -> Inspection:
    """Compare a file with what the registry says of it."""
    size = path.stat().st_size
    sha256 = pooch.file_hash(str(path), alg="sha256")
    broken = _page_or_nothing(path)
    unpacked = None
    if broken is None and (expected.member or expected.unpacked_sha256):
        unpacked, broken = _unpacked_sha256(path, expected.member)
    return Inspection(
        size=size,
        sha256=sha256,
        broken=broken,
        mismatch=None if broken else _mismatch(expected, path, sha256, unpacked),
        checked=bool(expected.sha256 or expected.unpacked_sha256 or expected.gitblob),
    )


def _page_or_nothing(path: Path) -> str | None:
    with path.open("rb") as file:
        start = file.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not start:
        return "an empty file"
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")):
        return "a web page (HTML) instead of data"
    return None


def _unpacked_sha256(path: Path, member: str | None) -> tuple[str | None, str | None]:
    """Return the checksum of the unpacked bytes, or what is wrong with the packing."""
    digest = hashlib.sha256()
    try:
        with open_unpacked(path, member) as stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
    except KeyError:
        return None, f"an archive without the member {member}"
    except (*PACKING_ERRORS, zlib.error) as error:
        return None, f"a damaged archive ({error})"
    return digest.hexdigest(), None


def git_blob(path: Path) -> str:
    """Return the name that git gives a file's content, as `git hash-object` does."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _mismatch(
    expected: RemoteFile, path: Path, sha256: str, unpacked: str | None
) -> str | None:
    size = path.stat().st_size
    if expected.size is not None and size != expected.size:
        return f"{size:,} bytes where {expected.size:,} are expected"
    if expected.sha256 and sha256 != expected.sha256:
        return f"sha256 {sha256} where {expected.sha256} is expected"
    if expected.gitblob and (found := git_blob(path)) != expected.gitblob:
        return f"git blob {found} where {expected.gitblob} is expected"
    if expected.unpacked_sha256 and unpacked != expected.unpacked_sha256:
        return (
            f"unpacked sha256 {unpacked} where {expected.unpacked_sha256} is expected"
        )
    return None

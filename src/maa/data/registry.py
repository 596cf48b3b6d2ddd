"""What ``config/datasets.yaml`` says about a data set, as typed values.

The file's shape is checked by ``workflow/schemas/datasets.schema.yaml``; here an entry
that has passed that check becomes a tuple of `Source`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from maa.errors import UserError


@dataclass(frozen=True)
class RemoteFile:
    """One file of a source: in a mirror folder, at a public address, or a package.

    Attributes:
        mirror: path inside the mirror folder, or None.
        url: public address, or None.
        package: a Python package that carries data, as in ``name==1.0``, or None;
            exactly one of the three is set.
        sha256: expected checksum of the file, or None where none is known.
        unpacked_sha256: expected checksum of what the gzip or zip file holds, or None.
        gitblob: expected name of the file in git, sha1 of its header and bytes, or
            None.
        size: expected size in bytes, or None.
        member: the file to read inside a zip archive, or None.
    """

    mirror: str | None = None
    url: str | None = None
    package: str | None = None
    sha256: str | None = None
    unpacked_sha256: str | None = None
    gitblob: str | None = None
    size: int | None = None
    member: str | None = None

    @property
    def basename(self) -> str:
        """The last component of the path or address; a package's wheel."""
        if self.package is not None:
            return f"{self.package.replace('==', '-')}.whl"
        return PurePosixPath(self.mirror or self.url or "").name

    @property
    def origin(self) -> dict[str, str]:
        """Where it comes from, as ``source.json`` says it."""
        found = {"mirror": self.mirror, "url": self.url, "package": self.package}
        return {kind: where for kind, where in found.items() if where is not None}


@dataclass(frozen=True)
class Source:
    """One place that offers a data set.

    Attributes:
        name: unique among the data set's sources, as in ``jodie``.
        format: how the files are written; the domain's reader knows the names.
        files: all files that must be there.
        advisory: the checksums come from a copy that may differ from the publisher's
            bytes; a mismatch is a warning and the published counts decide.
    """

    name: str
    format: str
    files: tuple[RemoteFile, ...]
    advisory: bool = False

    @property
    def mirrored(self) -> bool:
        """Whether the source lies in a mirror folder."""
        return any(file.mirror for file in self.files)

    def local_name(self, file: RemoteFile) -> str:
        """Name under which a file is kept: two sources may use the same file name."""
        return f"{self.name}-{file.basename}"


def parse_sources(dataset: str, entry: Mapping[str, Any]) -> tuple[Source, ...]:
    """Return a data set's sources, those in mirror folders first.

    Args:
        dataset: the data set's name, for the error.
        entry: its entry in the registry.

    Raises:
        UserError: if the entry names no source, or two sources have the same name.
    """
    sources = tuple(_source(item) for item in entry.get("sources", ()))
    names = [source.name for source in sources]
    if not sources or len(set(names)) < len(names):
        raise UserError(
            f"the registry's entry of {dataset} has the sources {names}; expected at "
            "least one, each with a name of its own: mend `sources` in datasets.yaml"
        )
    # sorted() is stable, so the registry's order holds within each half
    return tuple(sorted(sources, key=lambda source: not source.mirrored))


def _source(item: Mapping[str, Any]) -> Source:
    return Source(
        name=item["name"],
        format=item["format"],
        files=tuple(_file(file) for file in item["files"]),
        advisory=item.get("checksum", "strict") == "advisory",
    )


def _file(item: Mapping[str, Any]) -> RemoteFile:
    return RemoteFile(
        mirror=item.get("mirror"),
        url=item.get("url"),
        package=item.get("package"),
        sha256=item.get("sha256"),
        unpacked_sha256=item.get("unpacked_sha256"),
        gitblob=item.get("gitblob"),
        size=item.get("bytes"),
        member=item.get("member"),
    )

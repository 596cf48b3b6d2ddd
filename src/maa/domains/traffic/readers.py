"""Reading the public files of road sensors, each in its own format.

Whatever the format, the result is one recording at equal steps, with 0 for a missing
value and the road graph cut to the sensors that are there.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maa.data.unpack import PACKING_ERRORS, open_unpacked
from maa.domains import load_stage
from maa.domains.traffic.recording import Recording, check_recording
from maa.errors import UserError
from maa.files import read_json

Floats = NDArray[np.float64]
File = tuple[Path, str | None]
AGAIN = "remove it under data/downloads and data/raw, then run again to fetch it anew"


def read_recording(source_json: str | Path, entry: Mapping[str, Any]) -> Recording:
    """Read a downloaded data set, or generate a generated one.

    Args:
        source_json: the ``source.json`` of the download; it names the folder of files.
        entry: the data set's entry in the registry, with ``counts`` where there are
            published ones.

    Raises:
        UserError: if a file is missing, damaged or not as its format says, or the
            recording does not show the published counts.
    """
    record = read_json(source_json)
    if record["format"] == "generated":
        # By name, so that real data does not depend on the generator's code.
        made = load_stage("traffic", "generate").planted_roads(**record["parameters"])
        recording: Recording = made.recording
    else:
        folder = Path(source_json).parent / record["folder"]
        files = [
            (folder / file["name"], file.get("member")) for file in record["files"]
        ]
        recording = _read(record["format"], files)
    counts = entry.get("counts", {})
    check_recording(record["dataset"], recording, counts, str(source_json))
    return recording


def _read(layout: str, files: list[File]) -> Recording:
    if layout not in LAYOUTS:
        raise UserError(
            f"{files[0][0]} is declared as format {layout!r}; expected one of "
            f"{', '.join(LAYOUTS)}: mend `format` in datasets.yaml"
        )
    *series, graph = files
    speed = LAYOUTS[layout](series)
    weights = _read_with(_array if graph[0].suffix == ".zip" else _numbers, graph)
    # A recording of the first sensors goes with the first rows of the whole graph.
    sensors = speed.shape[1]
    return Recording(speed, weights[:sensors, :sensors])


def _table(files: list[File]) -> Floats:
    """One CSV, a row a step; a header of sensor ids may stand above it."""
    table: Floats = _read_with(_numbers, files[0])
    return table


def _windows(files: list[File]) -> Floats:
    """Windows x and y [n, T, sensors, 2] that slide by one step, part after part."""
    inputs, targets = [], None
    for file in files:
        arrays = _read_with(_archive, file)
        inputs.append(arrays["x"][..., 0])
        targets = arrays["y"][..., 0]
    x = np.concatenate(inputs)
    assert targets is not None
    _check_sliding(x, files)
    return np.concatenate([x[:, 0], x[-1, 1:], targets[-1]])


def _values(files: list[File]) -> Floats:
    """One array [S, sensors, channels], speed first."""
    values: Floats = _read_with(_array, files[0])
    return values[..., 0] if values.ndim == 3 else values


def _check_sliding(x: Floats, files: list[File]) -> None:
    torn = np.flatnonzero((x[1:, :-1] != x[:-1, 1:]).any(axis=(1, 2)))
    if len(torn):
        raise UserError(
            f"{files[0][0]} and the files beside it: window {torn[0] + 1} does not "
            "continue the one before it by one step, so that the series cannot be put "
            f"together; {AGAIN}"
        )


def _numbers(path: Path, member: str | None) -> Floats:
    with open_unpacked(path, member) as stream:
        table = pd.read_csv(stream, header=None, low_memory=False, dtype=str)
    first = pd.to_numeric(table.iloc[0], errors="coerce")
    # Speeds and weights are below 200; sensor ids, where they are, have six digits.
    header = bool(first.isna().any() or (first > 200).all())
    rows = table.iloc[1:] if header else table
    return rows.astype(np.float64).to_numpy()


def _archive(path: Path, member: str | None) -> dict[str, Floats]:
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name].astype(np.float64) for name in ("x", "y")}


def _array(path: Path, member: str | None) -> Floats:
    with open_unpacked(path, member) as stream:
        values: Floats = np.lib.format.read_array(stream, allow_pickle=False)
    return values.astype(np.float64)


def _read_with(reader: Callable[[Path, str | None], Any], file: File) -> Any:
    try:
        return reader(*file)
    except FileNotFoundError as error:
        raise UserError(f"{file[0]} is missing; {AGAIN}") from error
    except (*PACKING_ERRORS, KeyError, ValueError, IndexError) as error:
        problem = " ".join(str(error.args[0] if error.args else error).split())
        raise UserError(
            f"{file[0]} cannot be read as its format says ({problem}); {AGAIN}"
        ) from error


LAYOUTS: dict[str, Callable[[list[File]], Floats]] = {
    "speed-csv": _table,
    "dcrnn-windows": _windows,
    "pyg-temporal": _values,
}

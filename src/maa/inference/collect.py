"""Gather the runs' small tables into one table of measurements, in long form.

A run's key is read from the path of its files:
``.../{domain}/{dataset}/{backbone}/{operator}/{seed}/{file}``.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from maa.errors import UserError
from maa.files import read_table

RUN_KEYS = ("domain", "dataset", "backbone", "operator", "seed")
COLUMNS = (*RUN_KEYS, "measure", "target", "value", "constant")
RUN_FILES = ("probe.parquet", "scores.parquet")


def run_key(path: str | Path) -> dict[str, Any]:
    """Return the run's key, read from the last six parts of a run file's path.

    Raises:
        UserError: if the path is too short or its seed is not a whole number.
    """
    parts = Path(path).parts[-6:-1]
    if len(parts) < len(RUN_KEYS) or not parts[-1].isdigit():
        raise UserError(
            f"{path} is not the path of a run file; expected it to end in "
            "domain/dataset/backbone/operator/seed/file, with a whole number as seed"
        )
    key: dict[str, Any] = dict(zip(RUN_KEYS, parts, strict=True))
    key["seed"] = int(parts[-1])
    return key


def read_run_file(path: str | Path) -> pd.DataFrame:
    """Read one table of probes or scores as rows of measurements.

    Returns:
        The columns `COLUMNS`; ``target`` is empty unless the measure is a probe's R2.

    Raises:
        UserError: if the file is of another kind or lacks a column.
    """
    name = Path(path).name
    if name not in RUN_FILES:
        raise UserError(
            f"{path} is none of the files that hold measurements; expected one of "
            f"{', '.join(RUN_FILES)}"
        )
    table = read_table(path)
    probe = name == "probe.parquet"
    wanted = ["probe", "inputs", "target", "r2", "constant"] if probe else None
    _require(table, wanted or ["measure", "value"], path)
    rows = _probe_rows(table) if probe else _plain_rows(table)
    return rows.assign(**run_key(path))[list(COLUMNS)]


def gather(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Read run files into one table, sorted by run, measure and target.

    Raises:
        UserError: if there is no file, or two hold the same measurement.
    """
    tables = [read_run_file(path) for path in paths]
    if not tables:
        raise UserError("no run files were given; name at least one to collect")
    table = pd.concat(tables, ignore_index=True)
    keys = [*RUN_KEYS, "measure", "target"]
    twice = table.duplicated(keys)
    if twice.any():
        first = table.loc[twice, keys].iloc[0].to_dict()
        raise UserError(
            f"the measurement {first} was given twice; name each run file once"
        )
    return table.sort_values(keys, ignore_index=True)


def expand(root: str | Path, grids: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    """Yield the paths of all run files of some grids of runs below ``root``.

    A grid is a mapping with ``domain`` and the lists ``datasets``, ``backbones``,
    ``operators`` and ``seeds``. So a thousand runs fit on one command line.

    Raises:
        UserError: if a grid lacks one of these.
    """
    axes = ("datasets", "backbones", "operators", "seeds")
    for grid in grids:
        missing = {"domain", *axes} - set(grid)
        if missing:
            raise UserError(
                f"the grid of runs {dict(grid)} lacks {sorted(missing)}; name its "
                f"domain and the lists {', '.join(axes)}"
            )
        lists = [grid[axis] for axis in axes]
        for run in itertools.product([grid["domain"]], *lists, RUN_FILES):
            yield Path(root, *map(str, run))


def _require(table: pd.DataFrame, columns: Sequence[str], path: str | Path) -> None:
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise UserError(
            f"{path} lacks the column {missing[0]!r} (it has {list(table.columns)}); "
            "delete it and run the step that makes it again"
        )


def _probe_rows(table: pd.DataFrame) -> pd.DataFrame:
    measure = "r2_" + table["probe"].astype(str) + "_" + table["inputs"].astype(str)
    return pd.DataFrame(
        {
            "measure": measure,
            "target": table["target"].astype(str),
            "value": table["r2"].astype(float),
            "constant": table["constant"].astype(bool),
        }
    )


def _plain_rows(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "measure": table["measure"].astype(str),
            "target": "",
            "value": table["value"].astype(float),
            "constant": False,
        }
    )

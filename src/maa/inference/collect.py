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
from maa.inference.endpoints import VALIDATION
from maa.inference.sets import all_runs, sets_from

RUN_KEYS = ("domain", "dataset", "backbone", "operator", "seed")
COLUMNS = (*RUN_KEYS, "measure", "target", "value", "constant")
RUN_FILES = ("probe.parquet", "scores.parquet")
ROWS = {
    "trace.parquet": ("point", "order", "measure", "target", "value"),
    "training.parquet": ("epoch", "loss"),
}
_PROBE_COLUMNS = ("part", "probe", "inputs", "target", "r2", "constant")


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
    wanted = _PROBE_COLUMNS if probe else ("measure", "value")
    _require(table, wanted, path)
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


def expand(
    root: str | Path, sets: Mapping[str, Any], files: Sequence[str] = RUN_FILES
) -> Iterator[Path]:
    """Yield the paths of some files of all runs of a study below ``root``, each once.

    So a thousand runs fit on one command line.

    Args:
        root: folder of all runs.
        sets: JSON settings; see `maa.inference.sets.sets_from`.
        files: names of the files of a run.

    Raises:
        UserError: if a set is not stated rightly.
    """
    for run, name in itertools.product(all_runs(sets_from(sets)), files):
        yield Path(root, *map(str, run), name)


def gather_rows(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Read traces or training curves of some runs into one table.

    Returns:
        The runs' keys, the columns of the files as `ROWS` has them, and further ones
        that start with ``validation_``; NaN where a domain does not measure them.

    Raises:
        UserError: if there is no file, or one is of another kind or lacks a column.
    """
    tables = []
    for path in paths:
        columns = ROWS.get(Path(path).name)
        if columns is None:
            raise UserError(f"{path} is none of {', '.join(ROWS)}; give one of these")
        table = read_table(path)
        _require(table, columns, path)
        more = [name for name in table.columns if name.startswith(VALIDATION)]
        kept = [*RUN_KEYS, *columns, *more]
        tables.append(table.assign(**run_key(path))[kept])
    if not tables:
        raise UserError("no run files were given; name at least one to collect")
    return pd.concat(tables, ignore_index=True)


def _require(table: pd.DataFrame, columns: Sequence[str], path: str | Path) -> None:
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise UserError(
            f"{path} lacks the column {missing[0]!r} (it has {list(table.columns)}); "
            "delete it and run the step that makes it again"
        )


def _probe_rows(table: pd.DataFrame) -> pd.DataFrame:
    prefix = table["part"].map({"test": "", "validation": VALIDATION})
    parts = [table[key].astype(str) for key in ("probe", "inputs")]
    measure = prefix.astype(str) + "r2_" + parts[0] + "_" + parts[1]
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

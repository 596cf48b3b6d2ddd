"""Reading the public CTDG files, each in its own format, into one table of events.

Whatever the file, the result has the same ids, the same order and the published
counts, or reading stops with a sentence that says what differed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from maa.data.unpack import PACKING_ERRORS, open_unpacked
from maa.domains import load_stage
from maa.errors import UserError
from maa.files import read_json

# beyond this a float64 no longer tells neighbouring ids apart
LARGEST_ID = 2.0**53
COLUMNS = ("source", "destination", "time")
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """How a text format keeps events.

    Attributes:
        columns: names of the source, destination and time columns; None takes the
            first three columns, whatever the header calls them.
        delimiter: between fields.
        header: number of header lines.
        exact: the file has no columns but these three.
    """

    columns: tuple[str, str, str] | None = None
    delimiter: str = ","
    header: int = 1
    exact: bool = False


AGAIN = "remove it under data/downloads and data/raw, then run again to fetch it anew"


LAYOUTS = {
    # the header names one column "comma_separated_list_of_features" where the rows
    # have 1 to 172, so names cannot be matched to columns
    "jodie": Layout(),
    "jodie-reduced": Layout(columns=("u", "i", "ts")),
    "tgl": Layout(columns=("src", "dst", "time")),
    "edges": Layout(delimiter=" ", header=0, exact=True),
    "dyglib": Layout(columns=("u", "i", "ts")),
}


def read_events(source_json: str | Path, entry: Mapping[str, Any]) -> pd.DataFrame:
    """Read a downloaded data set, or generate a generated one.

    Args:
        source_json: the ``source.json`` of the download; it names the folder of files.
        entry: the data set's entry in the registry: ``bipartite``, and ``counts``
            where there are published ones.

    Returns:
        Columns source (int64), destination (int64) and time (float64, as in the
        file), one row an event, in time order; events at one time keep the file's
        order. Ids run from 0 without gaps, in the order of the file's ids. In a
        bipartite data set the sources come first and the destinations after them, even
        if the file's ids overlap; otherwise both share one space.

    Raises:
        UserError: if a file is missing, damaged or not as its format says, or the
            events do not show the published counts.
    """
    record = read_json(source_json)
    dataset = record["dataset"]
    if record["format"] == "generated":
        # By name, so that real data does not depend on the generator's code.
        generator = load_stage("ctdg", "generate")
        events: pd.DataFrame = generator.planted_stream(**record["parameters"])
    else:
        file = record["files"][0]
        path = Path(source_json).parent / record["folder"] / file["name"]
        table = read_file(path, record["format"], file.get("member"))
        events = arrange(table, bipartite=entry["bipartite"])
    check_counts(dataset, events, entry.get("counts", {}), str(source_json))
    return events


def read_file(path: Path, layout: str, member: str | None = None) -> pd.DataFrame:
    """Read one file as it is: raw ids, file order.

    Args:
        path: a plain file, a gzip file or a zip archive.
        layout: a key of `LAYOUTS`.
        member: the file inside a zip archive.

    Returns:
        Columns source (int64), destination (int64), time (float64).

    Raises:
        UserError: naming the file, and the row where there is one.
    """
    if layout not in LAYOUTS:
        raise UserError(
            f"{path} is declared as format {layout!r}; expected one of "
            f"{', '.join(LAYOUTS)}: mend `format` in datasets.yaml"
        )
    try:
        with open_unpacked(path, member) as stream:
            table = _parse(stream, LAYOUTS[layout])
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; {AGAIN}") from error
    except (*PACKING_ERRORS, KeyError, ValueError) as error:
        # pyarrow's errors are ValueErrors (a bad row) and KeyErrors (a column)
        problem = " ".join(str(error.args[0] if error.args else error).split())
        raise UserError(
            f"{path} is not a readable {layout} file ({problem}); {AGAIN}"
        ) from error
    return _typed(table, path, LAYOUTS[layout].header)


def _parse(stream: Any, layout: Layout) -> pd.DataFrame:
    """Parse three columns; all others are split off but never converted."""
    wanted = layout.columns or ("f0", "f1", "f2")
    named = layout.columns is not None
    table = pa.csv.read_csv(
        stream,
        # one thread: only so do errors say the row
        read_options=pa.csv.ReadOptions(
            use_threads=False,
            skip_rows=0 if named else layout.header,
            column_names=list(wanted) if layout.exact else None,
            autogenerate_column_names=not named and not layout.exact,
        ),
        parse_options=pa.csv.ParseOptions(delimiter=layout.delimiter, quote_char=False),
        # no text counts as a missing value: "" and "NA" are errors with a row
        convert_options=pa.csv.ConvertOptions(
            include_columns=list(wanted),
            column_types={name: pa.float64() for name in wanted},
            null_values=[],
        ),
    )
    events: pd.DataFrame = table.rename_columns(list(COLUMNS)).to_pandas()
    return events


def _typed(table: pd.DataFrame, path: Path, header: int) -> pd.DataFrame:
    """Check every value; ids become integers (some files write 1.0 for 1)."""
    ids = table[["source", "destination"]].to_numpy()
    bad_ids = ~((ids >= 0) & (ids < LARGEST_ID) & (ids == np.floor(ids)))
    bad = np.column_stack([bad_ids, ~np.isfinite(table["time"].to_numpy())])
    if bad.any():
        row, column = np.argwhere(bad)[0]
        expected = "a finite number" if column == 2 else "a whole number from 0"
        raise UserError(
            f"{path}, row {row + 1 + header}: {COLUMNS[column]} is "
            f"{table.iloc[row, column]:g} where {expected} is expected; {AGAIN}"
        )
    return table.astype({"source": np.int64, "destination": np.int64})


def arrange(table: pd.DataFrame, bipartite: bool) -> pd.DataFrame:
    """Give events dense ids and time order.

    Args:
        table: columns source, destination and time, with any ids, in file order.
        bipartite: whether the two sides are disjoint.

    Returns:
        The same events as `read_events` describes them.
    """
    source, destination = table["source"].to_numpy(), table["destination"].to_numpy()
    if bipartite:
        left, source = np.unique(source, return_inverse=True)
        _, destination = np.unique(destination, return_inverse=True)
        destination = destination + len(left)
    else:
        _, both = np.unique(np.stack([source, destination]), return_inverse=True)
        source, destination = both.reshape(2, -1)
    time = table["time"].to_numpy()
    order = np.argsort(time, kind="stable")
    return pd.DataFrame(
        {
            "source": source[order].astype(np.int64),
            "destination": destination[order].astype(np.int64),
            "time": time[order].astype(np.float64),
        }
    )


def check_counts(
    dataset: str, events: pd.DataFrame, counts: Mapping[str, int], where: str
) -> None:
    """Compare events with the published counts.

    Args:
        dataset: the data set's name, for the error.
        events: columns source and destination.
        counts: expected numbers under events, nodes, sources or destinations; only
            those given are checked.
        where: the file that says where the events came from, for the error.

    Raises:
        UserError: naming every count that differs.
    """
    sources = events["source"].unique()
    destinations = events["destination"].unique()
    found = {
        "events": len(events),
        "nodes": len(np.union1d(sources, destinations)),
        "sources": len(sources),
        "destinations": len(destinations),
    }
    wrong = [
        f"{found[what]:,} {what} where {expected:,} are published"
        for what, expected in counts.items()
        if found[what] != expected
    ]
    if wrong:
        raise UserError(
            f"{dataset} has {', '.join(wrong)}; the files that {where} lists are not "
            f"the published data: {AGAIN}, or name another source in datasets.yaml"
        )

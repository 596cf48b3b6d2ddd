"""Generated files in the form of JODIE's public ones, at any size.

What matters to a reader is kept: one header line with fewer names than the rows have
fields, ids of users and items that overlap and run from 0 in the order of their first
event, times in seconds with a decimal point, ascending and with ties, then a state
label and the features. The events themselves are random.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

HEADER = b"user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
ROWS_AT_ONCE = 1 << 14
# The most active hundredth of the nodes has a quarter of the events, roughly.
SKEW = 3.0


@dataclass(frozen=True)
class Shape:
    """The size of a data set.

    Attributes:
        events: number of rows.
        users: number of distinct users.
        items: number of distinct items.
        span: seconds from the first event to the last.
        features: number of features a row.
        digits: decimals of a feature; None writes zeros, as where there are none.
    """

    events: int
    users: int
    items: int
    span: int
    features: int
    digits: int | None


SHAPES = {
    "wikipedia": Shape(157_474, 8_227, 1_000, 2_678_373, 172, 17),
    "mooc": Shape(411_749, 7_047, 97, 2_572_086, 4, 6),
    "lastfm": Shape(1_293_103, 980, 1_000, 137_107_267, 2, None),
}


def write_jodie(path: Path, shape: Shape, seed: int = 0) -> pd.DataFrame:
    """Write a file and return its events.

    Args:
        path: the file to write.
        shape: its size; as many events as users, and as items, at least.
        seed: of the events and features.

    Returns:
        Columns user, item (int64) and time (float64), in the order of the file.
    """
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(0, shape.span + 1, shape.events))
    time[0], time[-1] = 0, shape.span
    user = _nodes(shape.users, shape.events, rng)
    item = _nodes(shape.items, shape.events, rng)
    events = pd.DataFrame({"user": user, "item": item, "time": time})
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as file:
        file.write(HEADER)
        for table in _tables(events, shape, rng):
            csv.write_csv(table, file, options)
    return events.astype({"time": np.float64})


def _nodes(count: int, events: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a node for each event: all occur, numbered by their first event."""
    drawn = (count * rng.random(events) ** SKEW).astype(np.int64)
    drawn[rng.choice(events, count, replace=False)] = np.arange(count)
    return pd.factorize(drawn)[0].astype(np.int64)


def _tables(
    events: pd.DataFrame, shape: Shape, rng: np.random.Generator
) -> Iterator[pa.Table]:
    for start in range(0, len(events), ROWS_AT_ONCE):
        some = events.iloc[start : start + ROWS_AT_ONCE]
        seconds = pc.cast(pa.array(some["time"]), pa.string())
        columns = [
            pa.array(some["user"]),
            pa.array(some["item"]),
            pc.binary_join_element_wise(seconds, "0", "."),
            pa.array((rng.random(len(some)) < 0.001).astype(np.int8)),
        ]
        columns += _features(len(some), shape, rng)
        yield pa.table(columns, [str(i) for i in range(len(columns))])


def _features(
    rows: int, shape: Shape, rng: np.random.Generator
) -> list[pa.Array | pa.ChunkedArray]:
    if shape.digits is None:
        return [pa.repeat("0.0", rows)] * shape.features
    values = rng.normal(size=(shape.features, rows)).round(shape.digits)
    return [pa.array(column) for column in values]

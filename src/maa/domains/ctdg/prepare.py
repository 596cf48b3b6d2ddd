"""Stage: the last events of a data set, with histories, splits and negatives.

Section A.1 and Table 2 of the paper: the most recent events in chronological order, cut
70/30 by row. A validation part is cut from the end of the first 70 %, so that no choice
is made on what the test part reports.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maa.domains.ctdg.candidates import Candidates
from maa.domains.ctdg.history import windows
from maa.domains.ctdg.negatives import available
from maa.domains.ctdg.readers import read_events
from maa.domains.ctdg.stream import NEGATIVES, PARTS, EventStream
from maa.errors import UserError
from maa.seeds import generator


@dataclass(frozen=True)
class Settings:
    """How a stream is prepared: the ``prepare`` settings of a domain.

    Attributes:
        window: how many of the last events to keep.
        test_fraction: share of the window, at its end, to test on.
        validation_fraction: share of what is left, at its end, to validate on.
        history: length of a history window.
        query_seed: seed of the validation and test negatives.
    """

    window: int
    test_fraction: float
    validation_fraction: float
    history: int
    query_seed: int

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> "Settings":
        """Check the settings.

        Raises:
            UserError: if one is missing, unknown, or out of range.
        """
        names = set(cls.__dataclass_fields__)
        if set(settings) != names:
            raise UserError(
                f"the prepare settings are {', '.join(sorted(settings)) or 'empty'}; "
                f"expected exactly {', '.join(sorted(names))}"
            )
        for name, least in (("window", 1), ("history", 1), ("query_seed", 0)):
            value = settings[name]
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UserError(
                    f"prepare setting {name} is {value!r}; expected a whole number of "
                    f"at least {least}"
                )
        for name in ("test_fraction", "validation_fraction"):
            value = settings[name]
            if not isinstance(value, float | int) or not 0 < value < 1:
                raise UserError(
                    f"prepare setting {name} is {value!r}; expected a number between "
                    "0 and 1, both excluded"
                )
        return cls(**settings)

    def split(self, events: int) -> tuple[int, int]:
        """Return the ends of the fitting and the validation part of ``events`` rows.

        Raises:
            UserError: if a part would be empty.
        """
        validation_end = _share(events, 1 - self.test_fraction)
        train_end = _share(validation_end, 1 - self.validation_fraction)
        if not 0 < train_end < validation_end < events:
            raise UserError(
                f"a window of {events} events is too short for test_fraction "
                f"{self.test_fraction} and validation_fraction "
                f"{self.validation_fraction}: of training, validation and test part "
                "each needs an event; choose a larger window or data set"
            )
        return train_end, validation_end


def prepare(
    source: str | Path, entry: Mapping[str, Any], settings: Mapping[str, Any]
) -> EventStream:
    """Read a downloaded data set and prepare its stream.

    Args:
        source: the ``source.json`` of the download.
        entry: the data set's entry in the registry.
        settings: as in `Settings`.

    Raises:
        UserError: if the data or a setting is not as expected.
    """
    checked = Settings.parse(settings)
    return build(read_events(source, entry), bool(entry["bipartite"]), checked)


def build(events: pd.DataFrame, bipartite: bool, settings: Settings) -> EventStream:
    """Make a stream of the last events.

    Args:
        events: columns source, destination and time, in time order.
        bipartite: whether sources and destinations are different things.
        settings: window, split, histories and seed.

    Raises:
        UserError: if times are not finite and ascending, the window is too short for
            the split, or an event has no other destination to serve as its negative.
    """
    if len(events) > settings.window:
        events = events.iloc[-settings.window :]
    train_end, validation_end = settings.split(len(events))
    source, destination, nodes, sources = _dense(events, bipartite)
    time = _seconds(events["time"].to_numpy(dtype=np.float64))
    edges = (train_end, validation_end, len(events))
    contacts = _Contacts(source, destination, np.unique(destination), bipartite)
    return EventStream(
        source=source,
        destination=destination,
        time=time,
        history=windows(source, settings.history, nodes),
        pool=contacts.pool,
        **_queries(contacts, time, nodes, edges, settings.query_seed),
        nodes=nodes,
        sources=sources,
        bipartite=bipartite,
        train_end=train_end,
        validation_end=validation_end,
    )


def summary(stream: EventStream) -> dict[str, Any]:
    """Return the numbers that tell a reader what a stream holds.

    Among them, for each part, how many unseen negatives fell back on a destination that
    the source had met, as it had met them all, and how many events have no historical
    negative.
    """
    candidates = Candidates(stream, stream.time, stream.nodes)
    parts = {}
    for part in PARTS:
        rows = stream.rows(part)
        met = candidates.seen(rows, stream.negatives(part, "unseen"))
        parts[part] = {
            "events": len(rows),
            "unseen_fallbacks": int(np.count_nonzero(met)),
            "without_historical": int(
                np.count_nonzero(stream.negatives(part, "historical") < 0)
            ),
        }
    return {
        "events": len(stream),
        "nodes": stream.nodes,
        "sources": len(np.unique(stream.source)),
        "destinations": len(stream.pool),
        "bipartite": stream.bipartite,
        "history": stream.depth,
        "span_seconds": float(stream.time[-1]),
        "distinct_times": len(np.unique(stream.time)),
        "self_loops": int(np.count_nonzero(stream.source == stream.destination)),
        "train": {"events": stream.train_end},
        **parts,
    }


@dataclass(frozen=True, eq=False)
class _Contacts:
    """The part of a stream that its negatives are drawn from."""

    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    pool: NDArray[np.int32]
    bipartite: bool


def _share(rows: int, share: float) -> int:
    # 10 * (1 - 0.9) is a little below 1 in floating point, and means 1.
    return int(round(rows * share, 6))


def _dense(
    events: pd.DataFrame, bipartite: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32], int, int]:
    """Number the nodes of the window: source, destination, nodes and sources."""
    ids = [events[name].to_numpy() for name in ("source", "destination")]
    if bipartite:
        (users, source), (items, destination) = (
            np.unique(column, return_inverse=True) for column in ids
        )
        sources, nodes = len(users), len(users) + len(items)
        destination = destination + sources
    else:
        known, both = np.unique(np.concatenate(ids), return_inverse=True)
        source, destination = np.split(both, 2)
        sources, nodes = 0, len(known)
    return source.astype(np.int32), destination.astype(np.int32), nodes, sources


def _seconds(time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count time from the window's first event."""
    if not np.isfinite(time).all() or np.any(np.diff(time) < 0):
        raise UserError(
            "the events' times are not finite and ascending; expected seconds in "
            "time order: check the data set's file and its format in the registry"
        )
    since: NDArray[np.float64] = time - time[0]
    return since


def _queries(
    contacts: _Contacts,
    time: NDArray[np.float64],
    nodes: int,
    edges: tuple[int, int, int],
    seed: int,
) -> dict[str, Any]:
    """Return the rows and the negatives of both parts, by their stream's field."""
    every = np.arange(len(time), dtype=np.int32)
    alone = np.flatnonzero(available(contacts, every) < 1)
    if len(alone):
        raise UserError(
            f"the window has {len(contacts.pool)} distinct destinations, and event "
            f"{alone[0]} (counted from 0) has no other one to serve as its negative; "
            "choose a larger window or data set"
        )
    candidates = Candidates(contacts, time, nodes)
    fields: dict[str, Any] = {}
    for part, start, stop in zip(PARTS, edges, edges[1:], strict=False):
        rows = every[start:stop]
        fields[f"{part}_rows"] = rows
        for kind in NEGATIVES:
            rng = generator(seed, f"{part} {kind}")
            fields[f"{part}_{kind}"] = candidates.draw(kind, rng, rows)
    return fields

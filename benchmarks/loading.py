"""Loading of JODIE's data sets at their full size, from an address to the targets.

    python benchmarks/loading.py

Files in JODIE's own format and of the published sizes are generated, served by a server
on this machine, and taken through the workflow's scripts (download, prepare, targets)
under the registry's own entries, of which the address alone is replaced. Each step
should take less than a minute and 4 GiB. The prepared stream is then compared with the
generated events, row by row. ``--window 0`` prepares all events, not the last 32,768.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jodie_files import SHAPES, Shape, write_jodie
from measured import Cost, measure

from maa.config import load
from maa.domains.ctdg.stream import EventStream
from maa.files import read_json

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "workflow" / "scripts"
SECONDS = 60
GIBIBYTES = 4


class Quiet(SimpleHTTPRequestHandler):
    """Serve a folder and say nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder to this machine alone; yield its address."""
    handler = partial(Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def registered(dataset: str, address: str) -> dict[str, Any]:
    """Return a registry entry with JODIE's source alone, at another address."""
    entry = load(ROOT / "config" / "datasets.yaml")["ctdg"][dataset]
    (source,) = (item for item in entry["sources"] if item["name"] == "jodie")
    (file,) = source["files"]
    moved = file | {"url": f"{address}/{dataset}.csv"}
    return entry | {"sources": [source | {"files": [moved]}]}


def take_through(
    dataset: str, entry: Mapping[str, Any], settings: Mapping[str, Any], folder: Path
) -> dict[str, Cost]:
    """Run the three scripts and return the cost of each.

    Args:
        dataset: its name in the registry.
        entry: its entry.
        settings: those of the prepare step.
        folder: where everything is written.

    Raises:
        SystemExit: if a script fails, as it does if a published count does not hold.
    """
    text = json.dumps(entry)
    stream = f"{folder}/stream.safetensors"
    named = ("--domain", "ctdg", "--dataset", dataset)
    paths = ("--stream", stream, "--summary", f"{folder}/summary.json")
    commands: dict[str, tuple[str, ...]] = {
        "download": (
            *(*named, "--entry", text, "--output", f"{folder}/source.json"),
            *("--store", f"{folder}/store", "--files", f"{folder}/files"),
        ),
        "prepare": (
            *("--domain", "ctdg", "--source", f"{folder}/source.json"),
            *("--entry", text, "--settings", json.dumps(settings), *paths),
        ),
        "targets": (
            *("--domain", "ctdg", "--stream", stream),
            *("--targets", f"{folder}/targets.parquet"),
        ),
    }
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    environment.pop("MAA_DATA_MIRROR", None)
    return {
        step: measure([sys.executable, f"{SCRIPTS}/{step}.py", *options], environment)
        for step, options in commands.items()
    }


def check(folder: Path, events: pd.DataFrame) -> int:
    """Compare the prepared stream with what was written; return its events.

    Args:
        folder: where the stream and the download's record are.
        events: user, item and time in the order of the file.

    Raises:
        SystemExit: naming what differs.
    """
    stream = EventStream.load(folder / "stream.safetensors")
    last = events.iloc[-len(stream) :]
    user, item = (
        np.unique(last[name], return_inverse=True)[1] for name in ("user", "item")
    )
    time = last["time"].to_numpy()
    expected = {
        "source": user,
        "destination": item + last["user"].nunique(),
        "time": time - time[0],
    }
    for name, values in expected.items():
        if not np.array_equal(getattr(stream, name), values):
            raise SystemExit(f"{folder}: {name} is not what the file holds")
    if (used := read_json(folder / "source.json")["source"]) != "jodie":
        raise SystemExit(f"{folder}: read from {used}, not from jodie")
    return len(stream)


def follow(
    dataset: str, shape: Shape, settings: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Cost], int]:
    """Generate, serve, load and check one data set: costs, and events prepared."""
    served, work = folder / "served", folder / dataset
    served.mkdir(exist_ok=True)
    events = write_jodie(served / f"{dataset}.csv", shape)
    with serve(served) as address:
        entry = registered(dataset, address)
        costs = take_through(dataset, entry, settings, work)
    return costs, check(work, events)


def main() -> None:
    """Print what each step took for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--window", type=int, help="last events to keep; 0 for all")
    arguments = parser.parse_args()
    study = load(ROOT / "config" / "config.yaml")["domains"]["ctdg"]
    for dataset in arguments.datasets:
        shape = SHAPES[dataset]
        settings = dict(study["prepare"])
        if arguments.window is not None:
            settings["window"] = arguments.window or shape.events
        with tempfile.TemporaryDirectory() as folder:
            costs, kept = follow(dataset, shape, settings, Path(folder))
            size = (Path(folder) / "served" / f"{dataset}.csv").stat().st_size
        print(f"{dataset}: {shape.events:,} events, {size / 1e6:.0f} MB; {kept:,} kept")
        for step, cost in costs.items():
            fits = cost.seconds < SECONDS and cost.gibibytes < GIBIBYTES
            print(
                f"  {step:<10}{cost.seconds:>7.1f} s{cost.cpu:>7.1f} s of the processor"
                f"{cost.gibibytes:>7.2f} GiB  ({'within' if fits else 'NOT within'} "
                f"{SECONDS} s and {GIBIBYTES} GiB)",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Get one data set's raw files, or the parameters of a generated one.

Reads the command line and, if there is one, a mirror folder. Gets the files of the
first source that has them whole into a store, which is never emptied: what is there is
not fetched twice. Writes a folder of links to them, and ``source.json``, which says
where they came from. A generated stream has no files: its parameters are all there is;
nor has a model of a hub, which is fetched when it is loaded.
Section A.1 and Table 10 of the paper name the public data sets.
"""

import argparse
import logging
import os
from pathlib import Path
from typing import Any

from maa.cli import run, settings
from maa.data.download import fetch
from maa.data.registry import parse_sources
from maa.data.transfer import Patience
from maa.files import link, write_json


def parse() -> argparse.Namespace:
    """Read the command line."""
    defaults = Patience()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", required=True, help="domain, as in ctdg")
    parser.add_argument("--dataset", required=True, help="data set, as in wikipedia")
    parser.add_argument(
        "--entry",
        required=True,
        type=settings,
        help="the data set's entry in datasets.yaml, as JSON",
    )
    parser.add_argument(
        "--mirror",
        type=Path,
        default=os.environ.get("MAA_DATA_MIRROR") or None,
        help="folder to look into first (default: the variable MAA_DATA_MIRROR)",
    )
    parser.add_argument("--store", required=True, type=Path, help="what was fetched")
    parser.add_argument("--files", required=True, type=Path, help="folder to write")
    parser.add_argument("--output", required=True, type=Path, help="source.json")
    parser.add_argument(
        "--connect-timeout",
        type=float,
        default=defaults.connect,
        help="seconds until a connection must stand (default: %(default)s)",
    )
    parser.add_argument(
        "--read-timeout",
        type=float,
        default=defaults.read,
        help="seconds of silence that end a transfer (default: %(default)s)",
    )
    parser.add_argument(
        "--attempts",
        type=int,
        default=defaults.attempts,
        help="tries per file (default: %(default)s)",
    )
    parser.add_argument(
        "--backoff",
        type=float,
        default=defaults.backoff,
        help="seconds before the second try, then doubled (default: %(default)s)",
    )
    return parser.parse_args()


def obtain(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what ``source.json`` says beside the names of domain and data set."""
    entry = arguments.entry
    if "hub" in entry:
        named = {"hub": entry["hub"], "revision": entry.get("revision")}
        return {"format": "hub", "files": [], **named}
    if "generated" in entry:
        return {"format": "generated", "parameters": entry["generated"], "files": []}
    return fetch(
        arguments.dataset,
        parse_sources(arguments.dataset, entry),
        arguments.store,
        arguments.mirror,
        Patience(
            arguments.connect_timeout,
            arguments.read_timeout,
            arguments.attempts,
            arguments.backoff,
        ),
    )


def main() -> None:
    """Get the data, then write where it came from."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    arguments = parse()
    record = {"domain": arguments.domain, "dataset": arguments.dataset}
    record["folder"] = os.path.relpath(arguments.files, arguments.output.parent)
    record |= obtain(arguments)
    arguments.files.mkdir(parents=True, exist_ok=True)
    for file in record["files"]:
        link(arguments.store / file["name"], arguments.files / file["name"])
    write_json(arguments.output, record)


if __name__ == "__main__":
    run(main)

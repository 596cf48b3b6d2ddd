"""Say where the checkpoints of a model lie that was trained elsewhere.

Reads the command line. Writes ``place.json``; what it names is fetched when it is
loaded.
"""

import argparse
from pathlib import Path

from maa.cli import run
from maa.files import write_json


def main() -> None:
    """Write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--location", required=True, help="a hub's name, or a folder")
    parser.add_argument(
        "--steps", type=int, nargs="+", required=True, help="revisions step0, step1, …"
    )
    parser.add_argument("--output", type=Path, required=True, help="place.json")
    arguments = parser.parse_args()
    place = {"checkpoints": arguments.location, "steps": arguments.steps}
    write_json(arguments.output, place)


if __name__ == "__main__":
    run(main)

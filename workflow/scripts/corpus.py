"""Read a text and part it.

Reads a download, or a text file of a user. Writes its passages in two parts (JSON):
``read``, on which models are measured or trained, and ``held``, which is only
evaluated on.
"""

import argparse
from pathlib import Path

from maa.audit.corpora import hold_out, read_corpus, read_text
from maa.cli import run, settings
from maa.files import write_json


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, help="source.json of the download")
    parser.add_argument("--entry", type=settings, help="its entry in the registry")
    parser.add_argument("--file", type=Path, help="a text file instead")
    parser.add_argument(
        "--every", type=int, required=True, help="every n-th passage is held out"
    )
    parser.add_argument("--output", type=Path, required=True, help="text to write")
    return parser.parse_args()


def main() -> None:
    """Read, part, write."""
    arguments = parse()
    if arguments.file:
        passages = read_text(arguments.file)
    else:
        passages = read_corpus(arguments.source, arguments.entry["counts"])
    read, held = hold_out(passages, arguments.every)
    write_json(arguments.output, {"read": read, "held": held})


if __name__ == "__main__":
    run(main)

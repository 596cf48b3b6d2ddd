"""Train a small transformer on a text, with checkpoints on the way.

Reads a text. Trains in a folder from which a killed training goes on. Writes a folder
of links to the checkpoints, and ``place.json``, where the last of them can be loaded
from.
"""

import argparse
from pathlib import Path

import torch

from maa.audit.training.loop import pretrain
from maa.audit.training.settings import Settings
from maa.cli import run, settings
from maa.files import link, read_json, write_json


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="the text (JSON)")
    parser.add_argument("--settings", type=settings, required=True, help="as JSON")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--store", type=Path, required=True, help="where it trains")
    parser.add_argument("--files", type=Path, required=True, help="folder to write")
    parser.add_argument("--output", type=Path, required=True, help="place.json")
    return parser.parse_args()


def main() -> None:
    """Train, link, write."""
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    corpus, chosen = read_json(arguments.corpus), Settings.of(arguments.settings)
    pretrain(corpus["read"], corpus["held"], chosen, arguments.store)
    for path in sorted(arguments.store.rglob("*.json*")):
        link(path, arguments.files / path.relative_to(arguments.store))
    for path in sorted(arguments.store.rglob("step*/*.safetensors")):
        link(path, arguments.files / path.relative_to(arguments.store))
    last = f"step{chosen.steps}"
    place = {"location": str(arguments.files / last), "revision": None}
    place |= {"checkpoints": str(arguments.files), "steps": chosen.checkpoints()}
    write_json(arguments.output, place)


if __name__ == "__main__":
    run(main)

"""Follow a model's attention in the course of its training.

Reads where checkpoints lie, and a text; measures on the passages that were held out.
Writes three tables (Parquet): measures of every head, losses, and the changes of
entropy, attributed to the sink and the content.
"""

from functools import partial
from pathlib import Path

import torch

from maa.audit.command import reading_parser
from maa.audit.dynamics import follow
from maa.audit.models import Pretrained, load_model
from maa.audit.texts import passages, spread
from maa.cli import run
from maa.files import read_json, write_table

OUTPUTS = ("losses", "changes")


def at(location: str, device: str, step: int) -> Pretrained:
    """Load a checkpoint."""
    return load_model(location, device, f"step{step}")


def main() -> None:
    """Read, follow, write."""
    parser = reading_parser(__doc__)
    for name in OUTPUTS:
        parser.add_argument(f"--{name}", type=Path, required=True, help="to write")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    chosen, place = arguments.settings, read_json(arguments.place)
    load = partial(at, place["checkpoints"], chosen["device"])
    held = read_json(arguments.corpus)["held"]
    tokenizer = load(place["steps"][-1]).tokenizer
    texts = spread(passages(tokenizer, held, chosen["tokens"]), chosen["passages"])
    found = follow(load, place["steps"], texts, first_row=chosen["first_row"])
    write_table(arguments.output, found.heads)
    for name in OUTPUTS:
        write_table(getattr(arguments, name), getattr(found, name))


if __name__ == "__main__":
    run(main)

"""Follow a model's attention in the course of its training.

Reads where checkpoints lie, and a text; measures on the passages that were held out.
Writes four tables (Parquet): measures of every head, losses, the changes of entropy,
attributed to the sink and the content, and the same as if the second token, which is no
sink, were one: what any key's part is.
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
CONTROL = "second"


def at(location: str, device: str, step: int) -> Pretrained:
    """Load a checkpoint."""
    return load_model(location, device, f"step{step}")


def main() -> None:
    """Read, follow, write."""
    parser = reading_parser(__doc__)
    for name in (*OUTPUTS, "control"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="to write")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    chosen, place = arguments.settings, read_json(arguments.place)
    load = partial(at, place["checkpoints"], chosen["device"])
    held = read_json(arguments.corpus)["held"]
    tokenizer = load(place["steps"][-1]).tokenizer
    texts = spread(passages(tokenizer, held, chosen["tokens"]), chosen["passages"])
    found, control = (
        follow(load, place["steps"], texts, sinks, chosen["first_row"])
        for sinks in ("first", CONTROL)
    )
    write_table(arguments.output, found.heads)
    for name in OUTPUTS:
        write_table(getattr(arguments, name), getattr(found, name))
    write_table(arguments.control, control.changes)


if __name__ == "__main__":
    run(main)

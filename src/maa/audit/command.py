"""What the scripts that read texts with a pretrained model share."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from maa.audit.models import Pretrained, load_model
from maa.audit.texts import passages
from maa.cli import settings
from maa.files import read_json


@dataclass(frozen=True)
class Reading:
    """A model and the passages that it is to read.

    Attributes:
        pretrained: the model.
        texts: passages as tokens, those to measure on.
        held: passages as tokens that are only evaluated on; perhaps none.
        sinks: which tokens are sinks.
    """

    pretrained: Pretrained
    texts: list[list[int]]
    held: list[list[int]]
    sinks: str


def reading_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the arguments that name a model, texts and settings.

    Args:
        description: the script's own docstring.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--place", type=Path, required=True, help="where the model lies (JSON)"
    )
    parser.add_argument("--corpus", type=Path, required=True, help="the text (JSON)")
    parser.add_argument(
        "--settings",
        type=settings,
        required=True,
        help="JSON: device, tokens, passages, perhaps sinks, and the step's own",
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, required=True, help="table to write")
    return parser


def read(arguments: argparse.Namespace) -> Reading:
    """Load what a script was told to read.

    Args:
        arguments: what `reading_parser` parsed; ``settings`` with ``device``,
            ``tokens`` (a passage's), and perhaps ``sinks`` (``auto``: the first token
            of a causal model, the special tokens of another), and the most
            ``passages`` and ``held_passages``, none where one is not given.
    """
    chosen: Mapping[str, Any] = arguments.settings
    torch.set_num_threads(arguments.threads)
    where = read_json(arguments.place)
    pretrained = load_model(where["location"], chosen["device"], where["revision"])
    sinks = chosen.get("sinks", "none")
    if sinks == "auto":
        sinks = "first" if pretrained.causal else "special"
    corpus = read_json(arguments.corpus)

    def cut(texts: Sequence[str], count: int) -> list[list[int]]:
        if not count:
            return []
        return passages(pretrained.tokenizer, texts, chosen["tokens"], count)

    return Reading(
        pretrained,
        cut(corpus["read"], chosen.get("passages", 0)),
        cut(corpus["held"], chosen.get("held_passages", 0)),
        sinks,
    )

"""What the scripts of a run (train, represent, behave) share on the command line."""

import argparse
from pathlib import Path
from typing import Any

from maa.cli import settings

KEY = ("domain", "dataset", "backbone", "operator", "seed")


def run_key(text: str) -> dict[str, str]:
    """Parse a run's key, ``name=value`` pairs with commas between, in any order.

    Raises:
        argparse.ArgumentTypeError: if it has not exactly the five parts of `KEY`, or
            its seed is not a whole number.
    """
    pairs = [part.partition("=") for part in text.split(",")]
    key = {name: value for name, _, value in pairs}
    if sorted(key) != sorted(KEY) or not key["seed"].isdigit():
        example = "domain=ctdg,dataset=wikipedia,backbone=tgat,operator=p1.10,seed=7"
        raise argparse.ArgumentTypeError(f"{text!r}; expected a key such as {example}")
    return key


class _RunKey(argparse.Action):
    """Store the parts of ``--run`` under their own names."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Split the key."""
        for name, value in values.items():
            setattr(namespace, name, int(value) if name == "seed" else value)


def run_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the arguments that name a run and its data.

    The parsed arguments hold ``domain``, ``dataset``, ``backbone``, ``operator``,
    ``seed`` (int), ``stream``, ``settings`` and ``threads``.

    Args:
        description: the script's own docstring.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--run",
        type=run_key,
        action=_RunKey,
        required=True,
        metavar="KEY",
        help="domain=...,dataset=...,backbone=...,operator=...,seed=...",
    )
    parser.add_argument("--stream", type=Path, required=True, help="prepared data")
    parser.add_argument(
        "--settings",
        type=settings,
        required=True,
        help="JSON: the step's settings, with device and model (the backbone's own)",
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads (default: %(default)s)"
    )
    return parser

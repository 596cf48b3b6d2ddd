"""What the scripts of a run (train, represent, behave) share on the command line."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from maa.cli import settings

KEY = ("domain", "dataset", "backbone", "operator", "seed")


class _RunKey(argparse.Action):
    """Store the five parts of ``--run`` under their own names."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Split the key; the seed must be a whole number."""
        *names, seed = list(values or ())
        if not str(seed).isdigit():
            parser.error(f"--run: the seed must be a whole number, got {seed!r}")
        for name, value in zip(KEY, [*names, int(seed)], strict=True):
            setattr(namespace, name, value)


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
        nargs=len(KEY),
        action=_RunKey,
        required=True,
        metavar=tuple(name.upper() for name in KEY),
        help="the run's key, such as: ctdg wikipedia tgat p1.10 7",
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

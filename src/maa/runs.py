"""What the scripts of a run (train, represent, behave) share on the command line."""

import argparse
from pathlib import Path

from maa.cli import settings


def run_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the arguments that name a run and its data.

    Args:
        description: the script's own docstring.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--domain", required=True, help="domain, such as ctdg")
    parser.add_argument("--backbone", required=True, help="model, such as tgat")
    parser.add_argument("--operator", required=True, help="operator, such as p1.10")
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

"""What the workflow's scripts share: JSON settings, and errors as one sentence."""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from maa.errors import UserError


def settings(text: str) -> dict[str, Any]:
    """Parse a ``--settings`` argument: a JSON object.

    Raises:
        argparse.ArgumentTypeError: if it is not a JSON object.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object, got {text}")
    return value


def run(main: Callable[[], None]) -> None:
    """Run a script's ``main``; a `UserError` ends it with one sentence and code 1."""
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None

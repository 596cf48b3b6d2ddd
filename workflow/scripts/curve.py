"""Draw how often verdicts flip among rows that no model made.

Reads nothing but its settings, so that it stands before any model is run. Writes the
predictor to which no model has contributed (JSON), its curve in it.
"""

import argparse
from pathlib import Path

from maa.audit.predictor import Grid, Rule, draw_curve, model_free
from maa.cli import run, settings
from maa.files import write_json


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=settings, required=True, help="as JSON")
    parser.add_argument("--output", type=Path, required=True, help="to write")
    return parser.parse_args()


def main() -> None:
    """Draw, freeze, write."""
    arguments = parse()
    chosen = dict(arguments.settings)
    rule = Rule(**{name: chosen.pop(name) for name in ("limit", "coverage", "reach")})
    curve = draw_curve(Grid(**{name: _tuple(v) for name, v in chosen.items()}))
    write_json(arguments.output, model_free(curve, rule).to_json())


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


if __name__ == "__main__":
    run(main)

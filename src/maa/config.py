"""Checking configuration files against their schemas, with one sentence an error.

Imported by the workflow at every start: no heavy imports here.
"""

from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from maa.errors import UserError

# The loader in C is many times faster; PyYAML may have been built without it.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(path: str | Path) -> Any:
    """Read a YAML file; a missing or broken one is a `UserError`."""
    try:
        return yaml.load(Path(path).read_text(encoding="utf-8"), LOADER)
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; give the path of a YAML file") from error
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise UserError(f"{path} is not valid YAML: {problem}") from error


def check(value: Any, schema: str | Path, name: str) -> None:
    """Check a value against a JSON schema written in YAML.

    Args:
        value: what was read from the file.
        schema: path of the schema.
        name: what to call the file in an error.

    Raises:
        UserError: naming the key, what was found and what is expected.
    """
    errors = Draft202012Validator(load(schema)).iter_errors(value)
    error = best_match(errors)
    if error is not None:
        raise UserError(_sentence(error, name))


def _sentence(error: ValidationError, name: str) -> str:
    key = ".".join(str(part) for part in error.absolute_path) or "top level"
    hint = error.schema.get("description") if isinstance(error.schema, dict) else None
    expected = f"; expected: {hint}" if hint else ""
    return f"{name}, {key}: {error.message}{expected}"

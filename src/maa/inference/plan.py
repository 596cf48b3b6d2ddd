"""What an inference run is told: the two arms, and the bootstrap's draws and seed."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from maa.errors import UserError


@dataclass(frozen=True)
class Plan:
    """Settings of the inference.

    Attributes:
        baseline: operator to compare with, such as ``p1.00`` (softmax).
        treatment: operator that is tested, such as ``p1.10``.
        draws: number of bootstrap draws (the paper: 20,000).
        seed: of the bootstrap.
    """

    baseline: str
    treatment: str
    draws: int
    seed: int


def plan_from(settings: Mapping[str, Any]) -> Plan:
    """Build a plan from JSON settings.

    Raises:
        UserError: if a key is missing, unknown, or of another type.
    """
    wanted = {field.name: field.type for field in fields(Plan)}
    if set(settings) != set(wanted):
        raise UserError(
            f"the inference settings have the keys {sorted(settings)}; expected "
            f"{sorted(wanted)}"
        )
    for name, kind in wanted.items():
        if type(settings[name]) is not kind:
            raise UserError(
                f"the inference setting {name!r} is {settings[name]!r}; expected "
                f"{'a whole number' if kind is int else 'an operator name'}"
            )
    if settings["draws"] < 1:
        raise UserError(
            f"the inference setting 'draws' is {settings['draws']}; expected 1 or more"
        )
    return Plan(**settings)

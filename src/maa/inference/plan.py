"""What an inference run is told: arms, sets of runs, bootstrap, selection of p."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maa.errors import UserError
from maa.inference.sets import CORE, RunSet, sets_from

SETTINGS_HELP = (
    'JSON: {"baseline", "treatment": operators, "draws", "seed": bootstrap, "sets": '
    '{domain: {"core": {"datasets", "backbones", "operators", "seeds"}, "controls": '
    '{"cells": [{"dataset", "backbone"}], "operators", "seeds"}, "official": {...}}}, '
    '"selection": {"grid", "utility_tolerance"}}; all sets but core, and selection '
    "where no power is chosen, may be left out"
)
_REQUIRED = {"baseline": str, "treatment": str, "draws": int, "seed": int, "sets": dict}
_KINDS = {str: "an operator name", int: "a whole number", dict: "a mapping"}
_POWER = re.compile(r"p[1-9][0-9]*\.[0-9]{2}")


@dataclass(frozen=True)
class Selection:
    """How a power is chosen (paper 4.2).

    Attributes:
        grid: names of the candidate operators, such as ``p1.05``.
        utility_tolerance: by how much the utility may fall below the baseline's.
    """

    grid: tuple[str, ...]
    utility_tolerance: float


@dataclass(frozen=True)
class Plan:
    """Settings of the inference.

    Attributes:
        baseline: operator to compare with, such as ``p1.00`` (softmax).
        treatment: operator that is tested, such as ``p1.10``.
        draws: number of bootstrap draws (the paper: 20,000).
        seed: of the bootstrap.
        sets: the sets of runs to compare within.
        selection: how a power is chosen; None if no power is to be chosen.
    """

    baseline: str
    treatment: str
    draws: int
    seed: int
    sets: tuple[RunSet, ...]
    selection: Selection | None = None

    @property
    def cores(self) -> tuple[RunSet, ...]:
        """The main grid of each domain."""
        return tuple(run_set for run_set in self.sets if run_set.group == CORE)


def plan_from(settings: Mapping[str, Any]) -> Plan:
    """Build a plan from JSON settings; ``selection`` may be left out.

    Raises:
        UserError: if a key is missing, unknown, or of another type.
    """
    if set(settings) - {"selection"} != set(_REQUIRED):
        raise UserError(
            f"the inference settings have the keys {sorted(settings)}; expected "
            f"{sorted(_REQUIRED)} and, to choose a power, selection"
        )
    for name, kind in _REQUIRED.items():
        if type(settings[name]) is not kind:
            raise UserError(
                f"the inference setting {name!r} is {settings[name]!r}; expected "
                f"{_KINDS[kind]}"
            )
    if settings["draws"] < 1:
        raise UserError(
            f"the inference setting 'draws' is {settings['draws']}; expected 1 or more"
        )
    for domain, groups in settings["sets"].items():
        if CORE not in groups:
            raise UserError(
                f"the sets of the domain {domain!r} are {sorted(groups)}; expected "
                f"{CORE!r} among them, the grid that is tested"
            )
    made = {
        "sets": sets_from(settings["sets"]),
        "selection": _selection_from(settings.get("selection")),
    }
    return Plan(**{**settings, **made})


def power_of(operator: str) -> float:
    """Return p of a plain power operator, such as 1.1 of ``p1.10``.

    Raises:
        UserError: if the operator is something else.
    """
    if not _POWER.fullmatch(operator):
        raise UserError(
            f"{operator!r} is not a power to select; expected 'p' and a number with "
            "two decimals, such as 'p1.05'"
        )
    return float(operator[1:])


def _selection_from(settings: Mapping[str, Any] | None) -> Selection | None:
    if settings is None:
        return None
    wanted = {"grid", "utility_tolerance"}
    if set(settings) != wanted:
        raise UserError(
            f"the selection settings have the keys {sorted(settings)}; expected "
            f"{sorted(wanted)}"
        )
    tolerance = settings["utility_tolerance"]
    if type(tolerance) not in (int, float) or tolerance < 0:
        raise UserError(
            f"the selection setting 'utility_tolerance' is {tolerance!r}; expected a "
            "number, 0 or more"
        )
    grid = sorted(settings["grid"], key=power_of)
    return Selection(tuple(grid), float(tolerance))

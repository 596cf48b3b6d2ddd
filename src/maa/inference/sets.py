"""The sets of runs that a study compares: core, controls, official (paper 4.3 to 7).

A set is some cells (data set, backbone), all run with the same operators and seeds. The
core is a whole grid of data sets and backbones; controls are operators that only some
representative cells are run with; official holds the backbones' published forms.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from maa.errors import UserError
from maa.study import cells_of

CORE = "core"
GROUPS = (CORE, "controls", "official")
_CELL = ["dataset", "backbone"]
_RUN = ["domain", *_CELL, "operator", "seed"]


@dataclass(frozen=True)
class RunSet:
    """Some cells, all run with the same operators and seeds.

    Attributes:
        group: which set of the study: one of `GROUPS`.
        domain: the domain of its runs.
        cells: its (data set, backbone) pairs; not always a whole grid.
        operators: names of the operators that every cell is run with.
        seeds: seeds that every cell is run with.
    """

    group: str
    domain: str
    cells: tuple[tuple[str, str], ...]
    operators: tuple[str, ...]
    seeds: tuple[int, ...]

    def runs(self, operators: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the keys of its runs, all or those with some of its operators.

        Returns:
            One row a run: ``domain``, ``dataset``, ``backbone``, ``operator``,
            ``seed``.
        """
        chosen = self.operators if operators is None else operators
        rows = itertools.product(self.cells, chosen, self.seeds)
        return pd.DataFrame(
            [(self.domain, *cell, operator, seed) for cell, operator, seed in rows],
            columns=_RUN,
        )

    def pick(self, measurements: pd.DataFrame) -> pd.DataFrame:
        """Return the measurements of its runs."""
        cells = pd.MultiIndex.from_tuples(self.cells)
        return measurements[
            (measurements["domain"] == self.domain)
            & measurements["operator"].isin(self.operators)
            & measurements["seed"].isin(self.seeds)
            & pd.MultiIndex.from_frame(measurements[_CELL]).isin(cells)
        ]


def sets_from(settings: Mapping[str, Any]) -> tuple[RunSet, ...]:
    """Build the sets of runs from JSON settings.

    Args:
        settings: by domain, then by group. A set has ``operators``, ``seeds``, and
            either ``datasets`` and ``backbones`` (all combinations) or ``cells``, a
            list of ``{"dataset", "backbone"}``.

    Returns:
        The sets, domain by domain, in the order of `GROUPS`.

    Raises:
        UserError: if a group is unknown, there is none, or a set lacks a list, or has
            an empty one or one with doubles.
    """
    found = []
    for domain, groups in settings.items():
        if not groups or not set(groups) <= set(GROUPS):
            raise UserError(
                f"the sets of the domain {domain!r} are {sorted(groups)}; expected "
                f"some of {', '.join(map(repr, GROUPS))}"
            )
        named = [group for group in GROUPS if group in groups]
        found += [_set_from(group, domain, groups[group]) for group in named]
    return tuple(found)


def all_runs(sets: Sequence[RunSet]) -> Iterator[tuple[str, str, str, str, int]]:
    """Yield the key of every run of some sets, each once though sets may share it."""
    seen: dict[tuple[str, str, str, str, int], None] = {}
    for run_set in sets:
        seen.update(dict.fromkeys(run_set.runs().itertuples(index=False, name=None)))
    yield from seen


def _set_from(group: str, domain: str, entry: Mapping[str, Any]) -> RunSet:
    ragged = isinstance(entry, Mapping) and "cells" in entry
    axes = ["cells"] if ragged else ["datasets", "backbones"]
    lists = [*axes, "operators", "seeds"]
    where = f"the set {group!r} of the domain {domain!r}"
    if not isinstance(entry, Mapping) or set(entry) != set(lists):
        raise UserError(
            f"{where} has {entry and sorted(entry)}; expected the lists operators and "
            "seeds, and either datasets and backbones or cells"
        )
    for name in lists:
        values = entry[name]
        if not values or any(value in values[:i] for i, value in enumerate(values)):
            raise UserError(
                f"the list {name} of {where} is {values!r}; expected at least one "
                "entry, and none twice"
            )
    return RunSet(
        group=group,
        domain=domain,
        cells=tuple(cells_of(entry)),
        operators=tuple(entry["operators"]),
        seeds=tuple(entry["seeds"]),
    )

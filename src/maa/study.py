"""Which runs a study has: its sets of cells, operators and seeds.

Plain data, so that planning a study loads neither pandas nor PyTorch.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

Run = tuple[str, str, str, int]
# Tables of an audit of every text and model, and of a model's training.
EVERYWHERE = (
    "measured",
    "flips",
    "clusters_heads",
    "clusters_layouts",
    "clusters_compared",
    "clusters_explained",
)
COURSES = ("course_heads", "course_losses", "course_changes", "course_control")


def sets_of(study: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the sets of runs of a domain's study, those that are not empty.

    Args:
        study: the domain's part of the configuration.

    Returns:
        ``core``, the grid, with ``datasets``, ``backbones``, ``operators``, ``seeds``;
        ``controls``, some ``cells`` with the operators of the grid and further ones;
        ``official``, a grid like core's, of the models' published forms.
    """
    axes = ("datasets", "backbones", "operators", "seeds")
    sets: dict[str, dict[str, Any]] = {"core": {axis: study[axis] for axis in axes}}
    controls, official = study["controls"], study["official"]
    if controls["cells"] and controls["operators"]:
        operators = [*study["operators"], *controls["operators"]]
        sets["controls"] = {
            "cells": controls["cells"],
            "operators": list(dict.fromkeys(operators)),
            "seeds": study["seeds"],
        }
    if all(official[axis] for axis in axes):
        sets["official"] = {axis: official[axis] for axis in axes}
    return sets


def runs_of(sets: Mapping[str, Mapping[str, Any]]) -> list[Run]:
    """Return every run of some sets, each once, as (dataset, backbone, operator, seed).

    Args:
        sets: as `sets_of` returns them.
    """
    found: dict[Run, None] = {}
    for entry in sets.values():
        runs = product(cells_of(entry), entry["operators"], entry["seeds"])
        found.update(((*cell, op, seed), None) for cell, op, seed in runs)
    return list(found)


def audits_of(study: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """Return the cells (text, model) of each table of an audit that has any.

    Args:
        study: the part of the configuration on attention rows.
    """
    every = list(product(study["datasets"], study["backbones"]))
    found = dict.fromkeys(EVERYWHERE, every)
    for table in ("pruning", "switching"):
        named = study[table]["cells"]
        found[table] = [(cell["dataset"], cell["backbone"]) for cell in named]
    courses = [(course["text"], name) for name, course in study["courses"].items()]
    found |= dict.fromkeys(COURSES, courses)
    return {table: cells for table, cells in found.items() if cells}


def cells_of(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the cells (data set, backbone) of a set of runs."""
    if "cells" in entry:
        return [(cell["dataset"], cell["backbone"]) for cell in entry["cells"]]
    return list(product(entry["datasets"], entry["backbones"]))

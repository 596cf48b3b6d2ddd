"""Every figure and table: what it is made of, and which runs it needs.

Plain data, so that planning a study loads neither pandas nor matplotlib.
"""

from collections.abc import Collection, Mapping
from typing import TypedDict


class Entry(TypedDict):
    """One figure or table.

    Attributes:
        kind: ``figure`` or ``table``.
        tables: names of the tables that it is made of, in the order in which its
            module's function ``table`` takes them.
        sets: sets of runs that it needs: of ``core``, ``controls``, ``official``; and
            ``audits-`` with a table of the audits of attention rows.
        operators: operators that must be among those of the sets.
        domain: the domain that it shows, or the empty string for none.
    """

    kind: str
    tables: tuple[str, ...]
    sets: tuple[str, ...]
    operators: tuple[str, ...]
    domain: str


def _entry(
    kind: str,
    tables: str = "",
    sets: str = "",
    operators: str = "",
    domain: str = "ctdg",
) -> Entry:
    return {
        "kind": kind,
        "tables": tuple(tables.split()),
        "sets": tuple(sets.split()),
        "operators": tuple(operators.split()),
        "domain": domain,
    }


_POWERS = "p1.00 p1.02 p1.05 p1.10 p1.20 p2.00"
_LENGTHS = "p1.00 p1.00-l2 p1.10 p1.10-l2"
_SCALES = "p1.00 p1.10 p1.10-uniform p1.10-length"
_OTHERS = "p1.00 p1.10 cpa-additive cpa-scaled"
_COURSE = (
    "audit_course_heads audit_course_losses audit_course_changes audit_course_control"
)

CATALOGUE: dict[str, Entry] = {
    "fig1": _entry("figure", "cells", "core"),
    "fig2": _entry("figure", domain=""),
    "fig3": _entry("figure", "aggregate", "core"),
    "fig4": _entry("figure", "cells statistics", "core"),
    "fig8": _entry("figure", "contrasts contrast_cells", "core controls", _POWERS),
    "fig9": _entry("figure", "contrasts contrast_cells", "controls", _LENGTHS),
    "controls": _entry("figure", "shares", "core controls", _SCALES),
    "trace": _entry("figure", "traces", "core", "p1.00 p1.10"),
    "curves": _entry("figure", "curves", "core"),
    "selection": _entry("figure", "selection", "core", "p1.00 p1.05 p1.10"),
    "fig_jacobian": _entry("figure", domain=""),
    "official": _entry("figure", "contrast_cells", "core official", "p1.00 p1.10"),
    "rows_sinks": _entry("figure", "audit_measured", "audits-measured", domain="rows"),
    "rows_flips": _entry("figure", "audit_facts", "audits-flips", domain="rows"),
    "rows_clusters": _entry(
        "figure", "audit_clusters_heads", "audits-clusters_heads", domain="rows"
    ),
    "rows_pruning": _entry("figure", "audit_pruning", "audits-pruning", domain="rows"),
    "rows_switching": _entry(
        "figure", "audit_switching", "audits-switching", domain="rows"
    ),
    "rows_course": _entry("figure", _COURSE, "audits-course_heads", domain="rows"),
    "traffic_heatmaps": _entry("figure", "traces", "core", "p1.00", "traffic"),
    "traffic_paths": _entry("figure", "traces", "core", "p1.00", "traffic"),
    "traffic_gaps": _entry("figure", "traffic_gaps", "core", "p1.00", "traffic"),
    "table3": _entry("table", "aggregate", "core"),
    "table4": _entry("table", "statistics", "core"),
    "table8": _entry("table", "contrasts", "controls", _POWERS),
    "table9": _entry("table", "contrast_cells", "controls", _OTHERS),
    "table_selection": _entry(
        "table", "selection selection_effects", "core", "p1.00 p1.05 p1.10"
    ),
    "table_checks": _entry("table", "aggregate statistics mixed precision", "core"),
    "table_official": _entry("table", "contrasts", "core official", "p1.00 p1.10"),
    "table_shares": _entry("table", "shares", "core controls", _SCALES),
    "table_traffic": _entry("table", "traffic_gaps", "core", "p1.00", "traffic"),
    "table_regimes": _entry("table", "audit_regimes", "audits-flips", domain="rows"),
}
TABLES = tuple(
    sorted({name for entry in CATALOGUE.values() for name in entry["tables"]})
)


def drawable(
    kind: str, sets: Mapping[str, Collection[str]], domain: str = "ctdg"
) -> list[str]:
    """Return what a domain's study can fill, in the catalogue's order.

    Args:
        kind: ``figure`` or ``table``.
        sets: for each set of runs that the study has, the names of its operators.
        domain: the domain of the study.
    """
    operators = {name for names in sets.values() for name in names}
    return [
        name
        for name, entry in CATALOGUE.items()
        if entry["kind"] == kind
        and entry["domain"] in ("", domain)
        and set(entry["sets"]) <= set(sets)
        and set(entry["operators"]) <= operators
    ]


def needs(name: str) -> tuple[str, ...]:
    """Return the names of the tables that a figure or table is made of."""
    return CATALOGUE[name]["tables"]

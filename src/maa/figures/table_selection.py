"""Power selection: what every fold chooses, and what that does on test."""

import pandas as pd
from matplotlib.figure import Figure

from maa.errors import UserError
from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, by_model, cell_label, label
from maa.figures.rows import matching
from maa.figures.tabular import DASH, number, page, picture

NEEDS = needs("table_selection")
VARIANTS = {
    "leave-one-model-out": "On validation",
    "leaky": "On test",
    "per-cell": "Cell by cell",
}
EFFECTS = {
    "d_auc": "ΔAUC",
    "d_shared_linear": "ΔLinear R²",
    "d_pa": "ΔPA R²",
    "d_margin": "ΔMargin",
}
TITLE = "Power selection. The chosen power and its effects on test"
NOTE = (
    "On validation: three models' validation queries select, the fourth is evaluated. "
    "On test: the same, selecting on the test queries,\nas one must without a "
    "validation split. Cell by cell: each cell selects for itself on validation. "
    "Effects: test, chosen power minus p = 1,\nmean over the held-out model's data "
    "sets; cell-by-cell rows are single cells. Cells: how many selected."
)


def table(
    selection: pd.DataFrame, effects: pd.DataFrame, domain: str = "ctdg"
) -> pd.DataFrame:
    """Return the chosen power of each fold with its mean effects on test.

    Args:
        selection: the table of selection.
        effects: the table of selection effects.
        domain: which domain's folds to take.

    Returns:
        One row a (variant, fold): ``p``, ``feasible`` (number of feasible powers),
        ``powers`` (number of candidates), ``cells`` and the mean effects.

    Raises:
        UserError: if no fold chose anything.
    """
    selection = matching(selection, domain=domain)
    effects = matching(effects, domain=domain)
    if selection.empty:
        raise UserError(
            "the table of selection has no fold; selecting a power takes two backbones "
            "or more and two powers or more"
        )
    keys = ["variant", "fold"]
    counts = selection.groupby(keys).agg(
        feasible=("feasible", "sum"), powers=("p", "size"), cells=("cells", "first")
    )
    chosen = selection[selection["chosen"]].set_index(keys)[["operator", "p"]]
    means = effects.groupby(keys)[list(EFFECTS)].mean()
    rows = chosen.join(counts).join(means).reset_index()
    ranks = {name: rank for rank, name in enumerate(VARIANTS)}
    places = [
        (ranks[str(variant)], *by_model(str(fold)))
        for variant, fold in zip(rows["variant"], rows["fold"], strict=True)
    ]
    order = sorted(range(len(rows)), key=places.__getitem__)
    return rows.iloc[order].reset_index(drop=True)


def display(folds: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it: one row a fold."""
    rows = []
    for row in folds.to_dict("records"):
        fold = str(row["fold"])
        name = cell_label(fold) if "/" in fold else label(fold, BACKBONES)
        shown = {
            "Selection": VARIANTS[row["variant"]],
            "Evaluated on": name,
            "Chosen p": f"{row['p']:.2f}",
            "Feasible": f"{row['feasible']}/{row['powers']}",
            "Cells": str(row["cells"]),
        }
        for key, heading in EFFECTS.items():
            value = row[key]
            shown[heading] = DASH if pd.isna(value) else number(value, 4, sign=True)
        rows.append(shown)
    return pd.DataFrame(rows)


def draw(folds: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(folds), NOTE, lead=2)


def html(folds: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(folds), TITLE, NOTE, lead=2)

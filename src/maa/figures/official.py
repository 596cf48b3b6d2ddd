"""Official forms: changes of four quantities, beside the reference forms' own."""

import pandas as pd
from matplotlib.figure import Figure

from maa.errors import UserError
from maa.figures.bars import MEAN, PANELS, Bars, draw_changes
from maa.figures.catalogue import needs
from maa.figures.labels import model_of
from maa.figures.rows import matching, varying

NEEDS = needs("official")
FORMS = {
    "core": Bars("Reference form", centre=-0.2, width=0.36),
    "official": Bars(
        "Official form",
        centre=0.2,
        width=0.36,
        colour="#f3dcae",
        edge="#c09645",
        hatch="///",
    ),
}
ARMS = {"baseline": "p1.00", "treatment": "p1.10"}
_COLUMNS = [
    "panel",
    "form",
    "model",
    "dataset",
    "baseline_mean",
    "treatment_mean",
    "effect",
]


def table(contrast_cells: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the changes of both forms on the data sets that both were run on.

    Args:
        contrast_cells: the table of contrasts by cell.
        domain: which domain's cells to take.

    Returns:
        One row a (panel, form, model, data set), and one with data set ``mean``.

    Raises:
        UserError: if the two forms share no model on any data set.
    """
    rows = matching(contrast_cells, domain=domain, group=list(FORMS), **ARMS)
    rows = varying(rows).assign(model=rows["backbone"].map(model_of))
    rows = rows.rename(columns={"group": "form"})
    both = rows.groupby(["model", "dataset"])["form"].transform("nunique") == len(FORMS)
    if not both.any():
        raise UserError(
            "no model was run in its reference and its official form on the same data "
            "set; add one to the study's core grid or leave the official forms out"
        )
    parts = []
    for (endpoint, target), panel in PANELS.items():
        part = matching(rows[both], endpoint=endpoint, target=target)
        means = part.groupby(["form", "model"], as_index=False)[_COLUMNS[-3:]].mean()
        parts.append(pd.concat([part, means.assign(dataset=MEAN)]).assign(panel=panel))
    return pd.concat(parts, ignore_index=True)[_COLUMNS]


def draw(changes: pd.DataFrame) -> Figure:
    """Draw one panel a quantity: two bars a model, one point a data set."""
    series = changes.rename(columns={"form": "series"})
    return draw_changes(series, FORMS, "MAA minus softmax")

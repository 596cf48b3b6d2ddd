"""Table 9: MAA against explicit cardinality and other operators, by cell."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import by_model, cell_label, operator_label
from maa.figures.rows import require
from maa.figures.tabular import DASH, MINUS, number, page, picture

NEEDS = needs("table9")
ENDPOINTS = {"auc": "AUC", "shared_linear": "Linear R²"}
BASELINE, MAA = "p1.00", "p1.10"
CPA = ("cpa-additive", "cpa-scaled")
BEST = "cpa-best"
OTHERS = ("nap", "affine", "sigmoid")
TITLE = "Table 9. MAA and other ways to let the mass through"
NOTE = (
    "Changes from softmax attention, each cell the mean of its seeds. Best CPA: the "
    "better variant for each endpoint, as in the paper,\nchosen on the very numbers "
    "shown. NAP, affine-scaled and sigmoid attention are an extension."
)


def table(contrast_cells: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the effect of every operator on every representative cell.

    Args:
        contrast_cells: the table of contrasts by cell.
        domain: which domain's cells to take.

    Returns:
        One row a (endpoint, backbone, data set, operator) with its ``effect`` and
        ``minus_maa``, MAA's effect minus it. The operator ``cpa-best`` is the better
        one of the two variants.

    Raises:
        UserError: if one of MAA and the two variants was not run there.
    """
    wanted = {
        "domain": domain,
        "group": "controls",
        "baseline": BASELINE,
        "endpoint": list(ENDPOINTS),
        "target": "",
    }
    for operator in (MAA, *CPA):
        require(contrast_cells, "Table 9", treatment=operator, **wanted)
    every = [MAA, *CPA, *OTHERS]
    rows = require(contrast_cells, "Table 9", treatment=every, **wanted)
    keys = ["endpoint", "backbone", "dataset"]
    wide = rows.pivot(index=keys, columns="treatment", values="effect")
    wide[BEST] = wide[list(CPA)].max(axis=1)
    wide = wide[[name for name in (MAA, *CPA, BEST, *OTHERS) if name in wide]]
    effects = wide.reset_index().melt(keys, var_name="operator", value_name="effect")
    effects = effects.dropna(subset="effect").reset_index(drop=True)
    maa = wide[MAA].reindex(pd.MultiIndex.from_frame(effects[keys]))
    return effects.assign(minus_maa=maa.to_numpy() - effects["effect"])


def display(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it: one row a cell and endpoint."""
    rows = []
    for endpoint, name in ENDPOINTS.items():
        part = effects[effects["endpoint"] == endpoint]
        part = part.assign(cell=part["backbone"] + "/" + part["dataset"])
        for cell in sorted(set(part["cell"]), key=by_model):
            by_operator = part[part["cell"] == cell].set_index("operator")
            shown = {"Cell": cell_label(cell), "Change of": name}
            for operator, row in by_operator.iterrows():
                shown[_heading(str(operator))] = number(row["effect"], sign=True)
            best = by_operator["minus_maa"].get(BEST, float("nan"))
            shown[f"MAA {MINUS} best CPA"] = number(best, sign=True)
            rows.append(shown)
    return pd.DataFrame(rows).fillna(DASH)


def draw(effects: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(effects), NOTE, lead=2)


def html(effects: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(effects), TITLE, NOTE, lead=2)


def _heading(operator: str) -> str:
    return "Best CPA" if operator == BEST else operator_label(operator)

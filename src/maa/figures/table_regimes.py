"""Attention rows: how predictors of safe conventions fared out of sample."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import DISSIMILARITIES, MODELS, TEXTS, label
from maa.figures.tabular import number, page, picture

NEEDS = needs("table_regimes")
OUTCOMES = ("confirmed", "failed", "abstained", "unresolved")
TITLE = "Where a convention is safe: foretold and seen"
NOTE = (
    "One group a layer: safe if fewer verdicts flip than the limit. Confirmed, failed: "
    "the predicted side of the limit is where the seen rate's 95 % interval lies,\nor "
    "not. Abstained: out of reach, or the predicted interval holds the limit. Always "
    "safe, always unsafe: how many would be confirmed by calling every layer that."
)


def table(regimes: pd.DataFrame) -> pd.DataFrame:
    """Count outcomes, one row a text, model, predictor and dissimilarity.

    Args:
        regimes: every group's predicted and seen regime.
    """
    keys = ["dataset", "backbone", "predictor", "measure"]
    rows = []
    for key, part in regimes.groupby(keys, sort=False):
        told: dict[str, object] = dict(zip(keys, key, strict=True))
        told["groups"] = len(part)
        for outcome in OUTCOMES:
            told[outcome] = int((part["outcome"] == outcome).sum())
        for regime in ("safe", "unsafe"):
            seen = (part["observed_regime"] == regime).sum()
            told[f"always_{regime}"] = int(seen)
        told["error"] = float((part["middle"] - part["observed"]).abs().mean())
        rows.append(told)
    return pd.DataFrame(rows)


def display(counted: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it."""
    rows = [
        {
            "Model": label(row["backbone"], MODELS),
            "Text": label(row["dataset"], TEXTS),
            "Predictor calibrated on": row["predictor"],
            "Dissimilarity": DISSIMILARITIES[row["measure"]],
            "Layers": row["groups"],
            **{outcome.capitalize(): row[outcome] for outcome in OUTCOMES},
            "Always safe": row["always_safe"],
            "Always unsafe": row["always_unsafe"],
            "Error": number(row["error"], 3),
        }
        for row in counted.to_dict("records")
    ]
    return pd.DataFrame(rows)


def draw(counted: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(counted), NOTE, lead=4)


def html(counted: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(counted), TITLE, NOTE, lead=4)

"""Official forms: the aggregate endpoints beside those of the reference forms."""

import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import BACKBONES, label, model_of, ordered
from maa.figures.rows import matching, require
from maa.figures.tabular import number, page, picture, span

NEEDS = needs("table_official")
ENDPOINTS = {
    ("auc", ""): "AUC",
    ("r2_linear_z", "preferential_attachment"): "PA, linear R²",
    ("shared_linear", ""): "Shared linear R²",
    ("context_margin", ""): "Context margin",
}
FORMS = {"core": "reference", "official": "official"}
ARMS = {"baseline": "p1.00", "treatment": "p1.10"}
ALL = "all"
TITLE = "Official forms. MAA against softmax"
NOTE = (
    "Change: MAA minus softmax, mean over the data sets of that form with its 95 % "
    "bootstrap interval. Up: cells with a positive change.\nReference forms: the "
    "author's own, in which attention reads the source's history. Official forms: as "
    "published with each model."
)


def table(contrasts: pd.DataFrame, domain: str = "ctdg") -> pd.DataFrame:
    """Return the endpoints of both forms, by model and over all of them.

    Args:
        contrasts: the table of contrasts.
        domain: which domain's rows to take.

    Returns:
        One row a (endpoint, target, model, form); the model ``all`` is the whole group.

    Raises:
        UserError: if the official forms were not run.
    """
    parts = []
    for endpoint, target in ENDPOINTS:
        wanted = {"domain": domain, "endpoint": endpoint, "target": target, **ARMS}
        official = require(contrasts, "Its table", group="official", **wanted)
        models = {model_of(name) for name in official["backbone"]}
        core = matching(contrasts, group="core", backbone=list(models), **wanted)
        parts += [core, official]
    rows = pd.concat(parts, ignore_index=True)
    named = rows["backbone"].map(model_of).replace("", ALL)
    columns = ["endpoint", "target", "model", "form", "baseline_mean"]
    columns += ["treatment_mean", "change", "low", "high", "improved", "cells"]
    return rows.assign(model=named, form=rows["group"])[columns]


def display(forms: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it: one row an endpoint, model and form."""
    rows = []
    order = [*ordered(set(forms["model"]) - {ALL}, BACKBONES), ALL]
    for (endpoint, target), name in ENDPOINTS.items():
        part = matching(forms, endpoint=endpoint, target=target)
        for model in order:
            for form, word in FORMS.items():
                for row in matching(part, model=model, form=form).to_dict("records"):
                    rows.append(
                        {
                            "Endpoint": name,
                            "Model": label(model, BACKBONES),
                            "Form": word,
                            "Softmax": number(row["baseline_mean"]),
                            "MAA": number(row["treatment_mean"]),
                            "Change": number(row["change"], sign=True),
                            "95 % interval": span(row["low"], row["high"]),
                            "Up": f"{row['improved']}/{row['cells']}",
                        }
                    )
    return pd.DataFrame(rows)


def draw(forms: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(forms), NOTE, lead=3)


def html(forms: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(forms), TITLE, NOTE, lead=3)

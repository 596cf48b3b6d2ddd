"""Which quantities are tested: each domain's aggregate endpoints (paper, Table 3)."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from maa.errors import UserError

VALIDATION = "validation_"


@dataclass(frozen=True)
class Endpoint:
    """One aggregate quantity of a run.

    Attributes:
        name: its key in ``aggregate.parquet``.
        label: its name for readers.
        measure: the measure it is made of.
        targets: ``""`` for a plain measure; ``"informative"`` for the mean over the
            targets that are not constant; ``"all"`` for the mean over all targets.
        primary: whether it belongs to the family that Holm corrects over.
    """

    name: str
    label: str
    measure: str
    targets: str = ""
    primary: bool = True


def _recovery(name: str, label: str, measure: str) -> tuple[Endpoint, Endpoint]:
    return (
        Endpoint(name, label, measure, "informative"),
        Endpoint(f"{name}_all", f"{label}, all targets", measure, "all", False),
    )


def _errors(
    measure: str, label: str, suffix: str = "", primary: bool = False
) -> Iterator[Endpoint]:
    """Forecast errors at the steps that all windows predict; less is better."""
    for step in (3, 6, 12):
        name = f"{measure}_{step}{suffix}"
        yield Endpoint(name, f"{label}, step {step}", name, primary=primary)


ENDPOINTS: dict[str, tuple[Endpoint, ...]] = {
    "ctdg": (
        Endpoint("auc", "AUC", "auc_unseen"),
        *_recovery("shared_extratrees", "Shared ExtraTrees R²", "r2_extratrees_z"),
        *_recovery("beyond_extratrees", "Beyond ExtraTrees R²", "r2_extratrees_zc"),
        *_recovery("shared_linear", "Shared linear R²", "r2_linear_z"),
        *_recovery("beyond_linear", "Beyond linear R²", "r2_linear_zc"),
        Endpoint("context_margin", "Context margin", "context_margin"),
        Endpoint("auc_random", "AUC, any negatives", "auc_random", primary=False),
        Endpoint(
            "auc_historical",
            "AUC, historical negatives",
            "auc_historical",
            primary=False,
        ),
        Endpoint(
            "context_margin_absolute",
            "Absolute context margin",
            "context_margin_absolute",
            primary=False,
        ),
        Endpoint(
            "context_margin_probability",
            "Context margin, probability",
            "context_margin_probability",
            primary=False,
        ),
    ),
    "traffic": (
        *_errors("mae", "MAE", primary=True),
        *_errors("rmse", "RMSE", primary=True),
        *_errors("mape", "MAPE", primary=True),
        *_recovery("shared_linear", "Shared linear R²", "r2_linear_z"),
        *_recovery("beyond_linear", "Beyond linear R²", "r2_linear_zc"),
        Endpoint("history_margin", "History margin", "history_margin"),
        *_errors("mae", "MAE, best epoch", suffix="_best"),
        *_errors("rmse", "RMSE, best epoch", suffix="_best"),
        *_errors("mape", "MAPE, best epoch", suffix="_best"),
    ),
}


def endpoints_of(domain: str) -> tuple[Endpoint, ...]:
    """Return a domain's endpoints, in the order of its table.

    Raises:
        UserError: if none are stated for the domain.
    """
    if domain not in ENDPOINTS:
        raise UserError(
            f"no endpoints are stated for the domain {domain!r}; expected one of "
            f"{sorted(ENDPOINTS)}, so add them to maa.inference.endpoints"
        )
    return ENDPOINTS[domain]


def is_validation(measures: pd.Series) -> pd.Series:
    """Tell which measures were taken on validation queries: they choose, never test."""
    return measures.str.startswith(VALIDATION)


def label_of(domain: str, endpoint: str, target: str = "") -> str:
    """Return a quantity's name for readers.

    Args:
        domain: whose endpoints to look among.
        endpoint: an endpoint's name, or a probe's measure such as ``r2_linear_z``.
        target: the statistic, if the quantity is one under a probe.

    Raises:
        UserError: if the domain states no endpoints, or there is no such endpoint.
    """
    if target:
        _, probe, inputs = endpoint.split("_")
        probe = probe.replace("extratrees", "ExtraTrees")
        return f"{target.replace('_', ' ').capitalize()}, {probe} R² from {inputs}"
    labels = {stated.name: stated.label for stated in endpoints_of(domain)}
    if endpoint not in labels:
        raise UserError(
            f"the domain {domain!r} has no endpoint {endpoint!r}; expected one of "
            f"{sorted(labels)}"
        )
    return labels[endpoint]

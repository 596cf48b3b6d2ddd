"""Which quantities are tested: each domain's aggregate endpoints (paper, Table 3)."""

from dataclasses import dataclass

from maa.errors import UserError


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
    )
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

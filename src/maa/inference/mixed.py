"""A mixed model beside the signed-rank test: does the effect outlast other choices?

Twelve cells share their backbones and data sets, which the signed-rank test cannot see.
The model takes the paired differences d of single runs,

    d ~ 1 + (1 | backbone) + (1 | data set) + (1 | backbone and data set) + residual,

by restricted maximum likelihood: its intercept is the effect, and its standard error
holds how much the effect varies between backbones, data sets and cells. Differences are
modelled, and not the values of both arms, because that is the model of both arms with
an intercept for each pair of runs and an operator effect that varies by backbone, data
set and cell: the pairs' intercepts cancel. Random intercepts alone in a model of both
arms would leave the operator effect with a standard error of replicates only.

With three or four levels a factor's variance is poorly known, and the normal interval
of the estimate is too narrow: read it as a lower bound of the doubt.
"""

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy import stats

from maa.inference.cells import QUANTITY, cell_effects
from maa.inference.significance import wilcoxon_p

FACTORS = ("backbone", "dataset", "cell")
_NEGLIGIBLE = 1e-4  # of the total variance: at the boundary, for an optimiser
_EMPTY = {
    **dict.fromkeys(("estimate", "se", "low", "high", "z", "p", "p_wilcoxon"), np.nan),
    **dict.fromkeys([f"var_{name}" for name in (*FACTORS, "residual")], np.nan),
    **{"cells": 0, "runs": 0, "converged": False, "singular": False},
}


def mixed_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Fit the model to every quantity.

    Args:
        runs: what `maa.inference.cells.run_effects` returns, of the core.

    Returns:
        One row a (domain, endpoint, target): what `fit_effect` returns, and
        ``p_wilcoxon``, the exact p over cells. A quantity that is constant in all
        cells has no values, and a ``note`` that says so.
    """
    rows = []
    for key, part in runs.groupby(QUANTITY):
        name = dict(zip(QUANTITY, key, strict=True))
        kept = part[~part["constant"]]
        if kept.empty:
            rows.append({**name, **_EMPTY, "note": "constant on all data"})
            continue
        cells = cell_effects(kept)["effect"].to_numpy()
        rows.append({**name, **fit_effect(kept), "p_wilcoxon": wilcoxon_p(cells)})
    columns = [*QUANTITY, *_EMPTY, "note"]
    return pd.DataFrame(rows, columns=columns)


def fit_effect(runs: pd.DataFrame) -> dict[str, Any]:
    """Fit the model to one quantity.

    Args:
        runs: one row a run: ``backbone``, ``dataset``, ``effect``.

    Returns:
        ``estimate``, ``se``, the normal 95 % interval ``low`` to ``high``, ``z`` and
        the two-sided ``p``; the variances ``var_backbone``, ``var_dataset``,
        ``var_cell`` (NaN for a factor that cannot be told apart from another) and
        ``var_residual``; numbers of ``cells`` and ``runs``; ``converged``, whether the
        optimiser says so; ``singular``, whether a variance is at zero; and a ``note``
        that names what is odd, or nothing.
    """
    cell = runs["backbone"] + "/" + runs["dataset"]
    data = runs[["backbone", "dataset", "effect"]].assign(cell=cell)
    found = {
        **_EMPTY,
        "cells": cell.nunique(),
        "runs": len(data),
        "estimate": data["effect"].mean(),
    }
    del found["p_wilcoxon"]
    scale = float(data["effect"].std()) if len(data) > 1 else 0.0
    if scale <= 1e-12 * max(1.0, abs(found["estimate"])):
        return found | {"singular": True, "note": "the effect does not vary"}
    data["effect"] /= scale
    factors = _factors(data)
    fit = _fit(data, factors) if factors else None
    fitted = _mean_only(data, factors) if fit is None else _read(fit, factors)
    return found | _unscale(fitted, scale)


def _factors(data: pd.DataFrame) -> list[str]:
    """Return the factors whose variances the data can tell apart."""
    factors = [name for name in ("backbone", "dataset") if data[name].nunique() > 1]
    if len(factors) == 2 and data["cell"].nunique() < len(data):
        factors.append("cell")
    return [name for name in factors if data[name].nunique() < len(data)]


def _fit(data: pd.DataFrame, factors: list[str]) -> Any:
    """Fit by restricted maximum likelihood; None if no fit with a factor succeeds.

    The likelihood cannot be computed where a variance is exactly zero. If the search
    walks there, each factor is left out in turn, and the likeliest of these fits kept.
    """
    model = smf.mixedlm(
        "effect ~ 1",
        data,
        groups=np.ones(len(data)),
        vc_formula={name: f"0 + C({name})" for name in factors},
    )
    with warnings.catch_warnings(), suppress(np.linalg.LinAlgError):
        warnings.simplefilter("ignore")  # what they say is in the columns
        # Simplex search: gradients of this likelihood mislead at zero variances.
        return model.fit(reml=True, method="nm", maxiter=5000)
    fewer = [[name for name in factors if name != out] for out in factors]
    fits = [_fit(data, names) for names in fewer if names]
    return max(
        (fit for fit in fits if fit is not None), key=lambda fit: fit.llf, default=None
    )


def _read(fit: Any, factors: list[str]) -> dict[str, Any]:
    """Read a fit's numbers; a factor that was left out has no variance."""
    variances = dict.fromkeys(factors, 0.0)
    variances |= dict(zip(fit.model.exog_vc.names, map(float, fit.vcomp), strict=True))
    total = sum(variances.values()) + fit.scale
    zero = [name for name in factors if variances[name] < _NEGLIGIBLE * total]
    notes = [f"no variance between levels of {', '.join(zero)}"] if zero else []
    if not fit.converged:
        notes.append("the optimiser did not converge")
    return {
        "estimate": float(fit.fe_params.iloc[0]),
        "se": float(fit.bse_fe.iloc[0]),
        **{f"var_{name}": value for name, value in variances.items()},
        "var_residual": float(fit.scale),
        "converged": bool(fit.converged),
        "singular": bool(zero),
        "note": "; ".join(notes),
    }


def _mean_only(data: pd.DataFrame, factors: list[str]) -> dict[str, Any]:
    """Return the mean, with the spread of runs as its doubt: no factor varies."""
    note = "no factor has repeated levels"
    if factors:
        note = f"no variance between levels of {', '.join(factors)}"
    return {
        "estimate": float(data["effect"].mean()),
        "se": float(stats.sem(data["effect"])),
        **{f"var_{name}": 0.0 for name in factors},
        "var_residual": float(data["effect"].var()),
        "converged": True,
        "singular": bool(factors),
        "note": note,
    }


def _unscale(fitted: dict[str, Any], scale: float) -> dict[str, Any]:
    made = dict(fitted)
    for name in ("estimate", "se"):
        made[name] *= scale
    for name in [name for name in made if name.startswith("var_")]:
        made[name] *= scale**2
    made["z"] = made["estimate"] / made["se"]
    made["p"] = float(2 * stats.norm.sf(abs(made["z"])))
    half = float(stats.norm.ppf(0.975)) * made["se"]
    return made | {"low": made["estimate"] - half, "high": made["estimate"] + half}

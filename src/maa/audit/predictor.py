"""Where a convention is safe, predicted before it is tried.

The question, of a *group* of heads (those of a layer, or all of a model): do so few
verdicts on which of two heads is closer depend on the sink's convention that it need
not be reported? Papamichalis and Ruane (arXiv 2608.14712) freeze a predictor of such
regimes and test it out of sample; its formula is not known. This is ours, fixed before
any of its results were seen.

*What is looked at.* Of the sinks' shares alone: the mean and the standard deviation,
between the group's heads, of their logits, and the number of keys. Never a
dissimilarity or a content.

*The index* is `maa.attention.rows.triples.model_free_rates` at these three: how often
verdicts flip among rows that no model made, on a grid that is drawn once (`Curve`).

*The prediction* is the index itself (``model_free``), and its interval the range of the
index over contents from spiky to even. Or (``calibrate``) it is an isotonic regression
of seen rates on the index; its interval is what groups that were left out of the
regression missed it by, on the scale asin(sqrt(rate)), at the rank that gives the
coverage to groups that are exchangeable with those. Few groups attain less, and it is
said how much.

*The regime* is ``safe`` if the interval lies below the limit, ``unsafe`` if it lies
above, and else ``abstain``; also where the covariates lie outside of the grid, or
outside of the convex hull of the calibration's, or the rows are shorter or longer than
those by more than a factor (``reach``).

*The score.* The seen rate has an interval too, by bootstrap over passages. A prediction
is ``confirmed`` if that lies on the predicted side of the limit, ``failed`` if it lies
on the other, ``unresolved`` if the limit is within; abstentions count as such. Beside
them stands what calling every group safe, or every group unsafe, would have had
confirmed: a predictor that gains nothing over these has predicted nothing.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator
from scipy.spatial import ConvexHull, QhullError
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from maa.attention.rows.dissimilarity import DISSIMILARITIES
from maa.attention.rows.pairwise import all_flips, pairwise
from maa.attention.rows.split import logit_mass
from maa.attention.rows.triples import model_free_rates
from maa.audit.capture import Captured, captured, need_sinks
from maa.audit.models import Pretrained
from maa.errors import UserError

SCOPES = ("layer", "all")
GROUP = ["model", "group", "measure"]
COVARIATES = ["logit", "spread", "keys"]
Floats = NDArray[np.float64]


def flip_cells(
    pretrained: Pretrained,
    texts: Sequence[Sequence[int]],
    sinks: str = "first",
    scope: str = "layer",
    rows: int = 8,
    first_row: int = 8,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Measure how often verdicts flip in each group of heads, and what goes with it.

    Rates are those of all triples of the group, not of a sample.

    Args:
        pretrained: the model.
        texts: passages as tokens.
        sinks: which tokens are sinks: ``first`` or ``special``.
        scope: heads of a ``layer`` are a group, or ``all`` heads are one.
        rows: queries that are drawn of a passage.
        first_row: queries before it are not drawn.
        seed: of the draws.
        report: takes one line a passage.

    Returns:
        One row a passage, group and dissimilarity, means over rows: ``model``,
        ``text``, ``group``, ``measure``, ``logit`` and ``spread`` (mean and standard
        deviation, between heads, of the logits of the sinks' shares), ``keys``
        (geometric mean), ``rate``.

    Raises:
        UserError: if there are no sinks, or fewer than three heads in a group.
    """
    need_sinks(sinks)
    if scope not in SCOPES:
        raise UserError(f"a scope is {' or '.join(SCOPES)}, got {scope!r}")
    depth, width = pretrained.shape
    size = width if scope == "layer" else depth * width
    if size < 3:
        raise UserError(
            f"a group has {size} heads, and a verdict takes three; take scope all or a "
            "larger model"
        )
    names = [f"layer {i}" for i in range(depth)] if scope == "layer" else ["all"]
    generator = np.random.default_rng(seed)
    seen = captured(pretrained, texts, sinks, generator, rows, first_row, report=report)
    found = [_cells(pretrained.name, one, names) for one in seen]
    return pd.concat(found, ignore_index=True)


def _cells(model: str, one: Captured, names: Sequence[str]) -> pd.DataFrame:
    depth, width, rows, keys = one.logits.shape
    groups = one.logits.reshape(len(names), depth * width // len(names), rows, keys)
    held = logit_mass(groups, one.sinks, one.support).double()
    seen = (one.content | one.sinks if one.support is None else one.support).sum(-1)
    told = {
        "model": model,
        "text": one.text,
        "group": names,
        "logit": held.mean((1, 2)).cpu().numpy(),
        "spread": held.std(1).mean(-1).cpu().numpy(),
        "keys": float(seen.double().log().mean().exp()),
    }
    by_row = groups.transpose(1, 2)
    found = []
    for measure in DISSIMILARITIES:
        kept = pairwise(measure, by_row, one.support)
        dropped = pairwise(measure, by_row, one.content)
        rate = all_flips(kept, dropped).mean(-1).cpu().numpy()
        found.append(pd.DataFrame(told | {"rate": rate}).assign(measure=measure))
    table = pd.concat(found, ignore_index=True)
    return table[["model", "text", "group", "measure", *COVARIATES, "rate"]]


@dataclass(frozen=True)
class Curve:
    """Model-free rates on a grid of logits, spreads and numbers of keys.

    Attributes:
        logits: means of the logits of the sinks' shares, ascending.
        spreads: their standard deviations, ascending.
        keys: numbers of keys, ascending.
        low: lowest rate over contents, by dissimilarity, (logits, spreads, keys).
        middle: rate of the content in the middle.
        high: highest rate.
    """

    logits: tuple[float, ...]
    spreads: tuple[float, ...]
    keys: tuple[int, ...]
    low: Mapping[str, Floats]
    middle: Mapping[str, Floats]
    high: Mapping[str, Floats]

    def at(self, rates: Mapping[str, Floats], measure: str, where: Floats) -> Floats:
        """Interpolate rates at (N, 3) covariates; beyond the grid its edge is taken."""
        axes = [np.array(self.logits), np.array(self.spreads), np.log(self.keys)]
        points = where.copy()
        points[:, 2] = np.log(points[:, 2])
        for column, axis in enumerate(axes):
            points[:, column] = points[:, column].clip(axis[0], axis[-1])
        grid = RegularGridInterpolator(axes, np.asarray(rates[measure]))
        return np.asarray(grid(points), dtype=np.float64)


@dataclass(frozen=True)
class Grid:
    """What a curve is drawn on.

    Attributes:
        logits: means of the logits of the sinks' shares: from .03 % to 99.8 %.
        spreads: their standard deviations.
        keys: numbers of keys.
        concentrations: of the contents' Dirichlet distributions, from spiky to even;
            the middle one is that of `model_free_rates`.
        triples: triples a point; all points share their draws.
        seed: of the draws.
    """

    logits: tuple[float, ...] = (-8, -6, -4.5, -3, -1.5, 0, 1.5, 3, 4.5, 6)
    spreads: tuple[float, ...] = (0, 0.25, 0.5, 1, 1.5, 2.5, 4)
    keys: tuple[int, ...] = (16, 64, 256)
    concentrations: tuple[float, float, float] = (0.1, 0.5, 2.0)
    triples: int = 2000
    seed: int = 0


def draw_curve(grid: Grid | None = None) -> Curve:
    """Draw the model-free rates of a grid.

    Args:
        grid: None: the default, some minutes of one core.
    """
    g = grid or Grid()
    axes = (g.concentrations, g.logits, g.spreads, g.keys)
    shape = tuple(len(axis) for axis in axes)
    rates = {measure: np.empty(shape) for measure in DISSIMILARITIES}
    points = zip(np.ndindex(shape), itertools.product(*axes), strict=True)
    for index, (concentration, logit, spread, keys) in points:
        generator = np.random.default_rng(g.seed)
        found = model_free_rates(
            float(expit(logit)), spread, generator, int(keys), concentration, g.triples
        )
        for measure, rate in found.items():
            rates[measure][index] = rate
    return Curve(
        g.logits,
        g.spreads,
        g.keys,
        {measure: values.min(0) for measure, values in rates.items()},
        {measure: values[1] for measure, values in rates.items()},
        {measure: values.max(0) for measure, values in rates.items()},
    )


@dataclass(frozen=True)
class Rule:
    """When a convention counts as safe, and when a prediction is made.

    Attributes:
        limit: rate of flips below which it is safe.
        coverage: share of groups whose rate the interval of a calibrated prediction is
            to hold.
        reach: factor by which rows may be shorter or longer than the calibration's.
    """

    limit: float = 0.1
    coverage: float = 0.9
    reach: float = 2.0


@dataclass(frozen=True)
class Fit:
    """A monotone map from index to rate, and the width of its interval.

    Attributes:
        index: knots, ascending.
        rate: at the knots; linear between them, constant beyond.
        width: half of the interval on the scale asin(sqrt(rate)).
        attained: coverage that the number of calibration groups allows.
    """

    index: tuple[float, ...]
    rate: tuple[float, ...]
    width: float
    attained: float


@dataclass(frozen=True)
class Frozen:
    """A predictor that no longer learns.

    Attributes:
        source: what it was calibrated on, in words, or ``model-free``.
        rule: limit, coverage and reach.
        curve: the index.
        edges: half-planes (a, b, c) with a logit + b spread + c <= 0 where it predicts.
        keys: least and most keys where it predicts.
        fits: by dissimilarity; empty: the index itself is the prediction.
    """

    source: str
    rule: Rule
    curve: Curve
    edges: tuple[tuple[float, float, float], ...]
    keys: tuple[float, float]
    fits: Mapping[str, Fit] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return everything as what `maa.files.write_json` takes."""
        found = asdict(self)
        for name in ("low", "middle", "high"):
            rates = found["curve"][name]
            found["curve"][name] = {key: rates[key].tolist() for key in rates}
        return found

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Frozen":
        """Return the predictor that `to_json` wrote.

        Raises:
            UserError: if that is not one.
        """
        try:
            curve = dict(value["curve"])
            for name in ("low", "middle", "high"):
                rates = curve[name]
                curve[name] = {key: np.array(rates[key]) for key in rates}
            for name in ("logits", "spreads", "keys"):
                curve[name] = tuple(curve[name])
            fits = {
                name: Fit(**one | {key: tuple(one[key]) for key in ("index", "rate")})
                for name, one in value["fits"].items()
            }
            return cls(
                value["source"],
                Rule(**value["rule"]),
                Curve(**curve),
                tuple((a, b, c) for a, b, c in value["edges"]),
                (value["keys"][0], value["keys"][1]),
                fits,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"this is no frozen predictor ({error}); freeze one again"
            ) from error


def model_free(curve: Curve, rule: Rule | None = None) -> Frozen:
    """Freeze a predictor to which no model has contributed anything."""
    (low, high), (least, most) = (
        (axis[0], axis[-1]) for axis in (curve.logits, curve.spreads)
    )
    edges = ((-1.0, 0.0, low), (1.0, 0.0, -high), (0.0, -1.0, least), (0.0, 1.0, -most))
    chosen = rule or Rule()
    reach = curve.keys[0] / chosen.reach, curve.keys[-1] * chosen.reach
    return Frozen("model-free", chosen, curve, edges, reach)


def calibrate(
    cells: pd.DataFrame, curve: Curve, source: str, rule: Rule | None = None
) -> Frozen:
    """Freeze a predictor that was fitted to seen rates.

    Args:
        cells: what `flip_cells` returned, of one model or several, one below the other.
        curve: the index.
        source: what the cells are, in words.
        rule: None: the default.

    Raises:
        UserError: with fewer than three groups, or groups whose covariates have no
            range.
    """
    chosen = rule or Rule()
    groups = cells.groupby(["model", "group"]).ngroups
    if groups < 3:
        raise UserError(
            f"a calibration takes three groups of heads, and there are {groups}; take "
            "the layers of a model, or several models"
        )
    try:
        hull = ConvexHull(cells[["logit", "spread"]].to_numpy())
    except (QhullError, ValueError) as error:
        raise UserError(
            "the calibration's sinks do not vary, in mean or in spread; take more "
            "groups or passages"
        ) from error
    edges = tuple((float(a), float(b), float(c)) for a, b, c in hull.equations)
    keys = cells["keys"].min() / chosen.reach, cells["keys"].max() * chosen.reach
    fits = {
        str(measure): _fit(table, curve, str(measure), chosen.coverage)
        for measure, table in cells.groupby("measure")
    }
    return Frozen(source, chosen, curve, edges, (float(keys[0]), float(keys[1])), fits)


def _fit(cells: pd.DataFrame, curve: Curve, measure: str, coverage: float) -> Fit:
    index = curve.at(curve.middle, measure, cells[COVARIATES].to_numpy(np.float64))
    rate = cells["rate"].to_numpy()
    group = cells.groupby(["model", "group"]).ngroup().to_numpy()
    missed = []
    for one in np.unique(group):
        out = group == one
        told = _isotonic(index[~out], rate[~out]).predict(index[out]).mean()
        missed.append(abs(_stable(rate[out].mean()) - _stable(told)))
    rank = min(len(missed), math.ceil((len(missed) + 1) * coverage))
    whole = _isotonic(index, rate)
    return Fit(
        tuple(map(float, whole.X_thresholds_)),
        tuple(map(float, whole.y_thresholds_)),
        float(np.sort(missed)[rank - 1]),
        rank / (len(missed) + 1),
    )


def _isotonic(index: Floats, rate: Floats) -> IsotonicRegression:
    model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    return model.fit(index, rate)


def _stable(rate: Any) -> Any:
    return np.arcsin(np.sqrt(np.clip(rate, 0, 1)))


def predict(frozen: Frozen, cells: pd.DataFrame) -> pd.DataFrame:
    """Predict the regime of each group from its sinks' shares.

    The cells' rates are not read.

    Args:
        frozen: the predictor.
        cells: what `flip_cells` returned; ``rate`` may be missing.

    Returns:
        One row a model, group and dissimilarity: means of ``logit``, ``spread`` and
        ``keys`` over passages, ``low``, ``middle`` and ``high`` of the predicted rate,
        ``regime`` (``safe``, ``unsafe`` or ``abstain``) and ``reason`` of an abstention
        (``outside`` or ``straddles``, else empty).

    Raises:
        UserError: for a dissimilarity that the predictor does not know.
    """
    known = set(frozen.fits or frozen.curve.middle)
    if unknown := set(cells["measure"]) - known:
        raise UserError(
            f"the predictor knows {', '.join(sorted(known))} and is asked for "
            f"{', '.join(sorted(unknown))}"
        )
    means = cells.groupby(GROUP, sort=False)[COVARIATES].mean().reset_index()
    tables = [
        _predicted(frozen, str(measure), table.copy())
        for measure, table in means.groupby("measure", sort=False)
    ]
    return pd.concat(tables, ignore_index=True)


def _predicted(frozen: Frozen, measure: str, table: pd.DataFrame) -> pd.DataFrame:
    where = table[COVARIATES].to_numpy(np.float64)
    curve, limit = frozen.curve, frozen.rule.limit
    if frozen.fits:
        fit = frozen.fits[measure]
        index = curve.at(curve.middle, measure, where)
        middle = np.interp(index, fit.index, fit.rate)
        ends = (_stable(middle) + side * fit.width for side in (-1, 1))
        low, high = (np.sin(end.clip(0, np.pi / 2)) ** 2 for end in ends)
    else:
        rates = (curve.low, curve.middle, curve.high)
        low, middle, high = (curve.at(rate, measure, where) for rate in rates)
    inside = _inside(frozen, where)
    regime = np.select([high < limit, low >= limit], ["safe", "unsafe"], "abstain")
    reason = np.where(regime == "abstain", "straddles", "")
    return table.assign(
        low=low,
        middle=middle,
        high=high,
        regime=np.where(inside, regime, "abstain"),
        reason=np.where(inside, reason, "outside"),
    )


def _inside(frozen: Frozen, where: Floats) -> NDArray[np.bool_]:
    a, b, c = np.array(frozen.edges).T
    beyond = where[:, :1] * a + where[:, 1:2] * b + c
    least, most = frozen.keys
    fits = (where[:, 2] >= least) & (where[:, 2] <= most)
    return np.asarray((beyond <= 1e-9).all(1) & fits)


def score(
    frozen: Frozen,
    cells: pd.DataFrame,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Predict, and compare with what is seen.

    Args:
        frozen: the predictor.
        cells: what `flip_cells` returned, of rows that the predictor has not seen.
        level: of the seen rates' percentile intervals.
        draws: of passages, with replacement.
        seed: of these draws.

    Returns:
        What `predict` returns, with ``observed``, ``observed_low``, ``observed_high``,
        ``observed_regime`` (``safe``, ``unsafe``, or ``unclear`` if the limit is within
        the interval) and ``outcome``: ``confirmed``, ``failed``, ``abstained`` or
        ``unresolved``.

    Raises:
        UserError: with a single passage, which has no interval.
    """
    if (cells.groupby(GROUP)["text"].nunique() < 2).any():
        raise UserError("a rate's interval takes two passages; take more")
    generator = np.random.default_rng(seed)
    seen = []
    for key, table in cells.groupby(GROUP, sort=False):
        rates = table["rate"].to_numpy()
        picks = generator.integers(len(rates), size=(draws, len(rates)))
        ends = np.quantile(rates[picks].mean(1), [(1 - level) / 2, (1 + level) / 2])
        seen.append((*key, rates.mean(), *ends))
    columns = [*GROUP, "observed", "observed_low", "observed_high"]
    observed = pd.DataFrame(seen, columns=columns)
    found = predict(frozen, cells).merge(observed, on=GROUP, validate="1:1")
    limit = frozen.rule.limit
    below, above = found["observed_high"] < limit, found["observed_low"] >= limit
    found["observed_regime"] = np.select([below, above], ["safe", "unsafe"], "unclear")
    found["outcome"] = np.select(
        [
            found["regime"] == "abstain",
            found["observed_regime"] == "unclear",
            found["regime"] == found["observed_regime"],
        ],
        ["abstained", "unresolved", "confirmed"],
        "failed",
    )
    return found


def tally(scored: pd.DataFrame) -> pd.DataFrame:
    """Count outcomes, one row a model and dissimilarity.

    Returns:
        ``groups``, ``confirmed``, ``failed``, ``abstained``, ``unresolved``;
        ``always_safe`` and ``always_unsafe``: how many would be confirmed if every
        group were called that; ``covered``: share of the seen rates within the
        predicted interval; ``error``: mean absolute difference from the prediction;
        the last two of groups that are not outside.
    """
    found = []
    for (model, measure), table in scored.groupby(["model", "measure"], sort=False):
        inside = table[table["reason"] != "outside"]
        covered = inside["observed"].between(inside["low"], inside["high"])
        names = ("confirmed", "failed", "abstained", "unresolved")
        seen = table["observed_regime"]
        found.append(
            {
                "model": model,
                "measure": measure,
                "groups": len(table),
                **{name: int((table["outcome"] == name).sum()) for name in names},
                "always_safe": int((seen == "safe").sum()),
                "always_unsafe": int((seen == "unsafe").sum()),
                "covered": float(covered.mean()),
                "error": float((inside["middle"] - inside["observed"]).abs().mean()),
            }
        )
    return pd.DataFrame(found)

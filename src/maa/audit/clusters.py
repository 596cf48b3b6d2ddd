"""Heads grouped by how alike their rows are, with and without the sinks.

Clark et al. ("What Does BERT Look At?", BlackboxNLP 2019) sum Jensen-Shannon
divergences between every two heads over rows and texts, and show the heads in two
dimensions. Papamichalis and Ruane (arXiv 2608.14712) run that again and find that the
most prominent structure depends on the convention. Both runs are here, for that
dissimilarity (``js-smoothed``) and the others of `maa.attention.rows.pairwise`;
Aitchison's distance without the sinks is the content's.

Rules, where neither paper's are known to us: means over rows instead of sums (a
factor); classical scaling, whose first axis is the leading one, in place of an
iterative embedding, whose axes have no order; k-means in as many classical coordinates
as clusters are allowed, with the number of clusters of the best silhouette (linkages of
the distances are there too; on real heads they split off single ones). How far two
conventions agree is to be read beside how far two halves of the passages agree under
one convention: more cannot be expected.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.manifold import ClassicalMDS
from sklearn.metrics import adjusted_rand_score, silhouette_score

from maa.attention.rows.pairwise import PAIRWISE, pairwise
from maa.attention.rows.split import logit_mass
from maa.audit.capture import Captured, captured, need_sinks
from maa.audit.chance import by_columns, by_differences, orders
from maa.audit.models import Pretrained
from maa.errors import UserError

CONVENTIONS = ("keep", "drop")
METHODS = ("kmeans", "average", "complete")
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Kind(NamedTuple):
    """A dissimilarity under a convention."""

    measure: str
    convention: str


@dataclass(frozen=True)
class HeadDistances:
    """Mean dissimilarities between every two heads of a model.

    Attributes:
        heads: ``layer``, ``head`` and ``share``, the mean that the sinks hold, (H).
        halves: for each kind the means over the even and over the odd passages,
            (2, H, H); of a single passage, (1, H, H).
        rows: rows of each half.
    """

    heads: pd.DataFrame
    halves: dict[Kind, Floats]
    rows: tuple[int, ...]

    def mean(self, kind: Kind) -> Floats:
        """Return the means over all rows, (H, H)."""
        return np.average(self.halves[kind], axis=0, weights=self.rows)


def head_distances(
    pretrained: Pretrained,
    texts: Sequence[Sequence[int]],
    sinks: str = "first",
    measures: Sequence[str] = tuple(PAIRWISE),
    rows: int = 8,
    first_row: int = 8,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> HeadDistances:
    """Measure dissimilarities between every two heads, with and without the sinks.

    Memory is that of one passage's rows of all heads, and of a few matrices of heads.

    Args:
        pretrained: the model.
        texts: passages as tokens.
        sinks: which tokens are sinks: ``first`` or ``special``.
        measures: of `maa.attention.rows.pairwise.PAIRWISE`.
        rows: queries that are drawn of a passage.
        first_row: queries before it are not drawn.
        seed: of the draws.
        report: takes one line a passage.

    Raises:
        UserError: if there are no sinks, or a measure is not known.
    """
    need_sinks(sinks)
    if unknown := set(measures) - set(PAIRWISE):
        raise UserError(
            f"no dissimilarity is called {', '.join(sorted(unknown))}; there are "
            f"{', '.join(PAIRWISE)}"
        )
    generator = np.random.default_rng(seed)
    seen = captured(pretrained, texts, sinks, generator, rows, first_row, report=report)
    sums: list[dict[Kind, Floats]] = [{}, {}]
    count, held = [0, 0], torch.zeros(pretrained.shape, dtype=torch.float64)
    for one in seen:
        half = one.text % 2
        count[half] += len(one.queries)
        holds = logit_mass(one.logits, one.sinks, one.support).sigmoid()
        held += holds.double().sum(-1).cpu()
        for kind, total in _summed(one, measures):
            sums[half][kind] = total + sums[half].get(kind, 0.0)
    used = [half for half in (0, 1) if count[half]]
    halves = {
        kind: np.stack([sums[half][kind] / count[half] for half in used])
        for kind in sums[0]
    }
    layer, head = np.indices(pretrained.shape).reshape(2, -1)
    share = (held / sum(count)).flatten().numpy()
    heads = pd.DataFrame({"layer": layer, "head": head, "share": share})
    return HeadDistances(heads, halves, tuple(count[half] for half in used))


def _summed(one: Captured, measures: Sequence[str]) -> Iterator[tuple[Kind, Floats]]:
    """Yield each kind's sum over a passage's rows, (H, H)."""
    rows = one.logits.flatten(0, 1).transpose(0, 1)
    for convention, support in (("keep", one.support), ("drop", one.content)):
        for measure in measures:
            found = pairwise(measure, rows, support).sum(0)
            yield Kind(measure, convention), found.cpu().numpy()


@dataclass(frozen=True)
class Layout:
    """Heads in two dimensions and in clusters.

    Attributes:
        points: coordinates, (H, 2), the leading one first.
        fit: squared correlation of the points' distances with the heads'.
        labels: cluster of each head, (H,).
        silhouette: mean of the heads', in the clusters that were chosen.
    """

    points: Floats
    fit: float
    labels: Integers
    silhouette: float

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(np.unique(self.labels))


def lay_out(matrix: Floats, most: int = 8, method: str = "kmeans") -> Layout:
    """Embed heads and cluster them.

    Args:
        matrix: distances, (H, H); H is at least 3.
        most: the most clusters; the best silhouette of 2 to ``most`` decides.
        method: of clustering, one of `METHODS`.

    Raises:
        UserError: if all heads are at distance 0, or the method is not known.
    """
    if not matrix.max() > 0:
        raise UserError("all heads are alike: there is nothing to cluster")
    points = coordinates(matrix, 2)
    fit = np.corrcoef(pdist(points), squareform(matrix, checks=False))[0, 1] ** 2
    found = []
    for count in range(2, min(most, len(matrix) - 1) + 1):
        labels = labelled(matrix, count, most, method)
        score = silhouette_score(matrix, labels, metric="precomputed")
        found.append((float(score), labels))
    silhouette, labels = max(found, key=lambda pair: pair[0])
    return Layout(points, float(fit), labels, silhouette)


def coordinates(matrix: Floats, count: int) -> Floats:
    """Return classical coordinates, (H, count), the leading one first.

    Distances that are not Euclid's have axes of negative size; their coordinates are 0.
    """
    with np.errstate(invalid="ignore"):
        points = ClassicalMDS(count, metric="precomputed").fit_transform(matrix)
    return np.asarray(np.nan_to_num(points), dtype=np.float64)


def labelled(matrix: Floats, count: int, most: int, method: str) -> Integers:
    """Return the cluster of each head, of ``count``, (H,).

    Raises:
        UserError: if the method is not known.
    """
    if method not in METHODS:
        raise UserError(f"heads are clustered by {', '.join(METHODS)}, got {method!r}")
    if method == "kmeans":
        points = coordinates(matrix, min(most, len(matrix)))
        found = KMeans(count, n_init=10, random_state=0).fit_predict(points)
    else:
        model = AgglomerativeClustering(count, metric="precomputed", linkage=method)
        found = model.fit_predict(matrix)
    return np.asarray(found, dtype=np.int64)


@dataclass(frozen=True)
class Clustering:
    """What the convention does to the picture of a model's heads.

    Attributes:
        heads: one row a measure, convention and head: ``measure``, ``convention``,
            ``layer``, ``head``, ``share``, ``x``, ``y``, ``cluster``.
        layouts: one row a measure and convention: ``clusters``, ``silhouette``,
            ``largest`` (share of the heads in the largest cluster), ``fit`` of the
            embedding, and ``halves_ari``, ``halves_spearman`` and
            ``halves_procrustes``: the agreement of two halves of the passages.
        compared: one row a measure, keep against drop: ``ari`` (adjusted Rand index of
            the clusters, 0 by chance), ``ari_same`` (the same with as many clusters
            without the sinks as with them), ``spearman`` (of the distances) and
            ``procrustes`` (disparity of the embeddings, 0 alike to 1).
        explained: one row a measure, convention, ``covariate`` and ``target``, with
            the fields of `maa.audit.chance.Explained`.
    """

    heads: pd.DataFrame
    layouts: pd.DataFrame
    compared: pd.DataFrame
    explained: pd.DataFrame


@dataclass(frozen=True)
class Settings:
    """How heads are clustered, and how chance is drawn.

    Attributes:
        most: the most clusters.
        method: of clustering, one of `METHODS`.
        permutations: of the heads' covariates.
        seed: of these.
    """

    most: int = 8
    method: str = "kmeans"
    permutations: int = 999
    seed: int = 0


@dataclass
class _Tables:
    heads: list[pd.DataFrame] = field(default_factory=list)
    layouts: list[dict[str, object]] = field(default_factory=list)
    compared: list[dict[str, object]] = field(default_factory=list)
    explained: list[dict[str, object]] = field(default_factory=list)


def cluster(found: HeadDistances, settings: Settings | None = None) -> Clustering:
    """Cluster heads under both conventions, compare, and explain by the sinks' share.

    Explained are, by the heads' ``share``, their ``layer`` (its number) and their share
    within layers (``share-in-layer``): the leading axis (``axis``), the plane of the
    embedding, which no rotation changes (``plane``), the ``clusters``, and the
    ``distances`` themselves, by differences.

    Args:
        found: what `head_distances` returned.
        settings: None: the defaults.

    Raises:
        UserError: as `lay_out`.
    """
    chosen = settings or Settings()
    tables = _Tables()
    for measure in dict.fromkeys(kind.measure for kind in found.halves):
        layouts = {}
        for convention in CONVENTIONS:
            kind = Kind(measure, convention)
            layout = lay_out(found.mean(kind), chosen.most, chosen.method)
            layouts[convention] = layout
            x, y = layout.points.T
            told = found.heads.assign(x=x, y=y, cluster=layout.labels)
            told.insert(0, "convention", convention)
            told.insert(0, "measure", measure)
            tables.heads.append(told)
            tables.layouts.append(kind._asdict() | _facts(found, kind, layout, chosen))
            tables.explained.extend(_explain(found, kind, layout, chosen))
        kept, dropped = (found.mean(Kind(measure, name)) for name in CONVENTIONS)
        agreed = _agreement(kept, dropped, layouts["keep"], layouts["drop"])
        count = layouts["keep"].clusters
        same = labelled(dropped, count, chosen.most, chosen.method)
        again = adjusted_rand_score(layouts["keep"].labels, same)
        tables.compared.append({"measure": measure} | agreed | {"ari_same": again})
    return Clustering(
        pd.concat(tables.heads, ignore_index=True),
        pd.DataFrame(tables.layouts),
        pd.DataFrame(tables.compared),
        pd.DataFrame(tables.explained),
    )


def _facts(
    found: HeadDistances, kind: Kind, layout: Layout, settings: Settings
) -> dict[str, object]:
    halves = found.halves[kind]
    agreed = dict.fromkeys(("ari", "spearman", "procrustes"), np.nan)
    if len(halves) == 2:
        pair = [lay_out(half, settings.most, settings.method) for half in halves]
        agreed = _agreement(halves[0], halves[1], pair[0], pair[1])
    return {
        "clusters": layout.clusters,
        "silhouette": layout.silhouette,
        "largest": float(np.bincount(layout.labels).max() / len(layout.labels)),
        "fit": layout.fit,
        **{f"halves_{name}": value for name, value in agreed.items()},
    }


def _agreement(
    first: Floats, second: Floats, one: Layout, other: Layout
) -> dict[str, float]:
    condensed = [squareform(matrix, checks=False) for matrix in (first, second)]
    return {
        "ari": float(adjusted_rand_score(one.labels, other.labels)),
        "spearman": float(spearmanr(condensed[0], condensed[1]).statistic),
        "procrustes": float(procrustes(one.points, other.points)[2]),
    }


def _explain(
    found: HeadDistances, kind: Kind, layout: Layout, settings: Settings
) -> Iterator[dict[str, object]]:
    share = found.heads["share"].to_numpy()
    layer = found.heads["layer"].to_numpy()
    matrix = found.mean(kind)
    designs = {
        "axis": layout.points[:, :1],
        "plane": layout.points,
        "clusters": np.eye(layout.labels.max() + 1)[layout.labels],
    }
    covariates: dict[str, tuple[Floats, Integers | None]] = {
        "share": (share, None),
        "layer": (layer.astype(np.float64), None),
        "share-in-layer": (share, layer),
    }
    for name, (covariate, groups) in covariates.items():
        generator = np.random.default_rng(settings.seed)
        drawn = orders(len(share), settings.permutations, generator, groups)
        results = {
            target: by_columns(covariate, design, drawn, groups)
            for target, design in designs.items()
        }
        results["distances"] = by_differences(covariate, matrix, drawn, groups)
        for target, result in results.items():
            told = kind._asdict() | {"covariate": name, "target": target}
            yield told | asdict(result)

"""Names for readers, of what the tables name for programs."""

import re

BACKBONES = {
    "craft": "CRAFT",
    "tgat": "TGAT",
    "dygformer": "DyGFormer",
    "graphmixer": "GraphMixer",
}
DATASETS = {
    "lastfm": "LastFM",
    "mooc": "MOOC",
    "wikipedia": "Wikipedia",
    "uci": "UCI",
    "enron": "Enron",
    "metr-la-week1": "METR-LA, one week",
    "metr-la-10": "METR-LA, ten sensors",
    "metr-la": "METR-LA",
}
# Of the forecasts of traffic: forms of the model, and variants of its attention.
FORECASTERS = {
    "released": "Released",
    "corrected": "Corrected",
    "road": "Road graph",
}
VARIANTS = {
    "no-residual": "No residual",
    "none": "None",
    "diagonal-mask": "Mask",
    "diagonal-dropout0.20": "Dropout",
    "diagonal-dropout-weights0.20": "Dropout (text)",
    "diagonal-penalty0.10": "Penalty",
    "p1.10": "MAA, p = 1.1",
    "p1.30": "MAA, p = 1.3",
}
STATISTICS = {
    "preferential_attachment": "Preferential attachment",
    "pair_frequency": "Pair frequency",
    "density": "Density",
    "recency": "Recency",
    "persistence": "Persistence",
    "periodicity": "Periodicity",
    "granularity": "Granularity",
    "homophily": "Homophily",
}
OPERATORS = {
    "p1.00": "Softmax, p = 1",
    "p1.00-l2": "Softmax, L2-normalised",
    "p1.10-l2": "MAA, L2-normalised",
    "p1.10-uniform": "Uniform scale",
    "p1.10-length": "Length scale",
    "cpa-additive": "CPA, additive",
    "cpa-scaled": "CPA, scaled",
    "nap": "NAP",
    "affine": "Affine-scaled",
    "sigmoid": "Sigmoid",
    "pinf": "MAA, p = ∞",
}
# Of the audits of attention rows: models, texts, and how rows are compared.
MODELS = {
    "smollm2": "SmolLM2-135M",
    "minilm": "MiniLM-L6",
    "gpt-small": "GPT, 3 layers of 64",
    "gpt-large": "GPT, 6 layers of 128",
}
TEXTS = {"hotpotqa": "HotpotQA", "2wiki": "2Wiki", "shakespeare": "Shakespeare"}
DISSIMILARITIES = {
    "cosine": "Cosine",
    "js": "Jensen-Shannon",
    "euclid": "Euclid",
    "aitchison": "Aitchison",
}
OFFICIAL = "-official"
_POWER = re.compile(r"p(\d+\.\d{2})")


def label(name: str, labels: dict[str, str]) -> str:
    """Return a name's label; a name without one is shown with its words spaced."""
    return labels.get(name, name.replace("_", " ").capitalize())


def ordered(names: set[str], labels: dict[str, str]) -> list[str]:
    """Return names in the order of their labels, others behind, by alphabet."""
    rank = {name: index for index, name in enumerate(labels)}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))


def by_model(cell: str) -> tuple[int, str]:
    """Return a key that sorts cells, ``backbone/dataset``, by backbone."""
    names = list(BACKBONES)
    backbone = model_of(cell.split("/")[0])
    return (names.index(backbone) if backbone in names else len(names)), cell


def cell_label(cell: str) -> str:
    """Return the name of a cell, ``backbone/dataset``, for readers."""
    backbone, dataset = cell.split("/")
    return f"{label(backbone, BACKBONES)}, {label(dataset, DATASETS)}"


def power(operator: str) -> float | None:
    """Return p of an operator with a fixed power, ``p1.10``; None for any other."""
    match = _POWER.fullmatch(operator)
    return float(match[1]) if match else None


def operator_label(operator: str) -> str:
    """Return an operator's name for readers."""
    p = power(operator)
    if p is not None and operator not in OPERATORS:
        return f"MAA, p = {p:g}"
    return OPERATORS.get(operator, operator)


def model_of(backbone: str) -> str:
    """Return the model that a backbone is a form of: ``tgat`` of ``tgat-official``."""
    return backbone.removesuffix(OFFICIAL)

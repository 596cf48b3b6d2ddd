"""Names for readers, of what the tables name for programs."""

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


def label(name: str, labels: dict[str, str]) -> str:
    """Return a name's label; a name without one is shown with its words spaced."""
    return labels.get(name, name.replace("_", " ").capitalize())


def ordered(names: set[str], labels: dict[str, str]) -> list[str]:
    """Return names in the order of their labels, others behind, by alphabet."""
    rank = {name: index for index, name in enumerate(labels)}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))

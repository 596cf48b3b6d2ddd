"""The names of the eight statistics that the probes recover (paper, Table 11)."""

STATISTICS = (
    "pair_frequency",
    "recency",
    "persistence",
    "periodicity",
    "granularity",
    "density",
    "homophily",
    "preferential_attachment",
)

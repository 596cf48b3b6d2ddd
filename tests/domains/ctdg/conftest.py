"""Real events that several tests prepare."""

from pathlib import Path

import pandas as pd
import pytest

from maa.domains.ctdg.prepare import Settings, build
from maa.domains.ctdg.stream import EventStream

PAPER = Settings(
    window=32_768,
    test_fraction=0.3,
    validation_fraction=0.1,
    history=20,
    query_seed=104_729,
)


@pytest.fixture(scope="session")
def wikipedia(mirror: Path) -> EventStream:
    """The paper's window of wikipedia."""
    table = pd.read_csv(mirror / "ctdg" / "wikipedia" / "wikipedia.csv")
    columns = {"u": "source", "i": "destination", "ts": "time"}
    return build(table.rename(columns=columns), bipartite=True, settings=PAPER)


@pytest.fixture(scope="session")
def enron(mirror: Path) -> EventStream:
    """The same of enron: unipartite, with self-loops."""
    table = pd.read_csv(
        mirror / "ctdg" / "enron" / "ml_enron.txt",
        usecols=[0, 1, 2],
        names=["source", "destination", "time"],
        header=None,
        sep=" ",
    )
    return build(table, bipartite=False, settings=PAPER)

"""Shares of queries that a target is defined for."""

from pathlib import Path

import pandas as pd
import pytest

from maa.errors import UserError
from maa.inference.supports import support_shares


def write(folder: Path, dataset: str, support: list[bool]) -> Path:
    path = folder / "ctdg" / dataset / "targets.parquet"
    path.parent.mkdir(parents=True)
    table = pd.DataFrame({"support_recency": support, "recency": 0.5})
    table.insert(0, "part", ["validation", *["test"] * (len(support) - 1)])
    table.to_parquet(path)
    return path


def test_only_test_queries_count(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "mooc", [True, True, False, False, False]),
        write(tmp_path, "uci", [False, True, True]),
    ]
    found = support_shares(paths)
    assert found.to_dict("list") == {
        "domain": ["ctdg", "ctdg"],
        "dataset": ["mooc", "uci"],
        "target": ["recency", "recency"],
        "support": [0.25, 1.0],
        "queries": [4, 2],
    }


def test_other_tables_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "mooc", [True])
    with pytest.raises(UserError, match="has no test query"):
        support_shares([path])
    pd.DataFrame({"part": ["test"]}).to_parquet(path)
    with pytest.raises(UserError, match="none that starts with 'support_'"):
        support_shares([path])

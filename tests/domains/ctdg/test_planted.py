"""Planted evidence is found in trained models; full histories leave none to find.

The two streams differ in the plant and in the number of sources, so this pair does not
show that the plant alone makes the difference; see config/datasets.yaml.
"""

from pathlib import Path

import pandas as pd
import pytest

from maa import config
from maa.attention import parse_operator
from maa.domains.ctdg.backbones import tgat
from maa.domains.ctdg.fit import initialise, train
from maa.domains.ctdg.generate import planted_stream
from maa.domains.ctdg.prepare import Settings, build
from maa.domains.ctdg.represent import encode
from maa.domains.ctdg.statistics import STATISTICS
from maa.domains.ctdg.stream import EventStream
from maa.domains.ctdg.targets import compute
from maa.probes.recovery import ProbeData, recover
from maa.probes.settings import ProbeSettings

ROOT = Path(__file__).resolve().parents[3]
DEMO = config.load(ROOT / "config/config.yaml")["domains"]["ctdg"]
REGISTRY = config.load(ROOT / "config/datasets.yaml")["ctdg"]
SEEDS = (7, 17)


def recovery(stream: EventStream, targets: pd.DataFrame, name: str, seed: int) -> float:
    """Held-out R2 of a linear probe for preferential attachment, after training."""
    operator = parse_operator(name)
    model = initialise(stream, tgat, operator, seed, DEMO["models"]["tgat"])
    train(model, stream, seed, DEMO["fit"], report=lambda line: None)
    encoded = encode(model.eval(), stream, stream.queries("test"), 1.1)
    wanted = targets[["preferential_attachment"]].to_numpy()
    held = (encoded[name] for name in ("z", "c", "keys"))
    data = ProbeData(*held, wanted, ("preferential_attachment",))
    scores = recover("linear", data.inputs("z"), wanted, ProbeSettings(), seed)
    return float(scores.item())


def effects(dataset: str) -> list[float]:
    events = planted_stream(**REGISTRY[dataset]["generated"])
    stream = build(events, bipartite=True, settings=Settings(**DEMO["prepare"]))
    targets = compute(stream)
    targets = targets[targets["part"] == "test"]
    assert set(STATISTICS) <= set(targets)
    return [
        recovery(stream, targets, "p1.10", seed)
        - recovery(stream, targets, "p1.00", seed)
        for seed in SEEDS
    ]


def test_planted_evidence_is_read_better_with_mass() -> None:
    assert min(effects("planted")) > 0.3


def test_where_all_histories_are_full_nothing_changes() -> None:
    assert effects("unplanted") == pytest.approx([0.0, 0.0], abs=0.1)

"""Small models of every form, by the name of their module."""

from importlib import import_module
from typing import Any

import torch

from maa.attention import parse_operator
from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.stream import EventStream
from tests.domains.ctdg.describing import shaken

HIDDEN, TIME = 8, 6
READER = {"hidden": HIDDEN, "time_dim": TIME, "dropout": 0.0}
CRAFT = {
    "hidden": HIDDEN,
    "layers": 2,
    "heads": 2,
    "dropout": 0.0,
    "embedding_dropout": 0.0,
    "attention_dropout": 0.0,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "tgat": READER,
    "craft": CRAFT,
    "dygformer": READER | {"layers": 2, "heads": 4, "patch": 2},
    "graphmixer": READER | {"layers": 2},
    "tgat_official": {
        "width": 6,
        "time_dim": 4,
        "heads": 2,
        "neighbours": 5,
        "dropout": 0.0,
    },
    "craft_official": CRAFT | {"neighbours": 7},
    "dygformer_official": {
        "width": 6,
        "time_dim": 5,
        "channel": 4,
        "length": 6,
        "patch": 1,
        "layers": 2,
        "heads": 2,
        "dropout": 0.0,
    },
    "graphmixer_official": {
        "width": 6,
        "time_dim": 4,
        "layers": 2,
        "neighbours": 5,
        "time_gap": 7,
        "padding": True,
        "dropout": 0.0,
    },
}


def build(
    form: str, stream: EventStream, operator: str = "p1.10", **settings: Any
) -> Backbone:
    """Return a form as it is before training, from torch's stream of seed 0."""
    torch.manual_seed(0)
    module = import_module(f"maa.domains.ctdg.backbones.{form}")
    given = SETTINGS[form] | settings
    model: Backbone = module.build(stream, parse_operator(operator), given)
    return model


def make_model(
    form: str, stream: EventStream, operator: str = "p1.10", **settings: Any
) -> Backbone:
    """Return a form with all of its parameters moved."""
    return shaken(build(form, stream, operator, **settings))

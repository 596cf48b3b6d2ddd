"""Each domain's stage modules offer what the protocol says, argument by argument."""

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import maa.domains
from maa import config
from maa.domains import protocol

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("Prepare", "Targets", "Fit", "Represent", "Behave", "Utility", "Trace")
DOMAINS = [
    module.name for module in pkgutil.iter_modules(maa.domains.__path__) if module.ispkg
]


def assert_offers(module: Any, name: str) -> None:
    for method, wanted in inspect.getmembers(
        getattr(protocol, name), inspect.isfunction
    ):
        if method.startswith("_"):
            continue
        mine = inspect.signature(getattr(module, method)).parameters.values()
        theirs = list(inspect.signature(wanted).parameters.values())[1:]  # no self
        assert [(p.name, p.default is p.empty) for p in mine] == [
            (p.name, p.default is p.empty) for p in theirs
        ], f"{module.__name__}.{method}"


def test_there_is_a_domain() -> None:
    assert {"ctdg", "traffic"} <= set(DOMAINS)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("stage", STAGES)
def test_stages(domain: str, stage: str) -> None:
    module = importlib.import_module(f"maa.domains.{domain}.{stage.lower()}")
    assert_offers(module, stage)


@pytest.mark.parametrize("domain", DOMAINS)
def test_backbones(domain: str) -> None:
    package = importlib.import_module(f"maa.domains.{domain}.backbones")
    schema = config.load(ROOT / "workflow" / "schemas" / "config.schema.yaml")
    models = schema["$defs"][domain]["properties"]["models"]["properties"]
    assert models
    for name in models:
        module = f"{package.__name__}.{name.replace('-', '_')}"
        assert_offers(importlib.import_module(module), "Backbone")

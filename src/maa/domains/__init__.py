"""The domains: one package each, with one module a stage, reached by name.

A stage is imported by name and on its own, so that a script depends on just the
modules that its stage reaches. `maa.domains.protocol` says what each stage module
must offer.
"""

import importlib
from types import ModuleType

from maa.errors import UserError


def load_stage(domain: str, stage: str) -> ModuleType:
    """Import ``maa.domains.{domain}.{stage}``.

    Raises:
        UserError: if the domain has no such stage.
    """
    return _load(f"{__name__}.{domain}.{stage}", f"domain {domain!r} has no {stage!r}")


def load_backbone(domain: str, backbone: str) -> ModuleType:
    """Import ``maa.domains.{domain}.backbones.{backbone}`` (dashes become underscores).

    Raises:
        UserError: if the domain has no such backbone.
    """
    module = f"{__name__}.{domain}.backbones.{backbone.replace('-', '_')}"
    return _load(module, f"domain {domain!r} has no backbone {backbone!r}")


def _load(module: str, problem: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise UserError(f"{problem}; expected a module named {module}") from error

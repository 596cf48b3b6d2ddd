"""Fixtures that all tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real data that ``MAA_DATA_MIRROR`` names; skips without it."""
    value = os.environ.get("MAA_DATA_MIRROR")
    if not value:
        pytest.skip(
            "real data: set MAA_DATA_MIRROR to a mirror folder to run this test"
        )
    folder = Path(value)
    if not folder.is_dir():
        pytest.fail(f"MAA_DATA_MIRROR={value} is not a folder")
    return folder.resolve()

"""Fixtures that all tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together, when tests run in parallel, what shares a costly fixture."""
    for item in items:
        used = getattr(item, "fixturenames", ())
        shared = [name for name in ("cluster", "finished") if name in used]
        item.add_marker(
            pytest.mark.xdist_group(shared[0] if shared else str(item.path))
        )


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

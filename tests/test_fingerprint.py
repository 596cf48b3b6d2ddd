"""Fingerprints: what counts as a change of a step's code, and what does not."""

import subprocess
import sys
from pathlib import Path

import pytest

from maa.fingerprint import Code, changed_modules

FILES = {
    "src/pack/__init__.py": '"""Pack."""\n',
    "src/pack/a.py": "from pack import b\nfrom .sub import d\n\nX = 1\n",
    "src/pack/b.py": 'import os\n\nSTYLE = "look.style"\n',
    "src/pack/c.py": "Y = 2\n",
    "src/pack/look.style": "color: red\n",
    "src/pack/other.style": "color: red\n",
    "src/pack/sub/__init__.py": "",
    "src/pack/sub/d.py": (
        "from typing import TYPE_CHECKING\n\n"
        "if TYPE_CHECKING:\n    from pack import c\n\n\n"
        'def f():\n    """Say it."""\n    import pack.sub.e\n'
        "    return pack.sub.e\n"
    ),
    "src/pack/sub/e.py": "Z = 3\n",
    "src/pack/plugin.py": "from pack.c import Y\n",
    "scripts/run.py": "from pack.a import X\n\nprint(X)\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def fingerprint(tree: Path, *names: str) -> dict[str, str]:
    return Code(tree / "src", tree / "scripts").fingerprint("run.py", *names)


def changed(tree: Path, path: str, old: str, new: str, *names: str) -> set[str]:
    before = fingerprint(tree, *names)
    file = tree / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    after = fingerprint(tree, *names)
    return {name for name in before | after if before.get(name) != after.get(name)}


def test_closure_holds_what_is_imported_and_the_packages_around_it(tree: Path) -> None:
    assert set(fingerprint(tree)) == {
        "run.py",
        "pack",
        "pack.a",
        "pack.b",
        "pack.sub",
        "pack.sub.d",
        "pack.sub.e",
    }


def test_a_module_reached_by_name_brings_its_own_closure(tree: Path) -> None:
    extra = set(fingerprint(tree, "pack.plugin")) - set(fingerprint(tree))
    assert extra == {"pack.plugin", "pack.c"}


def test_a_change_names_the_one_module(tree: Path) -> None:
    assert changed(tree, "src/pack/sub/e.py", "3", "4") == {"pack.sub.e"}


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("src/pack/a.py", "X = 1", "X = 1  # one"),
        ("src/pack/a.py", "\n\nX = 1", "\n\n\n\nX = (1)"),
        ("src/pack/sub/d.py", "Say it.", "Say something else."),
        ("src/pack/c.py", "2", "3"),
        ("src/pack/other.style", "red", "blue"),
    ],
    ids=["comment", "layout", "docstring", "type-checking import", "unnamed file"],
)
def test_what_does_not_run_does_not_count(
    tree: Path, path: str, old: str, new: str
) -> None:
    assert changed(tree, path, old, new) == set()


def test_a_file_named_beside_a_module_counts(tree: Path) -> None:
    assert changed(tree, "src/pack/look.style", "red", "blue") == {"pack.b"}


def test_a_new_import_is_picked_up(tree: Path) -> None:
    assert changed(tree, "src/pack/sub/e.py", "Z = 3", "from pack.c import Y") == {
        "pack.sub.e",
        "pack.c",
    }


def test_a_module_that_is_not_there_is_an_error(tree: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"pack\.nothing"):
        fingerprint(tree, "pack.nothing")


DRY_RUN = """
rule train:
    output: model
    reason: Params have changed since last execution: Union of exclusive params before \
and now across all output: before: {'a': '111111111111', 'b': '222222222222'} now: \
{'a': '111111111111', 'b': '333333333333', 'c': '444444444444'}

localrule infer:
    reason: Params have changed since last execution: Union of exclusive params before \
and now across all output: before: '{"draws": 5}' now: '{"draws": 6}'

rule probe:
    reason: Input files updated by another job: model
"""


def test_a_dry_run_is_read_for_the_modules_that_changed() -> None:
    text = DRY_RUN.replace("\\\n", "")
    assert changed_modules(text) == {"train": ["b", "c"]}


def test_what_the_workflow_imports_at_every_start_is_light() -> None:
    code = "import sys, maa.config, maa.fingerprint; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not {"torch", "pandas", "numpy", "sklearn"} & set(done.stdout.split())

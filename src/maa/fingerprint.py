"""Fingerprints of the code that a step runs, so that only real changes rerun it.

A step's *closure* is every local module that its script can reach by import, found
statically: imports anywhere in a module count, those under ``if TYPE_CHECKING:`` do
not. Each module is hashed by its syntax tree without docstrings, so comments, layout
and documentation change nothing. A file that lies beside a module and is named in one
of its strings (a template, a style sheet) counts with its bytes.

Only the standard library is imported here: the workflow does so at every start.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

LENGTH = 12


class Module:
    """One Python file: its name, its syntax tree and what it imports.

    Args:
        name: the dotted module name, or a label for a script.
        path: the file.
        package: the package that relative imports start from.
    """

    def __init__(self, name: str, path: Path, package: str) -> None:
        self.name = name
        self.path = path
        self.package = package

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree without docstrings."""
        tree = ast.parse(self.path.read_bytes(), filename=str(self.path))
        for node in ast.walk(tree):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ):
                node.body = _without_docstring(node.body)
        return tree

    @cached_property
    def imports(self) -> frozenset[str]:
        """Every dotted name that the module may import."""
        return frozenset(_imports(self.tree, self.package))

    @cached_property
    def digest(self) -> str:
        """The hash of the module's code and of the files that it names beside it."""
        state = hashlib.sha256(ast.unparse(self.tree).encode())
        for file in self._companions():
            state.update(file.name.encode() + b"\0" + file.read_bytes())
        return state.hexdigest()[:LENGTH]

    def _companions(self) -> list[Path]:
        names = {
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        files = (file for file in self.path.parent.iterdir() if file.suffix != ".py")
        return sorted(file for file in files if file.name in names and file.is_file())


class Code:
    """The local code of a project, and the fingerprints of its steps.

    Args:
        source: the folder that holds the packages (``src``).
        scripts: the folder that holds the scripts.
    """

    def __init__(self, source: Path, scripts: Path) -> None:
        self.source = source
        self.scripts = scripts
        self._modules: dict[str, Module | None] = {}
        self._fingerprints: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}

    def fingerprint(self, script: str, *reached_by_name: str) -> dict[str, str]:
        """Return one hash for each module that a script reaches.

        Args:
            script: the script's file name inside the scripts folder.
            reached_by_name: modules that it imports by a name found at run time.

        Returns:
            A new dictionary from module name to hash, sorted by name.

        Raises:
            FileNotFoundError: if the script or a named module does not exist.
        """
        key = (script, reached_by_name)
        if key not in self._fingerprints:
            root = Module(script, self.scripts / script, package="")
            names = set(root.imports)
            for name in reached_by_name:
                if self._module(name) is None:
                    raise FileNotFoundError(f"no module {name} below {self.source}")
                names.update(_with_parents(name))
            modules = [root, *self._closure(names)]
            pairs = sorted((module.name, module.digest) for module in modules)
            self._fingerprints[key] = dict(pairs)
        return dict(self._fingerprints[key])

    def everything(self) -> dict[str, str]:
        """Return a hash for each module and each script of the project, by name."""
        paths = (path.relative_to(self.source) for path in self.source.rglob("*.py"))
        names = {
            ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            for path in paths
        }
        modules = [module for module in map(self._module, names) if module]
        modules += [
            Module(path.name, path, package="") for path in self.scripts.glob("*.py")
        ]
        return dict(sorted((module.name, module.digest) for module in modules))

    def _closure(self, names: Iterable[str]) -> list[Module]:
        found: dict[str, Module] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            module = None if name in found else self._module(name)
            if module is not None:
                found[name] = module
                waiting.extend(module.imports)
        return list(found.values())

    def _module(self, name: str) -> Module | None:
        """Return the local module of that name, if there is one."""
        if name not in self._modules:
            base = self.source.joinpath(*name.split("."))
            module = None
            if (base / "__init__.py").is_file():
                module = Module(name, base / "__init__.py", package=name)
            elif base.with_suffix(".py").is_file():
                package = name.rpartition(".")[0]
                module = Module(name, base.with_suffix(".py"), package=package)
            self._modules[name] = module
        return self._modules[name]


def changed_modules(dry_run: str) -> dict[str, list[str]]:
    """Read from Snakemake's dry run which modules make which rules run again.

    Args:
        dry_run: what ``snakemake --dry-run`` prints.

    Returns:
        For each rule that runs for changed code, the modules whose fingerprints before
        and now differ, sorted.
    """
    found: dict[str, set[str]] = {}
    rule = ""
    for line in dry_run.splitlines():
        start = re.match(r"(?:local)?rule (\w+):", line)
        rule = start[1] if start else rule
        if "exclusive params before and now" in line:
            before, _, now = line.partition(" now: ")
            old, new = (_fingerprints(part) for part in (before, now))
            differ = {name for name, _ in old.items() ^ new.items()}
            found.setdefault(rule, set()).update(differ)
    return {rule: sorted(names) for rule, names in found.items() if names}


def _fingerprints(reason: str) -> dict[str, str]:
    """Merge the dictionaries of fingerprints in a printed reason."""
    merged: dict[str, str] = {}
    for text in re.findall(r"\{'[^{}]*'\}", reason):
        value = ast.literal_eval(text)
        if all(re.fullmatch(r"[0-9a-f]{12}", str(item)) for item in value.values()):
            merged |= value
    return merged


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return body[1:]
    return body


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    for node in _nodes_that_run(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            yield from _with_parents(base)
            for alias in node.names:
                yield f"{base}.{alias.name}"


def _nodes_that_run(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree, leaving out the bodies of ``if TYPE_CHECKING:``."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def _base(node: ast.ImportFrom, package: str) -> str:
    if node.level == 0:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def _with_parents(name: str) -> Iterator[str]:
    """Yield ``a``, ``a.b`` and ``a.b.c`` for ``a.b.c``: importing one runs them all."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])

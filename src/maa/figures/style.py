"""The shared look of figures and tables, and how they are saved."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib.figure import Figure

from maa.files import atomic

# Okabe and Ito's colours: told apart with any common colour blindness.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK = "#1c2330"
SOFT = "#6a7280"


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save inside this block to get the shared look."""
    sheet = resources.files("maa.figures").joinpath("style.mplstyle")
    with resources.as_file(sheet) as path, mpl.rc_context(fname=str(path)):
        yield


def save(figure: Figure, *paths: str | Path) -> None:
    """Save a figure under each path, in the format of its suffix.

    The files hold neither dates nor versions, so equal figures give equal bytes.
    """
    dateless: dict[str, dict[str, None]] = {
        ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        ".png": {"Software": None},
    }
    with styled():
        for path in map(Path, paths):
            with atomic(path) as part:
                figure.savefig(part, metadata=dateless[path.suffix])

"""What each stage module of a domain must offer.

A domain is a package in `maa.domains` with one module a stage, named like the classes
here in lower case (``prepare``, ``targets``, ``fit``, ``represent``, ``behave``,
``utility``, ``trace``), and a folder ``backbones`` with one module a model. The scripts
load them by name and know nothing else of a domain; a module offers a stage if its
functions have these names and arguments.

Paths are those of the workflow; whatever the prepare stage writes, only the stages of
the same domain read. Settings are the domain's part of the configuration for that
stage. What a user can get wrong ends in a `maa.errors.UserError`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maa.attention import Operator

Settings = Mapping[str, Any]


class Prepared(Protocol):
    """A prepared data set."""

    def save(self, path: str | Path) -> None:
        """Write it to one file; the same data give the same bytes."""


class Prepare(Protocol):
    """From raw files to the data that all runs share."""

    def prepare(
        self, source: str | Path, entry: Mapping[str, Any], settings: Settings
    ) -> Prepared:
        """Read a data set and prepare it.

        Args:
            source: ``source.json`` of the download; it names the files.
            entry: the data set's entry in the registry.
            settings: window, splits, seed of the queries and the like.
        """

    def summary(self, stream: Any) -> dict[str, Any]:
        """Return the numbers, ready for JSON, that say what a prepared set holds."""


class Targets(Protocol):
    """What the probes are to recover; the same for all runs of a data set."""

    def targets(self, stream: str | Path) -> pd.DataFrame:
        """Return one row a query.

        Columns: ``part`` (validation or test), ``query`` (its number within the part),
        the targets (float64), and for each target a bool column ``support_{target}``:
        whether the query had the observations its formula needs.
        """


class Fitted(Protocol):
    """A trained model."""

    @property
    def weights(self) -> dict[str, NDArray[Any]]:
        """Its parameters by name."""

    @property
    def curve(self) -> pd.DataFrame:
        """One row an epoch: epoch, loss, and validation_*, as in validation_auc."""


class Fit(Protocol):
    """Training one run."""

    def fit(
        self,
        stream: str | Path,
        backbone: Any,
        operator: Operator,
        seed: int,
        settings: Settings,
        threads: int = 1,
        report: Callable[[str], None] = print,
    ) -> Fitted:
        """Train a model; the same arguments give the same bytes on one machine.

        Args:
            stream: the prepared data.
            backbone: a module of the domain's ``backbones``.
            operator: how attention weights are normalised.
            seed: the run's seed; data order, negatives, initialisation, dropout and
                the draws of a regulariser each take a stream of their own from it.
            settings: those of training, ``device``, and ``model``, the backbone's own.
            threads: CPU threads to use.
            report: takes one line an epoch.
        """


class Represent(Protocol):
    """Reading out a frozen model."""

    def represent(
        self,
        stream: str | Path,
        model: str | Path,
        backbone: Any,
        operator: Operator,
        settings: Settings,
        threads: int = 1,
    ) -> dict[str, NDArray[np.float32]]:
        """Return, for each part, an entry a query, in the order of the targets.

        ``{part}_z`` [queries, d], the input of the predictor; ``{part}_c`` [queries,
        k], the normaliser's coordinates; ``{part}_keys`` [queries, e], how many keys
        the attention had; ``{part}_score`` [queries].
        """


class Behave(Protocol):
    """How a trained model reacts to an intervention."""

    def behave(
        self,
        stream: str | Path,
        model: str | Path,
        backbone: Any,
        operator: Operator,
        settings: Settings,
        threads: int = 1,
    ) -> pd.DataFrame:
        """Return columns measure, value and queries (how many went into the value)."""


class Utility(Protocol):
    """How well a trained model does its own task."""

    def utility(
        self,
        stream: str | Path,
        model: str | Path,
        backbone: Any,
        operator: Operator,
        settings: Settings,
        threads: int = 1,
    ) -> pd.DataFrame:
        """Return columns measure, value and queries (how many went into the value)."""


class Trace(Protocol):
    """What becomes of the attention's scale on the way to the representation."""

    def trace(
        self,
        stream: str | Path,
        model: str | Path,
        targets: str | Path,
        backbone: Any,
        operator: Operator,
        settings: Settings,
        threads: int = 1,
    ) -> pd.DataFrame:
        """Return columns point, order (along the way), measure, target and value.

        Which points and measures there are is the domain's own affair.
        """


class Backbone(Protocol):
    """A model of the domain: what a module in ``backbones`` must offer."""

    def build(self, stream: Any, operator: Operator, settings: Settings) -> Any:
        """Return an untrained ``torch.nn.Module``.

        Args:
            stream: the prepared data, for its sizes.
            operator: used at the attention boundary that the paper names, and nowhere
                else.
            settings: hidden size, dropout and the like.
        """

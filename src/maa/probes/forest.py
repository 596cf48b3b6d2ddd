"""The nonlinear probe: extremely randomised trees."""

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from maa.probes.settings import ProbeSettings


def predict_forest(
    train: NDArray[np.float64],
    targets: NDArray[np.float64],
    test: NDArray[np.float64],
    settings: ProbeSettings,
    seed: int,
    threads: int,
) -> NDArray[np.float64]:
    """Fit the forest, or one a target; return predictions [tests, targets].

    Args:
        train: inputs [queries, features].
        targets: [queries, targets]; none may be constant.
        test: inputs of the queries to predict.
        settings: uses all but ``train_fraction`` and ``ridge_alpha``.
        seed: seed of the trees; each forest starts from it.
        threads: trees grown at once; the result does not depend on it.
    """
    mean, scale = targets.mean(axis=0), targets.std(axis=0)
    standard = (targets - mean) / scale
    # The trees would convert to float32 themselves, once a forest.
    rows, asked = train.astype(np.float32), test.astype(np.float32)
    columns = np.arange(targets.shape[1])
    groups = [columns] if settings.joint else np.split(columns, len(columns))
    predictions = np.empty((len(test), targets.shape[1]))
    for group in groups:
        forest = _forest(settings, seed, threads)
        forest.fit(rows, np.squeeze(standard[:, group]))
        # Threads would add up the trees in the order in which they finish.
        forest.set_params(n_jobs=1)
        predictions[:, group] = forest.predict(asked).reshape(len(test), -1)
    predictions *= scale
    predictions += mean
    return predictions


def _forest(settings: ProbeSettings, seed: int, threads: int) -> ExtraTreesRegressor:
    return ExtraTreesRegressor(
        n_estimators=settings.trees,
        min_samples_leaf=settings.min_samples_leaf,
        max_features=settings.max_features,
        random_state=seed,
        n_jobs=threads,
    )

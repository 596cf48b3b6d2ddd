"""The linear probe: ridge regression."""

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from maa.probes.settings import ProbeSettings


def predict_linear(
    train: NDArray[np.float64],
    targets: NDArray[np.float64],
    test: NDArray[np.float64],
    settings: ProbeSettings,
) -> NDArray[np.float64]:
    """Fit one ridge regression for each target; return predictions [tests, targets].

    Args:
        train: standardised inputs [queries, features].
        targets: [queries, targets].
        test: inputs of the queries to predict, standardised alike.
        settings: uses ``ridge_alpha``.
    """
    # A matrix product's last bits depend on its number of threads.
    with threadpool_limits(limits=1):
        model = Ridge(alpha=settings.ridge_alpha).fit(train, targets)
        predictions: NDArray[np.float64] = model.predict(test)
    return predictions.reshape(len(test), -1)

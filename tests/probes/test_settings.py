"""The checks of the probes' settings."""

from typing import Any

import pytest

from maa.errors import UserError
from maa.probes.settings import ProbeSettings, parse_settings


def test_absent_settings_keep_their_default() -> None:
    assert parse_settings({}) == ProbeSettings()
    values = {"train_fraction": 0.5, "ridge_alpha": 0, "trees": 10, "joint": False}
    values |= {"min_samples_leaf": 1, "max_features": 0.33}
    assert parse_settings(values) == ProbeSettings(0.5, 0, 10, 1, 0.33, False)
    assert parse_settings({"max_features": "log2"}).max_features == "log2"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("train_fraction", value) for value in (0, 1, 1.5, "0.7", None, True)],
        *[("ridge_alpha", value) for value in (-1, float("nan"), float("inf"), "1")],
        *[("trees", value) for value in (0, 2.5, True, "200")],
        *[("min_samples_leaf", value) for value in (0, 0.1)],
        *[("max_features", value) for value in ("all", 0, 1.5, None, float("nan"))],
        *[("joint", value) for value in (0, "yes", None)],
    ],
)
def test_values_out_of_range_are_refused(key: str, value: Any) -> None:
    with pytest.raises(UserError, match=rf"probe setting {key} is .*; expected"):
        parse_settings({key: value})


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(UserError, match="'tree' is unknown; expected one of train_f"):
        parse_settings({"tree": 200})

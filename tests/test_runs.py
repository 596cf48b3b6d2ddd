"""The key of a run on the command line."""

import argparse

import pytest

from maa.runs import run_key, run_parser

TEXT = "seed=7,domain=ctdg,dataset=uci,backbone=tgat,operator=p1.10"


def test_the_parts_come_in_any_order_and_the_seed_is_a_number() -> None:
    arguments = run_parser("A script.").parse_args(
        ["--run", TEXT, "--stream", "s", "--settings", "{}"]
    )
    assert (arguments.domain, arguments.dataset) == ("ctdg", "uci")
    assert (arguments.backbone, arguments.operator) == ("tgat", "p1.10")
    assert arguments.seed == 7


@pytest.mark.parametrize(
    "text", ["", "ctdg", TEXT + ",more=1", TEXT.replace("7", "x"), TEXT[7:]]
)
def test_other_keys_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected a key such as"):
        run_key(text)

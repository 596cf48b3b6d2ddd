"""The command ``python -m maa.attention.temporal``: Jacobians over lengths."""

import math
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path

import pandas as pd
import torch

from maa.attention.temporal.scaling import LENGTHS, SEEDS, Setting, experiment, exponent
from maa.files import write_table


def main() -> None:
    """Measure, and print means over seeds."""
    parser = ArgumentParser(prog="maa.attention.temporal", description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--width", type=int, default=Setting.width)
    parser.add_argument("--p", type=float, default=Setting.p)
    parser.add_argument("--sharpness", type=float, default=Setting.sharpness)
    parser.add_argument("--penalty", type=float, default=Setting.penalty)
    parser.add_argument("--sink", type=float, default=Setting.sink)
    parser.add_argument("--table", type=Path, help="Parquet to write, one row a seed")
    arguments = parser.parse_args()
    names = [field.name for field in fields(Setting)]
    setting = Setting(**{name: getattr(arguments, name) for name in names})
    torch.set_num_threads(1)
    table = experiment(setting, arguments.lengths, arguments.seeds)
    if arguments.table:
        write_table(arguments.table, table)
    print(summary(table))


def summary(table: pd.DataFrame) -> str:
    """Return means over seeds as text, and how each quantity goes with T."""
    columns = ["value", "bound", "exceeds", "sound", "unsound"]
    means = table.groupby(["quantity", "T"], sort=False)[columns].mean().sort_index()
    lines = [means.to_string(float_format="{:.4g}".format)]
    if table["T"].nunique() > 1:
        for quantity in means.index.unique("quantity"):
            slope = exponent(table, quantity)
            if not math.isnan(slope):
                lines.append(f"{quantity} goes with T to the power {slope:.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

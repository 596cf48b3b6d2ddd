"""Formatted tables as pictures and as pages; the numbers stay in the CSV beside."""

import html as text

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from maa.figures.style import INK, SOFT, styled

DASH, MINUS = "\u2013", "\u2212"
_ROW = 0.27  # inches
_CHARACTER = 0.075  # inches, at the size of the text
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --page: #fff; --text: #1c2330; --line: #d8dde5;
  --soft: #565f6e; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --page: #12161d; --text: #e7ebf1; --line: #343d4a; --soft: #a7b0be; }} }}
body {{ margin: 0 auto; max-width: 72rem; padding: clamp(.8rem, 3vw, 2rem);
  background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }}
h1 {{ font-size: 1.25rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .35rem .8rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }}
th:nth-child(-n + {lead}), td:nth-child(-n + {lead}) {{ text-align: left; }}
p {{ color: var(--soft); max-width: 60rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
<div class="scroll">
{table}
</div>
<p>{note}</p>
</body>
</html>
"""


def page(shown: pd.DataFrame, title: str, note: str, lead: int = 1) -> str:
    """Return a formatted table as a page of its own, light or dark as the reader is.

    Args:
        shown: the table as readers see it.
        title: heading of the page.
        note: what stands below the table.
        lead: how many of the first columns are aligned to the left.
    """
    table = shown.to_html(index=False, border=0, justify="unset")
    return _PAGE.format(
        title=text.escape(title), note=text.escape(note), table=table, lead=lead
    )


def picture(shown: pd.DataFrame, note: str, lead: int = 1) -> Figure:
    """Draw a formatted table: the first columns left-aligned, the others right-aligned.

    Args:
        shown: the table as readers see it.
        note: what stands below the table.
        lead: how many of the first columns are aligned to the left.
    """
    cells = [list(map(str, shown.columns)), *shown.astype(str).to_numpy().tolist()]
    widths = np.array(
        [max(len(row[i]) for row in cells) + 2.5 for i in range(len(shown.columns))]
    )
    right = np.cumsum(widths) / widths.sum()
    height = len(cells) + 0.4
    foot = 0.3 + 0.62 * (note.count("\n") + 1)
    with styled():
        size = (widths.sum() * _CHARACTER, (height + foot) * _ROW)
        figure = Figure(figsize=size)
        figure.set_layout_engine("none")
        axis = figure.add_axes((0.01, 0.0, 0.98, 1.0))
        axis.set(xlim=(0, 1), ylim=(height + foot, 0))
        axis.axis("off")
        for index, row in enumerate(cells):
            weight = "bold" if index == 0 else "normal"
            for column, value in enumerate(row):
                left = column < lead
                x = (right[column - 1] if column else 0.0) if left else right[column]
                align = "left" if left else "right"
                axis.text(x, index + 0.6, value, ha=align, va="center", weight=weight)
        for y, width in ((0.08, 1.2), (1.1, 0.7), (height - 0.25, 1.2)):
            axis.plot([0, 1], [y, y], color=INK, linewidth=width, clip_on=False)
        axis.text(0, height, note, va="top", color=SOFT, size=8, linespacing=1.35)
    return figure


def number(value: float, digits: int = 5, sign: bool = False) -> str:
    """Format a number; a dash where there is none, and infinity by its sign."""
    if np.isnan(value):
        return DASH
    if np.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", MINUS)


def span(low: float, high: float, digits: int = 5) -> str:
    """Format an interval; a dash where there is none."""
    if np.isnan(low):
        return DASH
    return f"[{number(low, digits, True)}, {number(high, digits, True)}]"


def starred(p: float, digits: int = 4) -> str:
    """Format a p-value, with a star below .05; a dash where there is none."""
    return number(p, digits) + ("*" if p < 0.05 else "")

"""The page of an audit: one HTML file that needs nothing else."""

from importlib import resources

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined

from maa.attention.rows.measures import MEASURES
from maa.audit.drawings import embedded, head_maps, layer_channels

SHOWN = [
    *("sink_share", "diagonal_share", "entropy", "content_entropy"),
    *("entropy_sink_part", "balance", "hill_kept", "hill_dropped", "gain"),
    *("elasticity", "elasticity_p", "below_half"),
]


def render(
    name: str,
    measured: pd.DataFrame,
    heads: pd.DataFrame,
    tokens: int,
    sinks: str,
    p: float,
    first_row: int,
) -> str:
    """Render the page of an audit.

    Args:
        name: the model's name.
        measured: what `maa.audit.audit.audit` returned.
        heads: the same by head.
        tokens: length of a passage.
        sinks: which tokens were sinks.
        p: order of the gain.
        first_row: the first row that was measured.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    layers = heads.groupby("layer")[SHOWN].mean()
    template = resources.files("maa.audit").joinpath("page.html.j2")
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        name=name,
        depth=heads["layer"].nunique(),
        width=heads["head"].nunique(),
        passages=measured["text"].nunique(),
        tokens=tokens,
        sinks={"first": "the first token", "special": "all special tokens"}.get(
            sinks, "none"
        ),
        p=p,
        first_row=first_row,
        facts=facts(measured, heads),
        maps=embedded(head_maps(heads)),
        channels=embedded(layer_channels(heads)),
        table=layers.round(3).reset_index().to_html(index=False, border=0),
        measures=MEASURES,
    )


def facts(measured: pd.DataFrame, heads: pd.DataFrame) -> dict[str, str]:
    """Return what an audit found in one line each."""
    held = heads["sink_share"] > 0.5
    found = {
        "Sinks hold, on average": f"{heads['sink_share'].mean():.1%}",
        "Heads whose sinks hold more than half": f"{held.mean():.1%}",
        "Entropy of a row": f"{heads['entropy'].mean():.3f} nats",
        "of it within the content": f"{heads['entropy_content'].mean():.3f} nats",
        "Correlation over heads of entropy and sinks' share": _correlation(
            heads, "entropy", "sink_share"
        ),
        "of entropy and content's entropy": _correlation(
            heads, "entropy", "content_entropy"
        ),
        "Weights that half precision rounds to 0": f"{heads['below_half'].mean():.2%}",
    }
    losses = measured.groupby("text")["loss"].first()
    if losses.notna().all():
        found["Perplexity"] = f"{np.exp(losses.mean()):.2f}"
    return found


def _correlation(heads: pd.DataFrame, first: str, second: str) -> str:
    if min(heads[first].std(), heads[second].std()) < 1e-12:
        return "none: one of the two does not vary"
    return f"{heads[first].corr(heads[second]):+.2f}"

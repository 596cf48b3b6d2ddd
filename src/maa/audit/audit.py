"""The audit of a model's attention rows: every measure of every head."""

from collections.abc import Callable, Sequence

import pandas as pd
import torch
from torch import Tensor

from maa.attention.adapters.huggingface import recording
from maa.attention.rows.measures import MEASURES, row_measures
from maa.audit.models import Pretrained
from maa.audit.texts import sink_positions


def audit(
    pretrained: Pretrained,
    texts: Sequence[Sequence[int]],
    sinks: str = "first",
    p: float = 1.1,
    first_row: int = 8,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Measure the attention of every head on every passage.

    Memory is that of one layer's rows of one passage.

    Args:
        pretrained: the model.
        texts: passages as tokens.
        sinks: which tokens are sinks, as `maa.audit.texts.sink_positions` says.
        p: order of the gain and the Hill numbers.
        first_row: rows before it, which see few keys, are left out.
        report: takes one line a passage.

    Returns:
        One row a passage, layer and head: ``text``, ``layer``, ``head``, ``loss`` (of
        the passage, nats a token; NaN for an encoder), and each of `MEASURES` as its
        mean over the passage's rows.
    """
    model, found = pretrained.model, []
    device = next(model.parameters()).device
    for number, passage in enumerate(texts):
        where = sink_positions(pretrained.tokenizer, passage, sinks)
        mask = torch.zeros(len(passage), dtype=torch.bool, device=device)
        mask[where] = True
        layers: list[Tensor] = []

        def receive(_: int, logits: Tensor, support: Tensor | None) -> None:
            rows = None if support is None else support[0, :, first_row:]
            taken = row_measures(logits[0, :, first_row:], mask, rows, p)  # noqa: B023
            layers.append(  # noqa: B023
                torch.stack([value.double().mean(-1) for value in taken.values()], -1)
            )

        tokens = torch.tensor([list(passage)], device=device)
        with torch.inference_mode(), recording(model, receive):
            output = model(tokens)
        loss = float("nan")
        if pretrained.causal:
            loss = float(next_token_loss(output.logits, tokens))
        found.append(_table(number, layers, loss))
        report(f"passage {number + 1} of {len(texts)}")
    return pd.concat(found, ignore_index=True)


def _table(number: int, layers: Sequence[Tensor], loss: float) -> pd.DataFrame:
    values = torch.stack(list(layers)).cpu()
    depth, heads, _ = values.shape
    index = pd.MultiIndex.from_product(
        [[number], range(depth), range(heads)], names=["text", "layer", "head"]
    )
    table = pd.DataFrame(values.flatten(0, 1).numpy(), index, list(MEASURES))
    table.insert(0, "loss", loss)
    return table.reset_index()


def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of the next token, nats, a scalar.

    Args:
        logits: a causal model's, (1, T, vocabulary).
        tokens: what it read, (1, T).
    """
    ahead = logits[0, :-1].float()
    return torch.nn.functional.cross_entropy(ahead, tokens[0, 1:])


def by_head(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the means over passages, one row a layer and head.

    ``sink_share_sd`` is the standard deviation of the sink's share between passages;
    ``entropy_sink_part`` the share of the entropy that is not within the content.
    """
    groups = measured.drop(columns=["text", "loss"]).groupby(["layer", "head"])
    table = groups.mean()
    table["sink_share_sd"] = groups["sink_share"].std()
    inside = table["entropy_content"]
    table["entropy_sink_part"] = 1 - inside / table["entropy"].where(
        table["entropy"] > 0
    )
    return table.reset_index()

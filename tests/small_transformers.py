"""Small transformers with random weights, as large ones are built."""

from typing import Any

import torch
from torch import nn

WORDS = [f"w{i}" for i in range(60)]
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 48, "vocab_size": 64, "max_position_embeddings": 64}


def small_model(kind: str, scale: float = 4, **options: Any) -> nn.Module:
    """A causal llama with grouped heads, a causal gpt_neox, or a bidirectional bert.

    Weights are drawn as for training, times a scale, without which attention is all but
    even.
    """
    import transformers

    torch.manual_seed(4)
    if kind == "llama":
        sizes = SIZES | {"num_key_value_heads": 2} | options
        config = transformers.LlamaConfig(**sizes)
        model = transformers.LlamaForCausalLM._from_config(
            config, attn_implementation="eager"
        )
    elif kind == "gpt_neox":
        config = transformers.GPTNeoXConfig(**SIZES | options)
        model = transformers.GPTNeoXForCausalLM._from_config(
            config, attn_implementation="eager"
        )
    else:
        config = transformers.BertConfig(**SIZES | options)
        model = transformers.BertModel._from_config(config, attn_implementation="eager")
    for weight in model.parameters():
        weight.data.mul_(scale)
    return model.eval()


def small_tokenizer(encoder: bool = False) -> Any:
    """Words w0 to w59 by number; an encoder's texts lie between [CLS] and [SEP]."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    known = {word: i for i, word in enumerate(["[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"unk_token": "[UNK]"}
    if encoder:
        special |= {"cls_token": "[CLS]", "sep_token": "[SEP]"}
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def text(words: int, seed: int = 0) -> str:
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(WORDS), (words,), generator=generator)
    return " ".join(WORDS[i] for i in drawn)

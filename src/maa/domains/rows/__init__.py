"""The domain of attention rows: pretrained transformers read texts."""

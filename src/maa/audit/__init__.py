"""Pretrained transformers read texts, and their attention rows are measured."""

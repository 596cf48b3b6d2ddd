"""Attention rows as compositions: measures that do not depend on a convention.

Source: Papamichalis and Ruane, "Which Question Is Your Attention Metric Answering?
Attention Rows as Compositional Data", arXiv 2608.14712.
"""

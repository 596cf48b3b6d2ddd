"""A small causal transformer trained from nothing, for its checkpoints."""

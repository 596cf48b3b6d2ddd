"""Mass-aware attention: the operators, and what it takes to reproduce the papers on them."""

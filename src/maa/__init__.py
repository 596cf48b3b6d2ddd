"""Mass-aware attention: the operators, and the papers that they come from."""

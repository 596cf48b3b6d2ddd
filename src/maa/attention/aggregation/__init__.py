"""Operators, one module a kind, reached by the name of the kind."""

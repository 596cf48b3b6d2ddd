"""Figures and tables: one module each, reached by name."""

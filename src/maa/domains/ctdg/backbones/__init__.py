"""Backbones of the CTDG domain, one module each, reached by name."""

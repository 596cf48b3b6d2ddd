"""Continuous-time dynamic graphs (CTDG): the paper's core study."""

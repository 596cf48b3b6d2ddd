"""Probes: what a frozen representation holds of statistics of the data."""

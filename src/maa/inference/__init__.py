"""From measurements to effects: cells, exact tests, Holm, bootstrap intervals."""

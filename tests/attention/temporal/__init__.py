"""Temporal attention: its Jacobian, bounds and regularisers."""

"""The forecasters: one module each, reached by name."""

"""Mass-aware attention inside other libraries' models."""

"""The rows of the read model, as values."""

"""How well a model does on a set of data."""

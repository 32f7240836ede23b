"""A pass checked against torch itself."""

"""A pass in a file."""

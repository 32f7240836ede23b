"""Outputs replaced on their way."""

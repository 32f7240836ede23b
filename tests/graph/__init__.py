"""Tests of the pass without its tensors."""

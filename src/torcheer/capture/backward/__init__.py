"""Backward passes, read off autograd's own nodes."""

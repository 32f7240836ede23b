"""Backpropagation to watch: an expression taken apart into steps, checked against torch, and exercises."""

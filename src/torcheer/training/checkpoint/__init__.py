"""Checkpoints: a training in one file, and a training that goes on from it."""

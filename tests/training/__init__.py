"""Tests of training: data, fitting, checkpoints, the loop that is stepped."""

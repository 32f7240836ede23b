"""Tests of runs: what is logged, written and read."""

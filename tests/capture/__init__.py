"""Tests of what one pass records."""

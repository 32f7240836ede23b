"""Tests of the places where features are kept."""

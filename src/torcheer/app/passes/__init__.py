"""Passes for the page: saved ones, those of a program, and one as an HTML file."""

"""Stored activations of whole data sets for the page: found, looked into, analysed."""

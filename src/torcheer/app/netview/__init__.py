"""The network of a run for NetView: its scene, values, weights and analyses."""

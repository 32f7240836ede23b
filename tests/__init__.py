"""The tests, in the same rooms as src/torcheer."""

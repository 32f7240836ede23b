"""The order of the data and all random numbers, so that a training goes on as if it had never stopped."""

"""Look at the values of a pass: faults, statistics, two passes compared."""

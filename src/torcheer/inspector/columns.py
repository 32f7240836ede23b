"""The figures of a row, in the order in which they stand in the statistics of a run."""

from __future__ import annotations

from typing import Final

from torcheer.run import ESTIMATES, NUM_VALUES

QUANTILES: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)

# Mean to norm, and the quantiles, are of the finite values; shares are from 0 to 1. NaN: it has no meaning.
COLUMNS: Final = (
    "mean",
    "std",
    "min",
    "max",
    "norm",
    "zeros",  # share of values that are exactly 0
    "nan",  # share
    "inf",  # share
    *(f"q{round(100 * share):02d}" for share in QUANTILES),
    "ratio",  # of an update: its norm by that of the weight
    "dead",  # of an activation: share of units that are 0 throughout
    "saturated",  # of a bounded activation: share of values near a bound
    ESTIMATES,  # which of the figures above are of a sample
    NUM_VALUES,  # how many values that sample has
)
COLUMN: Final = {name: index for index, name in enumerate(COLUMNS)}

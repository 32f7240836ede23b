"""The weights of one unit, laid on the units at their other end. No torch."""

from torcheer.netview.weights.ends import UnitWeights
from torcheer.netview.weights.laying import received, sent

__all__ = ["UnitWeights", "received", "sent"]

"""Something in a training that a person should look at: what it is, where, and since when."""

from torcheer.inspector.alarms.registry import Alarms as Alarms

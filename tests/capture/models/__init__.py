"""Small models, one difficulty each, with their graphs as a person would draw them."""

from tests.capture.models import inplace, inputs, loops, memory, randomness, structure, wrappers
from tests.capture.models.registry import MODELS, SmallModel

__all__ = [
    "MODELS",
    "SmallModel",
    "inplace",
    "inputs",
    "loops",
    "memory",
    "randomness",
    "structure",
    "wrappers",
]

"""Small models, one difficulty each, with their graphs as a person would draw them."""

import pytest

from tests.capture.models import inplace, inputs, loops, memory, randomness, structure, wrappers
from tests.capture.models.registry import MODELS, SmallModel
from tests.many import some

_PARAMETERS = [pytest.param(model, id=model.name) for model in MODELS]
each_model = pytest.mark.parametrize("small", _PARAMETERS)
some_models = pytest.mark.parametrize("small", some(_PARAMETERS, one_in=8))

__all__ = [
    "MODELS",
    "SmallModel",
    "each_model",
    "inplace",
    "inputs",
    "loops",
    "memory",
    "randomness",
    "some_models",
    "structure",
    "wrappers",
]

"""Long lists: a chosen part of them in `make test`, all of them in `make test-all`."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any, Final

import pytest

IS_ALL: Final = os.environ.get("TESTS") == "all"  # set by `make test-all`
_ONE_IN: Final = 5  # of the examples of a property


def examples(count: int) -> int:
    """How many examples of a property to try, where all would be `count`."""
    return count if IS_ALL else max(5, count // _ONE_IN)


def some(cases: Iterable[Any], *, one_in: int = 10, always: Iterable[str] = ()) -> list[Any]:
    """Parameters of a test: one in so many, spread over the list, and those with an id in `always`.

    Neighbours are alike in our lists, so that one from each stretch makes a diverse choice. It is the same
    in every run.
    """
    parameters = [_parameter(case) for case in cases]
    if IS_ALL:
        return parameters
    dice = random.Random(len(parameters))
    starts = range(0, len(parameters), one_in)
    chosen = {start + dice.randrange(min(one_in, len(parameters) - start)) for start in starts}
    return [case for at, case in enumerate(parameters) if at in chosen or case.id in set(always)]


def _parameter(case: Any) -> Any:
    """A tuple is a case of several values."""
    if isinstance(case, type(pytest.param())):
        return case
    return pytest.param(*case) if type(case) is tuple else pytest.param(case)

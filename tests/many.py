"""Long lists: a chosen part of them in `make test`, all of them in `make test-all`."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any, Final

import pytest

IS_ALL: Final = os.environ.get("TESTS") == "all"  # set by `make test-all`
_PART: Final = 5  # of the examples of a property test, one in so many


def examples(count: int) -> int:
    """How many examples of a property to try, where all would be `count`."""
    return count if IS_ALL else max(5, count // _PART)


def some(cases: Iterable[Any], *, one_in: int = 10, always: Iterable[str] = ()) -> list[Any]:
    """Parameters of a test: one in so many, spread over the list, and those with an id in `always`.

    The others have the mark `many`, which `make test` leaves out. Neighbours are alike in our lists, so that
    one from each stretch makes a diverse choice.
    """
    parameters = [case if isinstance(case, type(pytest.param())) else pytest.param(case) for case in cases]
    chosen = random.Random(0)
    kept = {
        start + chosen.randrange(min(one_in, len(parameters) - start))
        for start in range(0, len(parameters), one_in)
    }
    return [
        case
        if at in kept or case.id in always
        else pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.many))
        for at, case in enumerate(parameters)
    ]

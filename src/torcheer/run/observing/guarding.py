"""Methods that never raise into a training: what goes wrong is told, and the training goes on."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from torcheer.errors import TorcheerError

P = ParamSpec("P")


class Telling(Protocol):
    """Tells somebody, once for each cause, or for each of the first few series of a cause, and counts."""

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None: ...


S = TypeVar("S", bound=Telling)
_LEFT_ALONE: dict[Callable[..., Any], Callable[..., Any]] = {}


def never_raising(method: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    # What no user calls by name is behind `run.log`.
    called = "log" if method.__name__.startswith("_") else method.__name__
    place = 0 if called.startswith("add_") else 1  # of the series' name: after the step, or first

    @functools.wraps(method)
    def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            as_it_is(method)(self, *args, **kwargs)
        except Exception as error:
            given = [*args[place : place + 1], *(kwargs.get(key) for key in ("name", "tag", "main_tag"))]
            series = next((value for value in given if isinstance(value, str)), None)
            name = "" if series is None else f" {series[:80]!r}"
            # Once for each series, though the figures in the sentence may differ from step to step.
            self._tell(f"{called}{name}: {reason_of(error)}", called, series)

    return guarded


def as_it_is(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method as torch.compile must leave it: a log call in a compiled model runs, and is not traced."""
    if "torch._dynamo" not in sys.modules:  # then nothing can be compiled
        return method
    left_alone = _LEFT_ALONE.get(method)
    if left_alone is None:
        left_alone = _LEFT_ALONE[method] = sys.modules["torch"].compiler.disable(method)
    return left_alone


def reason_of(error: Exception) -> str:
    """Our own sentences as they are; of anything else what it is, too."""
    text = str(error).partition("\n")[0][:300]
    return text if isinstance(error, TorcheerError) and text else f"{type(error).__name__}: {text}"

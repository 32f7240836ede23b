"""Ctrl-C ends a training between two steps, never inside of one, so that it can go on later."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from torcheer.graph import say
from torcheer.training import distributed
from torcheer.training.trainer.callbacks import Training

INTERRUPTED = "interrupted"


class Interruption:
    """What Ctrl-C does now: the first time it stops the training, the second time it raises."""

    def __init__(self, stop: Callable[[], None], what: str) -> None:
        self._stop = stop
        self._what = what  # is ended first: a step, a trial
        self.may_break = False  # True where nothing is under way that has to be ended first
        self.num_asked = 0

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        self.num_asked += 1
        self._stop()
        if self.num_asked == 1:
            # Whatever was being printed just now may not let anything come between.
            with suppress(Exception):
                after = f" after this {self._what}; Ctrl-C again ends it at once"
                say("stopping" + ("" if self.may_break else after))
        if self.may_break or self.num_asked > 1:
            raise KeyboardInterrupt

    @contextmanager
    def breaking(self) -> Iterator[None]:
        """Inside, Ctrl-C raises at once: nothing of the training changes there."""
        self.may_break = True
        try:
            yield
        finally:
            self.may_break = False


@contextmanager
def deferred(stop: Callable[[], None], what: str) -> Iterator[Interruption]:
    """Note Ctrl-C instead of raising; only where Python's own handling is in place, in the main thread."""
    interruption = Interruption(stop, what)
    # Several processes do not get it at the same step: whoever goes on would wait for the others.
    is_ours = (
        not distributed.is_connected()
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_ours:
        yield interruption
        return
    signal.signal(signal.SIGINT, interruption)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def returning_when_interrupted(training: Training) -> Iterator[Interruption]:
    """What is inside ends with Ctrl-C, and what follows goes on with the history so far.

    The history is on any other exception, too, as `.history`.
    """
    with deferred(lambda: training.stop(INTERRUPTED), "step") as interruption:
        try:
            yield interruption
        except KeyboardInterrupt:
            training.stop(INTERRUPTED)
            if interruption.num_asked > 1:
                raise
        except Exception as error:
            training.stop(f"{type(error).__name__}: {error}".rstrip(": "))
            with suppress(Exception):
                error.history = training.history  # type: ignore[attr-defined]
            raise
        finally:
            training.history.stopped_by = training.stopped_by

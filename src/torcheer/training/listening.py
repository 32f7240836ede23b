"""Who is told what happens: the progress that is shown, then the callbacks in their order.

Everybody is told, whatever the others do with it: a callback that raises costs no checkpoint and no figure.
What the first one raised goes on its way when all were told; what others raised is noted on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torcheer.capture import Batch
from torcheer.training import distributed
from torcheer.training.callbacks import Callback, Training, heard_by
from torcheer.training.interrupting import INTERRUPTED
from torcheer.training.progress import FitBars
from torcheer.training.stopping import put_best_back

Heard = Callable[[Training], object]  # a method of a callback


def tell_all(heard: Sequence[Heard], training: Training) -> None:
    """Call each of them; then raise what the first raised, if one did."""
    first: BaseException | None = None
    for method in heard:
        try:
            method(training)
        except BaseException as error:  # also Ctrl-C: the others are told first
            if first is None:
                first = error
            elif error is not first:
                note(first, error, getattr(method, "__qualname__", repr(method)))
    if first is not None:
        raise first


def note(first: BaseException, other: BaseException, where: str) -> None:
    first.add_note(f"{where} raised as well: {type(other).__name__}: {other}".rstrip(": "))
    for line in getattr(other, "__notes__", ()):
        first.add_note(line)


class Listeners:
    """The methods to call, looked up once."""

    def __init__(self, training: Training, progress: Callback | None) -> None:
        self._training = training
        self._progress = progress
        everyone = [*([] if progress is None else [progress]), *training.callbacks]
        self.on_begin = heard_by(everyone, "on_begin")
        self.on_step = heard_by(everyone, "on_step")
        self.on_epoch = heard_by(everyone, "on_epoch")
        self.on_end = heard_by(everyone, "on_end")
        # Of several processes none may stop in the middle of an epoch: the others would wait for it.
        self.may_stop_alone = not distributed.is_connected()

    @property
    def on_test_batch(self) -> Callable[[Batch, Any], None] | None:
        progress, training = self._progress, self._training
        if not isinstance(progress, FitBars):
            return None
        return lambda _batch, _outputs: progress.on_test_batch(training)

    def agree_on_stop(self) -> None:
        """Where one process stops, all do."""
        if distributed.any_rank(self._training.stopped_by is not None):
            self._training.stop("another process stopped")


@contextmanager
def listening(training: Training, progress: Callback | None) -> Iterator[Listeners]:
    """Everybody is told of the beginning, and of the end, in whatever way it comes."""
    listeners = Listeners(training, progress)
    try:
        tell_all(listeners.on_begin, training)
        yield listeners
    except BaseException as error:
        training.error = error
        if isinstance(error, KeyboardInterrupt):
            training.stop(INTERRUPTED)
        _tell_end(listeners, training, error)
        raise
    else:
        _tell_end(listeners, training, None)


def _tell_end(listeners: Listeners, training: Training, ended_by: BaseException | None) -> None:
    """Whatever the callbacks do, the last checkpoint is written, and then the best weights are put back."""
    is_whole = ended_by is None or isinstance(ended_by, KeyboardInterrupt)
    try:
        try:
            tell_all(listeners.on_end, training)
        finally:
            if is_whole:
                put_best_back(training)
    except BaseException as error:
        # Ctrl-C ends a training as it should end, and is not heard of again: what went wrong then is.
        if is_whole:
            raise
        assert ended_by is not None
        note(ended_by, error, "on_end")

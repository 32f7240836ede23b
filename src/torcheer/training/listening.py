"""Who is told what happens: the progress that is shown, then the callbacks in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torcheer.capture.batches import Batch
from torcheer.training import distributed
from torcheer.training.callbacks import Callback, Training, heard_by
from torcheer.training.interrupting import INTERRUPTED
from torcheer.training.progress import Bars


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
        if not isinstance(progress, Bars):
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
        for on_begin in listeners.on_begin:
            on_begin(training)
        yield listeners
    except KeyboardInterrupt as error:
        training.error = error
        training.stop(INTERRUPTED)
        raise
    except BaseException as error:
        training.error = error
        raise
    finally:
        for on_end in listeners.on_end:
            on_end(training)

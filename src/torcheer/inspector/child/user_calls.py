"""What the child does for the user: functions that are called with tensors, and messages to print."""

from __future__ import annotations

import time
import traceback
import warnings
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from torcheer.inspector.child.run_writer import lost_calls, together
from torcheer.inspector.frame_format import DTYPES, Frame, Plan
from torcheer.inspector.protocol import Callbacks, Channel, Lost, Raised, ToChild, Told
from torcheer.run import RunWarning

if TYPE_CHECKING:
    from torch import Tensor

_MOST_CAUSES = 200
_MOST_CHARACTERS = 2000


class UserMessages:
    """Collects what is to be said, from any thread; the loop sends it."""

    def __init__(self, channel: Channel[ToChild]) -> None:
        self._channel = channel
        self._waiting: deque[Told | Raised | Lost] = deque()
        self._causes: set[str] = set()

    def tell(self, message: str, cause: str | None = None) -> None:
        cause = message if cause is None else cause
        if cause in self._causes or len(self._causes) >= _MOST_CAUSES:
            return
        self._causes.add(cause)
        self._waiting.append(Told(message=message[:_MOST_CHARACTERS]))

    def raise_alarm(self, alarm: Raised) -> None:
        self._waiting.append(alarm)

    def report(self, lost: Lost) -> None:
        """What the run could not keep: the training counts it, too."""
        self._waiting.append(lost)

    def send(self) -> None:
        """From the loop's thread alone."""
        while self._waiting:
            self._channel.send(self._waiting.popleft())
        if self._channel.num_waiting:
            self._channel.pump()

    def pass_on_warnings(self) -> None:
        """What a run warns of, the training's user is to read; all other warnings stay what they are."""
        show = warnings.showwarning

        def showwarning(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
            if issubclass(category, RunWarning):
                self.tell(str(message))
            else:
                show(message, category, *rest, **named)

        warnings.showwarning = showwarning
        warnings.simplefilter("always", RunWarning)


def words_of(error: BaseException) -> str:
    """The exception in a line, and where it was raised."""
    try:
        text = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    except Exception:  # an exception whose own text fails
        text = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


class Caller:
    """The user's callbacks, how often they failed, and the calls for which no time was left."""

    def __init__(self, callbacks: Callbacks | None, voice: UserMessages) -> None:
        self._callbacks = Callbacks() if callbacks is None else callbacks
        self._voice = voice
        self._is_closed = False
        self.num_failures = 0
        self._skipped: Lost | None = None  # since it was last asked for

    @property
    def is_wanted(self) -> bool:
        return self._callbacks.on_run is not None

    def call(self, frame: Frame, plan: Plan, deadline: float) -> None:
        """For all rows of a frame that have an excerpt. Those that are left when time is up are counted."""
        on_run = self._callbacks.on_run
        if on_run is None:
            return
        skipped: list[str] = []
        for index, row in enumerate(plan.rows):
            excerpt = frame.excerpt(index)
            if excerpt is None:
                continue
            if time.monotonic() > deadline:
                skipped.append(row.name)
                continue
            try:
                on_run(row.name, frame.step, tensor_of(excerpt, int(frame.rows["dtype"][index])))
            except BaseException as error:  # also sys.exit() of theirs: this process is not theirs to end
                self._note(error, f"at {row.name}, step {frame.step}")
        if skipped:
            self._skipped = together(self._skipped, lost_calls(skipped, frame.step))
            self._voice.tell("the training ended before the callback had seen all that was kept for it.")

    def take_skipped(self) -> Lost | None:
        """The calls that were not made since this was last asked, for the run."""
        skipped, self._skipped = self._skipped, None
        return skipped

    def close(self) -> None:
        """Nothing more comes. Called once, however often this is."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._callbacks.on_closing is not None:
            try:
                self._callbacks.on_closing()
            except BaseException as error:
                self._note(error, "at the end")
        if self.num_failures > 1:
            self._voice.tell(f"the callback failed {self.num_failures:,} times in all.")

    def _note(self, error: BaseException, where: str) -> None:
        self.num_failures += 1
        words = words_of(error)
        self._voice.tell(
            f"the callback failed {where}: {words}. It is called again for the next tensor; this is told "
            "once, and counted.",
            cause=f"callback {type(error).__name__} {words.rpartition('(')[2]}",
        )


def tensor_of(excerpt: numpy.ndarray[Any, Any], code: int) -> Tensor:
    """A copy, as the type that it had."""
    import torch

    dtype = getattr(torch, DTYPES[code][0])
    whole = numpy.array(excerpt)  # the slot is filled anew soon
    # Types that NumPy has not: their bytes go to torch as whole numbers of the same size.
    return torch.from_numpy(whole.view("<i2") if whole.dtype == "<u2" else whole).view(dtype)

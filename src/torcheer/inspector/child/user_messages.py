"""What the child has to say to the user: once each, and through the training, whose terminal it is."""

from __future__ import annotations

import traceback
import warnings
from collections import deque
from pathlib import Path
from typing import Any

from torcheer.inspector.protocol import Channel, Lost, Raised, ToChild, Told
from torcheer.run import RunWarning

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

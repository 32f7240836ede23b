"""One process that watches, and the channel to it, from its start to its end."""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from typing import Final

from torcheer.errors import InspectorError
from torcheer.inspector.channel import Channel, to_child
from torcheer.inspector.child.waiting import wait_for
from torcheer.inspector.launchprocess import Way
from torcheer.inspector.messages import Message, ToParent

_MOST_DEATHS, _DEATHS_SECONDS = 5, 60.0
_DYING_SECONDS: Final = 3.0  # for a process that has closed its channel


class Life:
    """Raises InputError or InspectorError where it cannot be started."""

    def __init__(self, way: Way) -> None:
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise InspectorError(
                f"there can be no channel to the process that watches ({error}): close files that are open, "
                "or allow more of them (ulimit -n)."
            ) from error
        self.channel: Channel[ToParent] = to_child(ours)
        _all_channels.add(self.channel)  # before the start: the new process may be a fork
        try:
            self._process = way.start(theirs)
        except BaseException:
            self.channel.close()
            raise
        finally:
            theirs.close()
        self.is_ready = False
        self.failure = ""  # why it could not begin
        self.is_expected_to_end = False  # it said that it was idle, or was told to close
        self._dying_since = 0.0
        self._waiting: deque[Message] = deque()  # what is on its way, and perhaps some that is not any more

    def send(self, message: Message, descriptor: int | None = None) -> None:
        """Now, or as soon as there is room."""
        self.channel.send(message, descriptor)
        self._waiting.append(message)
        self._forget_the_sent()

    def unsent(self) -> list[Message]:
        """What the process never heard, and will not when the channel is closed now."""
        self._forget_the_sent()
        return list(self._waiting)

    def _forget_the_sent(self) -> None:
        while len(self._waiting) > self.channel.num_waiting:
            self._waiting.popleft()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it lives."""
        return self._process.exit_code()

    @property
    def is_alive(self) -> bool:
        return self._process.exit_code() is None

    def wait_for_news(self, seconds: float) -> None:
        """Until it says something, or can be told something, or the time is up."""
        if self.channel.is_open:
            wait_for(self.channel.fileno(), seconds, writing=self.channel.num_waiting > 0)
        else:
            time.sleep(seconds)

    def hasten(self, now: float) -> None:
        """Without its channel it is of no use: where it does not end by itself, it is killed."""
        if not self.channel.is_open:
            self._dying_since = self._dying_since or now
            if now - self._dying_since > _DYING_SECONDS:
                self._process.kill()

    def stop(self) -> None:
        """One that never became ready."""
        while self._process.exit_code() is None:
            self._process.kill()
            time.sleep(0.01)
        self.let_go()

    def let_go(self) -> None:
        """Close our end of the channel. The process, where it still lives, ends by itself."""
        self.channel.close()
        if self.is_alive:  # somebody has to wait for its end, else it stays a zombie
            with suppress(RuntimeError):  # the interpreter is ending
                threading.Thread(target=self._process.wait, name="torcheer end", daemon=True).start()


# The training's ends. A fork that kept one would hide from the process that watches that it was closed.
_all_channels: weakref.WeakSet[Channel[ToParent]] = weakref.WeakSet()


def _close_channels_in_fork() -> None:
    for channel in list(_all_channels):
        channel.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_channels_in_fork)


class Deaths:
    """When processes were killed, lately."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_MOST_DEATHS + 1)

    def note(self, now: float) -> None:
        self._times.append(now)

    @property
    def are_too_many(self) -> bool:
        """It will die again: there is no use in starting another."""
        return len(self._times) > _MOST_DEATHS and self._times[-1] - self._times[0] < _DEATHS_SECONDS

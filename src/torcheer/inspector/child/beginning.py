"""How the child begins: in a new interpreter, or in a process that multiprocessing made."""

from __future__ import annotations

import gc
import os
import pickle
import socket
import sys
import time
from contextlib import suppress
from typing import Final

from torcheer.inspector.callbacks import Callbacks
from torcheer.inspector.channel import Channel, to_parent
from torcheer.inspector.child.lifetime import Signals, end_within
from torcheer.inspector.child.telling import words_of
from torcheer.inspector.child.waiting import wait_for
from torcheer.inspector.child_process import NOT_TOLD, note_that_this_is_a_child
from torcheer.inspector.messages import Failed, Job, Ready, ToChild

_JOB_SECONDS: Final = 120.0
_SHUTDOWN_SECONDS: Final = 10.0
_NICENESS: Final = 10


def begin_fresh(channel: int, callbacks: int) -> None:
    """In a new interpreter, with two descriptors: the channel, and the pickled callbacks (-1 for none)."""
    _live(socket.socket(fileno=channel), None, callbacks)


def begin_in_process(end: socket.socket, callbacks: Callbacks | None) -> None:
    """In a process of multiprocessing."""
    gc.freeze()  # after a fork: what the training has is not looked through, and stays shared
    torch = sys.modules.get("torch")
    if torch is not None:  # its threads did not come along
        torch.set_num_threads(1)
    _live(end, callbacks, -1)


def _live(end: socket.socket, callbacks: Callbacks | None, pickled: int) -> None:
    note_that_this_is_a_child()
    signals = Signals()
    channel = to_parent(end)
    job = _job(channel)
    if job is None:
        return
    with suppress(OSError):
        os.nice(_NICENESS)
    try:
        # Only now, so that signals are heeded from the first moment on.
        from torcheer.inspector.child.loop import Loop

        loop = Loop(channel, job, _unpickled(pickled) if pickled >= 0 else callbacks, signals)
    except Exception as error:
        channel.send(Failed(message=words_of(error)))
        end_within(1.0)
        return
    channel.send(Ready(pid=os.getpid()))
    loop.run()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    end_within(_SHUTDOWN_SECONDS)
    if not loop.was_told_to_close:
        sys.exit(NOT_TOLD)  # what was said to it at the end, it may not have heard


def _job(channel: Channel[ToChild]) -> Job | None:
    """The first thing that the training says; None where it has gone."""
    end = time.monotonic() + _JOB_SECONDS
    while channel.is_open and time.monotonic() < end:
        for message in channel.hear():
            assert isinstance(message, Job)
            return message
        wait_for(channel.fileno(), 1.0)
    return None


def _unpickled(descriptor: int) -> Callbacks:
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        callbacks: Callbacks = pickle.load(file)
    return callbacks

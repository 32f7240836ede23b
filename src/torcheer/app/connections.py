"""Connections before the door: they have a time limit, and many that say nothing lock nobody out.

A connection waits until the head of a request is whole. Those that wait are counted apart from pages. Where
there are too many, the one that has waited longest goes: whoever means to ask something does so at once.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import time
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEAD_SECONDS: Final = 10.0  # for the head of a request to come
MOST_WAITING: Final = 64
_LOG: Final = logging.getLogger("torcheer.app")
_LOG_SECONDS: Final = 60.0
_NO_FILES_LEFT: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Connection(H11Protocol):
    """A connection of a browser, or of whoever else."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._others = _waiting.setdefault(self.server_state, {})
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        # A whole head makes a new cycle; one that is left for a page's socket has done so before it returns.
        former = self.cycle
        super().handle_events()
        if self.cycle is not former:
            self._end_waiting()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._end_waiting()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._begin_waiting()  # for the next request

    def _begin_waiting(self) -> None:
        self._end_waiting()
        self._others[self] = None
        self._limit = self.loop.call_later(HEAD_SECONDS, self._give_up)
        if len(self._others) > MOST_WAITING:
            next(iter(self._others))._give_up()

    def _end_waiting(self) -> None:
        self._others.pop(self, None)
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _give_up(self) -> None:
        self._end_waiting()
        self.transport.abort()


_waiting: Final[WeakKeyDictionary[ServerState, dict[Connection, None]]] = WeakKeyDictionary()  # oldest first


class ListeningSocket(socket.socket):
    """Refuses connections while no more files can be opened, and says so once.

    A file is held back for that: it is given up for a moment, so that a connection can be taken and closed.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._held_back: int | None = _opened_nothing()
        self._said_at = float("-inf")

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            try:
                return super().accept()
            except OSError as error:
                if error.errno not in _NO_FILES_LEFT or self._held_back is None:
                    raise
                self._say(error)
            self._refuse_one()

    def close(self) -> None:
        super().close()
        self._let_go()

    def _refuse_one(self) -> None:
        """BlockingIOError where nobody waits any more."""
        self._let_go()
        try:
            connection, _ = super().accept()
            connection.close()
        finally:
            self._held_back = _opened_nothing()

    def _let_go(self) -> None:
        if self._held_back is not None:
            with suppress(OSError):
                os.close(self._held_back)
            self._held_back = None

    def _say(self, error: OSError) -> None:
        now = time.monotonic()
        if now - self._said_at > _LOG_SECONDS:
            _LOG.warning(
                "connections are refused until others are closed: no more files can be opened (%s)",
                error.strerror,
            )
        self._said_at = now


def _opened_nothing() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None

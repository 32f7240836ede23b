"""Where the server listens, and connections before the door.

A connection has a time limit for the head of a request. Those that wait are counted apart from pages; where
there are too many, the one that has waited longest goes.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from torcheer.app.access import HostNames
from torcheer.errors import InputError

HEAD_SECONDS: Final = 10.0  # for the head of a request to come
MOST_WAITING: Final = 64
_LOG: Final = logging.getLogger("torcheer.app")
_LOG_SECONDS: Final = 60.0
_NO_FILES_SECONDS: Final = 0.02
_NO_FILES_LEFT: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Connection(H11Protocol):
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
    """Lets connections wait while no more files can be opened, and says so once."""

    _said_at = float("-inf")

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _NO_FILES_LEFT:
                raise
            now = time.monotonic()
            if now - self._said_at > _LOG_SECONDS:
                _LOG.warning("connections wait: no more files can be opened (%s)", error.strerror)
            self._said_at = now
            # The loop would try again at once, and without end.
            time.sleep(_NO_FILES_SECONDS)
            raise BlockingIOError from error


# Tried in this order, so that a server that is started again is found where it was.
PREFERRED_PORTS: Final = range(6180, 6190)
_TAKEN: Final = (errno.EADDRINUSE, errno.EACCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A socket that is bound but not served yet."""

    socket: socket.socket
    host_names: HostNames
    shown_names: tuple[str, ...]  # those to print, the best first
    is_public: bool  # can be reached from other machines

    @property
    def port(self) -> int:
        return self.host_names.port

    def urls(self, token: str) -> list[str]:
        return [f"http://{name}:{self.port}/?token={token}" for name in self.shown_names]


def listen(host: str = "127.0.0.1", port: int | None = None) -> Listener:
    """Bind to a host: at that port, at any free one for 0, or at one of ours for None."""
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"a port is a number from 0 to 65535, not {port}.")
    address = _resolve(host)
    bound = _bind_first(host, address, [*PREFERRED_PORTS, 0] if port is None else [port])
    parsed = ipaddress.ip_address(address.partition("%")[0])
    names = _names(host, parsed)
    shown = ("127.0.0.1", *_machine_names()) if parsed.is_unspecified else names[:1]
    return Listener(
        socket=bound,
        host_names=HostNames(
            names=frozenset(names), port=bound.getsockname()[1], accepts_own_addresses=parsed.is_unspecified
        ),
        shown_names=shown,
        is_public=not parsed.is_loopback,
    )


def _resolve(host: str) -> str:
    if host.lower() == "localhost":
        return "127.0.0.1"  # and not ::1, which some systems put first
    try:
        found = socket.getaddrinfo(host.strip("[]") or "?", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"the host {host!r} is not known here ({error}): leave --host out for this machine alone, "
            "or give a name or address of one of its network interfaces."
        ) from None
    return str(found[0][4][0])


def _names(host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> tuple[str, ...]:
    """What may stand in the Host header, best first."""
    literal = f"[{address}]" if address.version == 6 else str(address)
    if address.is_unspecified:
        return ("localhost", "127.0.0.1", "[::1]", *_machine_names())
    given = () if _is_literal(host) else (host.lower(),)
    # A browser never asks DNS for localhost, so that name is as safe as an address.
    return (*given, literal, *(("localhost",) if address.is_loopback else ()))


def _machine_names() -> tuple[str, ...]:
    name = socket.gethostname().lower()
    return (name,) if name and name != "localhost" else ()


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def _bind_first(host: str, address: str, ports: Sequence[int]) -> socket.socket:
    for port in ports:
        try:
            return _bind(address, port)
        except OSError as error:
            if error.errno not in _TAKEN or port == ports[-1]:
                raise _cannot_listen(host, port, error) from error
    raise ValueError("no port to try")


def _bind(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = ListeningSocket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            # Without it, another program could take the port over.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            # The port of a server that has just stopped would be kept back for a minute.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, port))
        # Now, and not when it is served: two sockets can be bound to one port until one of them listens.
        bound.listen()
    except BaseException:
        bound.close()
        raise
    return bound


def _cannot_listen(host: str, port: int, error: OSError) -> InputError:
    whys = {
        errno.EADDRINUSE: "is taken by another program",
        errno.EACCES: "is not for ordinary users, who have those from 1024 on",
        errno.EADDRNOTAVAIL: "cannot be had, as that is no address of this machine",
    }
    why = whys.get(error.errno or 0, f"cannot be had ({error.strerror or error})")
    return InputError(
        f"port {port} at {host} {why}: choose another with --port or --host, or leave --port out."
    )

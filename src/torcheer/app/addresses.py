"""Where the server listens: a host, a port that is free, and the names it is reached by."""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from torcheer.app.connections import ListeningSocket
from torcheer.app.security import HostNames
from torcheer.errors import InputError

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


def listen(host: str = "127.0.0.1", port: int | None = None) -> Listener:
    """Bind to a host: at that port, at any free one for 0, or at one of ours for None."""
    address = _resolve(host)
    bound = _bind_preferred(host, address) if port is None else _bind_given(host, address, port)
    parsed = ipaddress.ip_address(address.partition("%")[0])
    names = _names(host, parsed)
    shown = ("127.0.0.1", *_machine_names()) if parsed.is_unspecified else names[:1]
    return Listener(
        socket=bound,
        host_names=HostNames(
            names=frozenset(names),
            port=bound.getsockname()[1],
            accepts_own_addresses=parsed.is_unspecified,
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


def _bind_preferred(host: str, address: str) -> socket.socket:
    for port in PREFERRED_PORTS:
        try:
            return _bind(address, port)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise _cannot_listen(host, port, error) from error
    return _bind_given(host, address, 0)


def _bind_given(host: str, address: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InputError(f"a port is a number from 0 to 65535, not {port}.")
    try:
        return _bind(address, port)
    except OSError as error:
        raise _cannot_listen(host, port, error) from error


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
    if error.errno == errno.EADDRINUSE:
        what = "is taken by another program: choose another with --port, or leave --port out for a free one"
    elif error.errno == errno.EACCES:
        what = "is not for ordinary users: choose one from 1024 on with --port, or leave --port out"
    elif error.errno == errno.EADDRNOTAVAIL:
        what = f"cannot be had: {host} is no address of this machine. Leave --host out, or give one that is"
    else:
        what = f"cannot be had ({error.strerror or error}): choose another with --port or --host"
    return InputError(f"port {port} at {host} {what}.")


def urls(listener: Listener, token: str) -> Iterable[str]:
    """The addresses to open, with the token that lets one in."""
    return (f"http://{name}:{listener.port}/?token={token}" for name in listener.shown_names)

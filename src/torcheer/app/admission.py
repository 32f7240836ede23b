"""Who may come in: whoever has this start's token, or a cookie that was given out in exchange for one."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Final

from starlette.datastructures import Headers

COOKIE_SECONDS: Final = 7 * 24 * 3600


class Admission:
    """Tokens and cookies of one server.

    Browsers send cookies to all ports of a host, so the name of a cookie carries the port, and its value
    holds for that port only. The value is made from a secret that outlives the server: a page that is open
    goes on when the server comes back. It ends after a week, and each page that is opened begins a new one.
    """

    def __init__(self, port: int, secret: bytes, now: Callable[[], float] = time.time) -> None:
        self.token: Final = secrets.token_urlsafe(32)
        self.cookie_name: Final = f"torcheer-{port}"
        self._port = port
        self._secret = secret
        self._now = now
        self._tickets: set[str] = set()

    def ticket(self) -> str:
        """A token that lets in once: for a browser's command line, which others on this machine can see."""
        ticket = secrets.token_urlsafe(32)
        self._tickets.add(ticket)
        return ticket

    def knows(self, token: str) -> bool:
        """Whether this is a token of this start; a ticket is used up by it."""
        used = {ticket for ticket in self._tickets if _same(token, ticket)}
        self._tickets -= used
        return _same(token, self.token) or bool(used)

    def cookie(self) -> str:
        """The whole Set-Cookie header. It has no Max-Age: the browser forgets it when it is closed."""
        expiry = int(self._now()) + COOKIE_SECONDS
        value = f"{expiry}.{self._signature(expiry)}"
        return f"{self.cookie_name}={value}; Path=/; HttpOnly; SameSite=Strict"

    def admits(self, headers: Headers) -> bool:
        """Whether one of the cookies is ours. There may be others of that name: any port can set them."""
        return any(self._is_ours(value) for value in _cookies(headers, self.cookie_name))

    def _is_ours(self, value: str) -> bool:
        expiry, _, signature = value.partition(".")
        # At most ten digits: nothing a stranger sends is made into a long number.
        if not (expiry.isascii() and expiry.isdigit() and len(expiry) <= 10):
            return False
        return _same(signature, self._signature(int(expiry))) and self._now() < int(expiry)

    def _signature(self, expiry: int) -> str:
        text = f"torcheer cookie, port {self._port}, until {expiry}"
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    """In constant time, whatever the characters."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _cookies(headers: Headers, name: str) -> Iterable[str]:
    for header in headers.getlist("cookie"):
        for part in header.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                yield value

"""Who may come in: host, origin, method; a token for a cookie; and what every answer must carry.

The cookie is signed with a secret of the user's own, so that open pages outlive the server.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

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
        parts = [part for header in headers.getlist("cookie") for part in header.split(";")]
        cookies = [part.strip().partition("=") for part in parts]
        return any(name == self.cookie_name and self._is_ours(value) for name, _, value in cookies)

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


_NUM_BYTES: Final = 32
_NAME: Final = "secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """The secret, and a note where it holds for this process only."""

    value: bytes = field(repr=False)
    note: str = ""


def user_secret(folder: Path | None = None) -> Secret:
    """This user's secret, made on first use. Where it cannot be kept, one for this process and a note."""
    try:
        path = (state_folder() if folder is None else folder) / _NAME
        try:
            return Secret(value=_read(path))
        except FileNotFoundError:
            _create(path)
            return Secret(value=_read(path))
    except (OSError, RuntimeError) as error:  # Path.home() raises a RuntimeError
        note = (
            f"no secret can be kept ({error}): pages that are open now must be opened anew after a restart."
        )
        return Secret(value=secrets.token_bytes(_NUM_BYTES), note=note)


def state_folder(platform: str = sys.platform, environment: Mapping[str, str] = os.environ) -> Path:
    """Where programs keep what should outlive them, by the rules of the system."""
    if platform == "win32":
        local = environment.get("LOCALAPPDATA", "")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "torcheer"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "torcheer"
    # XDG says that a relative path here is to be ignored.
    given = Path(environment.get("XDG_STATE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".local" / "state") / "torcheer"


def _read(path: Path) -> bytes:
    # A symbolic link is not followed, and a pipe is not waited for.
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no ordinary file: remove it")
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
            raise OSError(f"{path} is not private to this user: remove it, and a new one is made")
        value = os.read(descriptor, _NUM_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(value) != _NUM_BYTES:
        raise OSError(f"{path} is damaged: remove it, and a new one is made")
    return value


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{_NAME}.{secrets.token_hex(4)}.partial")
    try:
        with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(secrets.token_bytes(_NUM_BYTES))
        # A link takes its name at once and only if it is free: of two servers that start together, both go on
        # with the secret of the first, and neither sees it half written.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


# The page loads its own script, style and worker, and nothing from anywhere else; no inline code runs.
# Pictures are drawn on canvases, which are saved by way of blob: and data: addresses.
CONTENT_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "worker-src 'self'",
        "object-src 'none'",
        "frame-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

# A browser does not send a strict cookie when a link on another site led here, not even after a redirect.
# A page that goes on by itself is a new beginning, and no longer from that site.
_GO_ON: Final = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0;url=/">
<title>torcheer</title>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNames:
    """The names that this server answers to. A name that an attacker's DNS points here is none of them."""

    names: frozenset[str]
    port: int
    accepts_own_addresses: bool = False  # bound to all interfaces: the address that was connected to is right

    def has(self, host: str, connected_to: str) -> bool:
        names = self.names
        if self.accepts_own_addresses:
            names |= {_in_address(connected_to)}
        wanted = {f"{name}:{self.port}" for name in names}
        if self.port == 80:
            wanted |= names
        return host.lower() in wanted


def _in_address(address: str) -> str:
    """An IP address as it stands in a URL."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped) if parsed.ipv4_mapped else f"[{parsed}]"
    return str(parsed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Lets through what may pass, and answers the rest itself."""

    app: ASGIApp
    host_names: HostNames
    admission: Admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        answer = (
            self._wrong_host(scope, headers)
            or self._wrong_origin(scope, headers)
            or _wrong_method(scope)
            or self._stranger(scope, headers)
        )
        if scope["type"] == "websocket":
            # To close a socket before it is open is an answer of 403.
            await (self.app if answer is None else WebSocketClose())(scope, receive, send)
            return
        # Each page that is opened begins its week anew.
        cookie = self.admission.cookie() if answer is None and scope["path"] == "/" else ""
        await (answer or self.app)(scope, receive, _with_headers(send, cookie))

    def _wrong_host(self, scope: Scope, headers: Headers) -> Response | None:
        given = headers.getlist("host")
        connected_to = (scope.get("server") or ("", 0))[0]
        if len(given) == 1 and self.host_names.has(given[0], connected_to):
            return None
        names = " or ".join(sorted(f"{name}:{self.host_names.port}" for name in self.host_names.names))
        return _refusal(
            f"This server answers to {names} only. Through a tunnel, use the same port at both ends; "
            "for another name, start it with --host and that name.\n"
        )

    def _wrong_origin(self, scope: Scope, headers: Headers) -> Response | None:
        given = headers.getlist("origin")
        # Only a page that came from here may open a socket; where an origin is said, it is always looked at.
        is_optional = scope["type"] == "http"
        own = f"http://{headers.get('host', '')}".lower()
        if (is_optional and not given) or [origin.lower() for origin in given] == [own]:
            return None
        return _refusal("Pages from elsewhere may not ask anything here.\n")

    def _stranger(self, scope: Scope, headers: Headers) -> Response | None:
        """Somebody without a cookie, or with a token to be changed into one."""
        is_admitted = self.admission.admits(headers)
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["type"] == "http" and scope["path"] == "/" and tokens:
            if self.admission.knows(tokens[0]) or is_admitted:
                # The token is left behind: it should not stay in the address bar, the history, or a bookmark.
                comes_from_elsewhere = headers.get("sec-fetch-site") == "cross-site"
                answer = HTMLResponse(_GO_ON) if comes_from_elsewhere else RedirectResponse("/", 303)
                answer.headers["set-cookie"] = self.admission.cookie()
                return answer
        elif is_admitted:
            return None
        return _refusal("Open the address that the server printed: it holds a token that lets you in.\n")


def _wrong_method(scope: Scope) -> Response | None:
    if scope["type"] == "websocket" or scope["method"] in ("GET", "HEAD"):
        return None
    return PlainTextResponse("Only GET and HEAD are served.\n", 405, {"allow": "GET, HEAD"})


def _refusal(sentence: str) -> Response:
    return PlainTextResponse(sentence, 403)


def _with_headers(send: Send, cookie: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            if cookie:
                headers["set-cookie"] = cookie
        await send(message)

    return sending

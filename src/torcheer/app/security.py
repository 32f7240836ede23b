"""The guard at the door: which host, which origin, which method, who; and what every answer must carry."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from torcheer.app.admission import Admission

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

_ASK: Final = "Open the address that the server printed: it holds a token that lets you in.\n"

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
        """Whether a Host header names this server."""
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
                return self._welcome(headers)
        elif is_admitted:
            return None
        return _refusal(_ASK)

    def _welcome(self, headers: Headers) -> Response:
        """Leave the token behind: it should not stay in the address bar, in the history, or in a bookmark."""
        comes_from_elsewhere = headers.get("sec-fetch-site") == "cross-site"
        answer = HTMLResponse(_GO_ON) if comes_from_elsewhere else RedirectResponse("/", status_code=303)
        answer.headers["set-cookie"] = self.admission.cookie()
        return answer


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

"""What can be asked for: the page, its three files, and the socket."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute

from torcheer.app.conversation import Conversations
from torcheer.errors import InputError

STATIC_FILES: Final[Mapping[str, str]] = {
    "app.js": "text/javascript",
    "app.css": "text/css",
    "worker.js": "text/javascript",
}

_NOTHING: Final = "There is nothing here.\n"

# The mark of the top bar, in colours that can be seen on light and on dark tabs.
_ICON: Final = quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'>"
    "<g fill='none' stroke='#80868b' stroke-width='1.5'><path d='M8 6.3 5.3 10.8M10 6.3l2.7 4.5'/>"
    "<circle cx='4' cy='13' r='2.5'/><circle cx='14' cy='13' r='2.5'/></g>"
    "<circle cx='9' cy='4' r='3' fill='#1a9e94'/></svg>",
    safe="",
)

# No inline script or style: the page's policy forbids them. Data reach the page over the socket only.
PAGE: Final = f"""\
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="torcheer-worker" content="/static/worker.js">
    <title>torcheer</title>
    <link rel="icon" href="data:image/svg+xml,{_ICON}">
    <link rel="stylesheet" href="/static/app.css">
    <script type="module" src="/static/app.js"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>This page needs JavaScript.</noscript>
  </body>
</html>
"""


def application(conversations: Conversations) -> Starlette:
    """The routes, not guarded yet."""
    routes = [
        Route("/", _page),
        Route("/static/{name}", _static),
        WebSocketRoute("/socket", conversations.hold),
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False  # a path is right or it is not
    return app


async def _page(request: Request) -> Response:
    return HTMLResponse(PAGE)


async def _static(request: Request) -> Response:
    # The name is looked up in a table, so it never becomes part of a path.
    name = request.path_params["name"]
    media_type = STATIC_FILES.get(name)
    if media_type is None:
        return PlainTextResponse(_NOTHING, status_code=404)
    return Response(static_file(name), media_type=media_type)


def static_file(name: str) -> bytes:
    """One of the built files of the page."""
    try:
        return (files("torcheer.app") / "static" / name).read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"the page's {name} is missing from this installation: install torcheer again, "
            "or in a clone run `npm ci && npm run build` in web/."
        ) from None

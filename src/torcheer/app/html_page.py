"""Pages as one HTML file that needs no other: it opens from disk with the network off, and can be mailed."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from torcheer.desktop import display_inline, open_in_browser
from torcheer.errors import InputError
from torcheer.tensorfile import write_atomically

HEIGHT = 640  # of the page between the cells, in pixels


class InlinePage:
    """A page in a frame of its own, which can reach nothing of the notebook around it."""

    def __init__(self, page: str, height: int = HEIGHT, title: str = "A pass through a model") -> None:
        self._page = page
        self._title = title
        self._height = height

    def _repr_html_(self) -> str:
        # In plain letters, so that it is read alike in whatever encoding a notebook is exported: its own
        # code runs only if it is, letter by letter, what its policy says.
        page = html.escape(self._page).encode("ascii", "xmlcharrefreplace").decode()
        # Scripts, but without the notebook's own origin: names in a page are strangers' texts.
        return (
            f'<iframe title="{html.escape(self._title)}" sandbox="allow-scripts" '
            f'srcdoc="{page}" width="100%" height="{self._height}" '
            'style="border: 1px solid rgba(128, 128, 128, 0.4); border-radius: 6px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<a torcheer page of {len(self._page):,} characters: a notebook shows it>"


def show_inline(page: str, height: int = HEIGHT, title: str = "A pass through a model") -> None:
    display_inline(InlinePage(page, height, title))


def show_file(name: str, write: Callable[[Path], str], *, open_browser: bool = True) -> str:
    """Write a page to a file that only the user reads, and open it. Returns where it is."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60]
    # It is kept: the page may be looked at, and mailed, long after this process.
    path = write(Path(tempfile.mkdtemp(prefix="torcheer-")) / f"{plain or 'page'}.html")
    sys.stdout.write(f"The page of {name} is in {path}\n")
    if open_browser:
        open_in_browser(Path(path).as_uri())
    return path


def write_file(
    path: str | os.PathLike[str], pieces: Callable[[], Iterable[bytes]], default_name: str = "pass.html"
) -> str:
    """Write a page to a file, which is there when it is whole. Returns where it is."""
    return write_atomically(path, "a page", lambda file: file.writelines(pieces()), default_name)


MAX_BYTES = 20_000_000
MAX_NOTEBOOK_BYTES = 4_000_000  # a notebook keeps what it shows in its own file
_MARKUP = re.compile(r"<(/script|/style|!--)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Bundle:
    script: str
    style: str
    worker: str = ""  # which lays out graphs


def static_file(name: str) -> bytes:
    try:
        return (files("torcheer.app") / "static" / name).read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"the page's {name} is missing from this installation: install torcheer again, "
            "or in a clone run `npm ci && npm run build` in web/."
        ) from None


def read_bundle(part: str = "onefile") -> Bundle:
    """`part`: what the front end was built as for such a page."""
    names = (f"{part}.js", f"{part}.css", *(["worker.js"] if part == "onefile" else []))
    return Bundle(*(static_file(name).decode() for name in names))


def checked_bytes(max_bytes: object) -> int:
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int | float) or not 0 <= max_bytes < 2**53:
        raise InputError(f"max_bytes is a number of bytes such as 20_000_000, or 0, not {max_bytes!r}.")
    return int(max_bytes)


def frame_of(bundle: Bundle, title: str, about: str, data_id: str) -> tuple[bytes, bytes]:
    """All that stands before the data, and all that stands after it.

    `about`: what the page shows, as a part of a sentence. `data_id`: of the element with the data, by which
    the front end knows what it is to show.
    """
    script, style, worker = (_harmless(text) for text in (bundle.script, bundle.style, bundle.worker))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "worker-src blob:",
            "img-src data: blob:",
            "font-src data:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    title = html.escape(f"{title} · torcheer".encode("utf-8", "replace").decode())
    before = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="app"><noscript>This page shows {about}, and needs JavaScript for it.</noscript></div>
<script type="application/json" id="{data_id}">"""
    after = f"""</script>
<script type="text/plain" id="torcheer-worker">{worker}</script>
<script type="module">{script}</script>
</body>
</html>
"""
    return before.encode(), after.encode()


def _harmless(code: str) -> str:
    """Code that does not end the element it stands in, as a browser reads it: its hash depends on that."""
    code = code.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    # Such things stand in strings only, where a backslash before these signs says nothing more.
    return _MARKUP.sub(r"<\\\1", code)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

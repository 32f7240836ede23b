"""A pass as one HTML file that needs no other: it opens from disk with the network off, and can be mailed."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import BinaryIO

from torcheer.app.embedding import embedded, tensors_of
from torcheer.app.notebook import InlinePage, show_inline
from torcheer.app.passes import PassSource
from torcheer.desktop import in_notebook, open_in_browser
from torcheer.errors import InputError
from torcheer.graph import Progress
from torcheer.tensorfile import write_whole

MAX_BYTES = 20_000_000
MAX_NOTEBOOK_BYTES = 4_000_000  # a notebook keeps what it shows in its own file
_MARKUP = re.compile(r"<(/script|/style|!--)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The built front end."""

    script: str
    style: str
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a page is of."""

    name: str  # its title
    about: str  # what it shows, as a part of a sentence
    data_id: str  # of the element with the data, by which the front end knows what it is to show


def read_bundle(part: str = "onefile") -> Bundle:
    """`part`: what the front end was built as for such a page."""
    folder = resources.files("torcheer.app") / "static"
    try:
        script, style, worker = (
            (folder / name).read_text(encoding="utf-8") for name in (f"{part}.js", f"{part}.css", "worker.js")
        )
    except FileNotFoundError:
        raise InputError(
            "the built front end is missing from this installation: in a clone run `make web`, elsewhere "
            "install torcheer again."
        ) from None
    return Bundle(script=script, style=style, worker=worker)


# --- the file ----------------------------------------------------------------------------------------------


def one_file_page(source: PassSource, *, max_bytes: int = MAX_BYTES, bundle: Bundle | None = None) -> str:
    """The page as text. It has at most `max_bytes`, unless front end and structure alone take more."""
    return b"".join(_pieces(source, max_bytes, bundle or read_bundle())).decode()


def write_page(source: PassSource, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Write the page to a file, which is there when it is whole; returns where it is."""
    max_bytes = checked_bytes(max_bytes)
    bundle = read_bundle()

    def write(file: BinaryIO) -> None:
        file.writelines(_pieces(source, max_bytes, bundle))

    return write_whole(path, "a page", write)


def checked_bytes(max_bytes: object) -> int:
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int | float) or not 0 <= max_bytes < 2**53:
        raise InputError(f"max_bytes is a number of bytes such as 20_000_000, or 0, not {max_bytes!r}.")
    return int(max_bytes)


def _pieces(source: PassSource, max_bytes: int, bundle: Bundle) -> Sequence[bytes]:
    max_bytes = checked_bytes(max_bytes)
    subject = Subject(name=source.name, about="a pass through a model", data_id="torcheer-data")
    before, after = frame_of(subject, bundle)
    wanted = tensors_of(source.document()) if max_bytes else []
    with Progress("writing the page", sum(one.num_bytes for one in wanted)) as progress:
        data = embedded(source, max_bytes - len(before) - len(after), max_bytes, progress.add)
    return [before, *data, after]


def frame_of(subject: Subject, bundle: Bundle) -> tuple[bytes, bytes]:
    """All that stands before the data, and all that stands after it."""
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
    title = html.escape(f"{subject.name} · torcheer".encode("utf-8", "replace").decode())
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
<div id="app"><noscript>This page shows {subject.about}, and needs JavaScript for it.</noscript></div>
<script type="application/json" id="{subject.data_id}">"""
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


# --- showing it --------------------------------------------------------------------------------------------


def show_page(source: PassSource, *, max_bytes: int | None = None) -> None:
    """Show the page in the notebook, if this is one; else write it to a file that only the user reads."""
    if in_notebook():
        page = one_file_page(source, max_bytes=MAX_NOTEBOOK_BYTES if max_bytes is None else max_bytes)
        show_inline(InlinePage(page))
        return
    # It is kept: the page may be looked at, and mailed, long after this process. Nobody else may read it.
    folder = Path(tempfile.mkdtemp(prefix="torcheer-"))
    path = write_page(
        source, folder / _file_name(source.name), max_bytes=MAX_BYTES if max_bytes is None else max_bytes
    )
    sys.stdout.write(f"The page of {source.name} is in {path}\n")
    open_in_browser(Path(path).as_uri())


def _file_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60]
    return f"{plain or 'pass'}.html"

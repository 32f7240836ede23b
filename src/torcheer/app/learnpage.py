"""A lesson as one HTML file that needs no other, in a notebook or in the browser."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from torcheer.app.frames import as_json
from torcheer.app.notebook import InlinePage, show_inline
from torcheer.app.page import Bundle, Subject, frame_of, read_bundle
from torcheer.desktop import in_notebook, open_in_browser
from torcheer.learn import Lesson
from torcheer.tensorfile import write_whole

_FRONT_END: Final = "learnfile"
_HEIGHT: Final = 760  # between the cells of a notebook, in pixels
_ABOUT: Final = "an expression and its gradients, step by step"


def lesson_page(lesson: Lesson, bundle: Bundle | None = None) -> str:
    """The page as text."""
    return b"".join(_pieces(lesson, bundle or read_bundle(_FRONT_END))).decode()


def write_lesson_page(lesson: Lesson, path: str | os.PathLike[str]) -> str:
    """Write the page to a file, which is there when it is whole; returns where it is."""
    bundle = read_bundle(_FRONT_END)

    def write(file: BinaryIO) -> None:
        file.writelines(_pieces(lesson, bundle))

    return write_whole(path, "a page", write, "lesson.html")


def show_lesson(lesson: Lesson, *, open_browser: bool = True) -> str | None:
    """Show it in the notebook, if this is one; else write it to a file for the user alone, and open that."""
    if in_notebook():
        show_inline(InlinePage(lesson_page(lesson), _HEIGHT, "An expression and its gradients"))
        return None
    # It is kept: the page may be looked at, and mailed, long after this process. Nobody else may read it.
    folder = Path(tempfile.mkdtemp(prefix="torcheer-"))
    path = write_lesson_page(lesson, folder / f"{_plain(lesson.title)}.html")
    sys.stdout.write(f"The page of {lesson.title} is in {path}\n")
    if open_browser:
        open_in_browser(Path(path).as_uri())
    return path


def _pieces(lesson: Lesson, bundle: Bundle) -> Sequence[bytes]:
    subject = Subject(name=lesson.title, about=_ABOUT, data_id="torcheer-lesson")
    before, after = frame_of(subject, replace(bundle, worker=""))  # it lays out graphs of passes
    # What stands in an element of its own must not end it.
    return [before, as_json(lesson).replace(b"<", b"\\u003c"), after]


def _plain(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", title).strip("-")[:60] or "lesson"

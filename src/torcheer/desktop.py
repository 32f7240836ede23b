"""Where something can be shown: a notebook, a browser, or nowhere."""

from __future__ import annotations

import os
import sys
import webbrowser
from typing import Any

_TEXT_BROWSERS = ("lynx", "links", "elinks", "w3m", "www-browser")


def in_notebook() -> bool:
    """Whether this code runs in a notebook's kernel, so that pictures show between the cells."""
    return _shell() is not None


def current_cell() -> int | None:
    """The number of the cell that runs; None outside a notebook."""
    shell = _shell()
    return None if shell is None else int(shell.execution_count)


def display_inline(shown: Any) -> None:
    """Show something between the cells. Only in a notebook."""
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

    display(shown)  # type: ignore[no-untyped-call,unused-ignore]


def _shell() -> Any:
    # Never imported for this: where IPython is not loaded there is no notebook.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if shell is not None and hasattr(shell, "kernel") else None


def has_browser() -> bool:
    """Whether a browser with windows can be opened from here."""
    if os.environ.get("CI"):
        return False
    if os.environ.get("BROWSER"):  # somebody said which: an editor that forwards, for example
        return _browser() is not None
    if sys.platform == "darwin":
        return not os.environ.get("SSH_CONNECTION")
    if sys.platform == "win32":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and _browser() is not None


def open_in_browser(address: str) -> bool:
    """Open a URL where there is a browser; says whether it did."""
    browser = _browser() if has_browser() else None
    try:
        return browser is not None and browser.open(address)
    except (webbrowser.Error, OSError):
        return False


def _browser() -> webbrowser.BaseBrowser | None:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return None
    name = os.path.basename(str(getattr(browser, "name", "")))
    return None if name in _TEXT_BROWSERS else browser

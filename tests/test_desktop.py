"""Nothing is opened where nobody could see it."""

from __future__ import annotations

import sys
import webbrowser
from types import SimpleNamespace
from typing import Any

import pytest

from torcheer import desktop


class FakeBrowser(webbrowser.BaseBrowser):
    def __init__(self, name: str = "firefox") -> None:
        super().__init__(name)
        self.opened: list[str] = []

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        self.opened.append(url)
        return True


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> FakeBrowser:
    """A desktop with a browser, whatever this machine is."""
    made = FakeBrowser()
    monkeypatch.setattr(webbrowser, "get", lambda *_: made)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("CI", "BROWSER", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    return made


def test_a_browser_opens_where_there_is_a_display(browser: FakeBrowser) -> None:
    assert desktop.open_in_browser("file:///a.svg")
    assert browser.opened == ["file:///a.svg"]


@pytest.mark.parametrize("name", ["lynx", "w3m", "/usr/bin/www-browser"])
def test_a_text_browser_takes_over_nobodys_terminal(browser: FakeBrowser, name: str) -> None:
    browser.name = name

    assert not desktop.open_in_browser("file:///a.svg")
    assert browser.opened == []


def test_without_a_display_nothing_is_opened(browser: FakeBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY")

    assert not desktop.has_browser()
    assert not desktop.open_in_browser("file:///a.svg")


def test_nothing_is_opened_in_continuous_integration(
    browser: FakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")

    assert not desktop.open_in_browser("file:///a.svg")


def test_a_browser_that_was_named_is_used_without_a_display(
    browser: FakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY")
    monkeypatch.setenv("BROWSER", "forward-to-editor")

    assert desktop.open_in_browser("file:///a.svg")


def test_over_ssh_a_mac_opens_nothing(browser: FakeBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert desktop.has_browser()

    monkeypatch.setenv("SSH_CONNECTION", "1.2.3.4 1 5.6.7.8 22")
    assert not desktop.has_browser()


def test_a_browser_that_cannot_be_had_is_no_error(
    browser: FakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise webbrowser.Error("none")

    monkeypatch.setattr(webbrowser, "get", refuse)

    assert not desktop.open_in_browser("file:///a.svg")


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        (None, False),
        (SimpleNamespace(execution_count=3), False),  # IPython in a terminal
        (SimpleNamespace(execution_count=3, kernel=object()), True),
    ],
)
def test_a_notebook_is_told_by_its_kernel(
    monkeypatch: pytest.MonkeyPatch, shell: Any, expected: bool
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    assert desktop.in_notebook() is expected
    assert desktop.current_cell() == (3 if expected else None)


def test_ipython_is_not_imported_to_find_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)

    assert not desktop.in_notebook()
    assert "IPython" not in sys.modules

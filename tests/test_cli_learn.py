"""`torcheer learn`: the page, with an expression of one's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.app.serving import PATIENCE_SECONDS
from torcheer import cli
from torcheer.cli import read_own
from torcheer.errors import InputError


def run(*args: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command would serve."""
    called: dict[str, Any] = {}

    def serve(own: Any, **options: Any) -> None:
        called.update(own=own, **options)

    monkeypatch.setattr("torcheer.app.learn", serve)
    monkeypatch.setattr(sys, "argv", ["torcheer", "learn", *args])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    return called


def test_without_an_expression_there_are_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    called = run("--port", "7000", "--no-browser", monkeypatch=monkeypatch)

    assert called == {"own": None, "host": "127.0.0.1", "port": 7000, "open_browser": False}


def test_an_expression_is_the_first_example(monkeypatch: pytest.MonkeyPatch) -> None:
    called = run("x = T.param(3); loss = (x ** 2).sum()", monkeypatch=monkeypatch)

    assert (called["own"].id, called["own"].title) == ("yours", "Yours")
    assert called["own"].source == "x = T.param(3); loss = (x ** 2).sum()"


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("x = T.param(3)\n", encoding="utf-8")

    own = read_own(str(path))

    assert own.title == "Yours: mine.py"
    assert own.source == "x = T.param(3)\n"


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    long = tmp_path / "long.py"
    long.write_text("x" * 9000, encoding="utf-8")
    folder = tmp_path / "folder.py"
    folder.mkdir()
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe")

    with pytest.raises(InputError, match=r"^there is no file nofile\.py here\.$"):
        read_own("nofile.py")
    with pytest.raises(InputError, match=r"folder\.py cannot be read: Is a directory\.$"):
        read_own(str(folder))
    with pytest.raises(InputError, match="more than 8,000 signs"):
        read_own(str(long))
    with pytest.raises(InputError, match=r"binary\.py cannot be read: it is no text in UTF-8"):
        read_own(str(binary))


def test_the_command_serves_at_once_and_ends_with_a_signal(tmp_path: Path) -> None:
    """Before torch is read: the address is there while that still goes on."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "torcheer", "learn", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE_SECONDS)

    assert address.startswith("http://127.0.0.1:")
    assert address.endswith("#learn")
    assert code == 0

"""Connections that say nothing, or half of something: honest ones come in all the same."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.app.runs_page import RunsPage
from tests.app.serving import PATIENCE_SECONDS, MadeUpPass, Page, ask, cookie_of, read_all, serve
from tests.run import handmade_events as made
from torcheer.app import listen
from torcheer.app.server import Serving

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1"


@pytest.fixture
def serving() -> Iterator[Serving]:
    with serve(MadeUpPass()) as running:
        yield running


def connect(serving: Serving) -> socket.socket:
    return socket.create_connection(("127.0.0.1", serving.port), timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("sent", [b"", HALF, b"\r\n"], ids=["nothing", "half a head", "an empty line"])
def test_hundreds_of_half_open_connections_lock_nobody_out(serving: Serving, sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            half = stack.enter_context(connect(serving))
            half.sendall(sent)
        head, _ = ask(serving, "/", cookie=cookie_of(serving))
        assert head["status"] == "200"
        with Page(serving) as page:
            assert page.is_alive()


def test_those_that_have_waited_longest_go_first(serving: Serving) -> None:
    with ExitStack() as stack:
        halves = [stack.enter_context(connect(serving)) for _ in range(listen.MOST_WAITING + 10)]
        for half in halves[:10]:
            assert read_all(half) == b""  # closed
        halves[-1].sendall(HALF + f":{serving.port}\r\nConnection: close\r\n\r\n".encode())
        assert read_all(halves[-1]).startswith(b"HTTP/1.1 403")


def test_the_head_of_a_request_has_a_time_limit(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "HEAD_SECONDS", 0.5)
    with connect(serving) as half:
        half.sendall(HALF)
        assert read_all(half) == b""
    with connect(serving) as slow:  # also after a request that was whole
        slow.sendall(HALF + f":{serving.port}\r\n\r\n".encode() + HALF)
        assert read_all(slow).startswith(b"HTTP/1.1 403")


def test_a_page_that_is_open_has_none(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "HEAD_SECONDS", 0.05)
    with Page(serving) as page, connect(serving) as half:
        half.sendall(HALF)
        assert read_all(half) == b""  # its time is over, and so would be that of the page
        assert page.is_alive()


# --- no more files -----------------------------------------------------------------------------------

VIEW = """
import resource, sys
from torcheer.app.server import view
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
view([sys.argv[1]], port=0, open_browser=False)
"""


class Served:
    def __init__(self, url: str) -> None:
        self.url = url
        self.port = int(url.partition("127.0.0.1:")[2].partition("/")[0])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_without_files_left_connections_wait_with_one_line_in_the_log_and_are_then_taken(
    tmp_path: Path,
) -> None:
    made.write_events(tmp_path / "run", made.event(made.scalar("loss", 1.0)))
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / ".state"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", VIEW, str(tmp_path)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        served = Served(process.stdout.readline().decode().strip())
        for _ in range(3):
            with ExitStack() as stack:
                address = ("127.0.0.1", served.port)
                for _ in range(100):
                    stack.enter_context(socket.create_connection(address))
            while ask(served, "/")[0]["status"] != "403":  # type: ignore[arg-type]
                pass  # it has not noticed yet that they are closed
            with RunsPage(served) as page:
                # At first it may have been read when there were still no files left.
                page.runs(page.begin("runs"), lambda runs: "run" in runs and runs["run"]["num_series"] == 1)
        process.send_signal(signal.SIGINT)
        complaints = process.stderr.read().decode()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert complaints.count("no more files can be opened") == 1
        assert len(complaints.splitlines()) <= 3
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

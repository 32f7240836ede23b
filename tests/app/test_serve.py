"""`torcheer view`: saved passes on a shelf, in a process of their own, without torch."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

import numpy
import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import torcheer as tl
from tests.app.serving import PATIENCE_SECONDS, SECRET, Page, quiet_port, take_apart
from tests.features.making import made_features
from torcheer.app import server
from torcheer.app.listen import listen
from torcheer.app.passes.saved import SavedPasses
from torcheer.app.server import Server, Serving, view
from torcheer.errors import FileFormatError, InputError
from torcheer.features import open_features


def small_pass() -> tl.ModelHistory:
    return tl.log_forward_pass(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), torch.randn(4, 3))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "passes").mkdir()
    return tmp_path / "passes"


@pytest.fixture
def saved(folder: Path) -> Path:
    small_pass().save(folder / "small.safetensors")
    return folder / "small.safetensors"


def names(shelf: SavedPasses) -> Sequence[str]:
    return [listed.name for listed in shelf.listing()]


def serve_saved(*paths: Path) -> Serving:
    return Serving(Server(SavedPasses(paths), listen(port=0), SECRET))


# --- the shelf -------------------------------------------------------------------------------


def test_a_folder_is_looked_at_anew(folder: Path, saved: Path) -> None:
    with serve_saved(folder) as running, Page(running) as page:
        assert [listed["name"] for listed in page.hello["passes"]] == ["small"]
        shutil.copy(saved, folder / "another.safetensors")
        again = page.ask(type="passes", id=1)["passes"]
        assert [listed["name"] for listed in again] == ["another", "small"]
        assert again[1] == page.hello["passes"][0]
        saved.unlink()
        assert [listed["name"] for listed in page.ask(type="passes", id=2)["passes"]] == ["another"]
        shutil.rmtree(folder)
        assert page.ask(type="passes", id=3)["passes"] == []


def test_only_passes_are_found_in_a_folder(folder: Path, saved: Path) -> None:
    save_file({"weight": torch.ones(2)}, folder / "weights.safetensors")
    (folder / "notes.txt").write_text("torcheer.history")
    (folder / "empty.safetensors").write_bytes(b"")
    (folder / "folder.safetensors").mkdir()
    (folder / "gone.safetensors").symlink_to(folder / "nowhere")
    shutil.copy(saved, folder / "small.safetensors.1a2b.partial")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.safetensors")

    assert names(SavedPasses([folder])) == ["small"]


def test_names_begin_where_the_paths_part(folder: Path, saved: Path) -> None:
    other = folder.parent / "others"
    other.mkdir()
    shutil.copy(saved, other / "small.safetensors")

    assert names(SavedPasses([saved])) == ["small"]
    both = [os.path.join("passes", "small"), os.path.join("others", "small")]
    assert names(SavedPasses([folder, other])) == both
    assert names(SavedPasses([saved, other / "small.safetensors"])) == both
    assert names(SavedPasses([folder, saved, saved])) == ["small"]


def test_an_id_is_no_path_and_stays_while_the_file_does(folder: Path, saved: Path) -> None:
    shelf = SavedPasses([folder])
    (listed,) = shelf.listing()

    assert listed.id.isalnum()
    assert SavedPasses([saved]).listing()[0].id == listed.id
    for path in (str(saved), "small", "small.safetensors", f"../passes/{saved.name}", ""):
        assert shelf.source(path) is None
    small_pass().save(saved)
    assert shelf.listing()[0].id != listed.id
    assert shelf.source(listed.id) is None


def test_a_pass_that_is_saved_anew_is_another_one_and_the_open_one_goes_on(saved: Path) -> None:
    with serve_saved(saved) as running, Page(running) as page:
        old = page.hello["passes"][0]["id"]
        first = page.ask(type="open", id=1, pass_id=old)["document"]
        small_pass().save(saved)
        new = page.ask(type="passes", id=2)["passes"][0]["id"]
        assert new != old
        assert page.ask(type="open", id=3, pass_id=old)["document"] == first
        assert (
            page.ask(type="open", id=4, pass_id=new)["document"]["elapsed_seconds"]
            != first["elapsed_seconds"]
        )
    with serve_saved(saved) as running, Page(running) as page:
        assert "saved anew" in page.ask(type="open", id=5, pass_id=old)["message"]


def test_a_damaged_pass_is_refused_in_the_page_and_others_are_shown(folder: Path, saved: Path) -> None:
    damaged = folder / "damaged.safetensors"
    damaged.write_bytes(saved.read_bytes()[:-100])
    with serve_saved(folder) as running, Page(running) as page:
        ids = {listed["name"]: listed["id"] for listed in page.hello["passes"]}
        refusal = page.ask(type="open", id=1, pass_id=ids["damaged"])
        assert refusal["type"] == "refusal"
        assert "damaged.safetensors" in refusal["message"]
        assert page.ask(type="open", id=2, pass_id=ids["small"])["type"] == "document"


def test_values_that_arrive_are_those_of_the_history(folder: Path) -> None:
    history = small_pass()
    history.save(folder / "pass.safetensors")
    with serve_saved(folder) as running, Page(running) as page:
        pass_id = page.hello["passes"][0]["id"]
        document = page.ask(type="open", id=1, pass_id=pass_id)["document"]
        for index, op in enumerate(document["ops"]):
            question = {"type": "tensor", "id": 2, "pass_id": pass_id, "kind": "output", "index": index}
            page.socket.send(json.dumps(question | {"window": None}))
            head, values = take_apart(page.socket.recv(timeout=PATIENCE_SECONDS))
            expected = history[op["label"]].tensor_contents.detach().numpy()
            assert np.array_equal(
                np.frombuffer(values, head["view"]["encoding"]).reshape(expected.shape), expected
            )


# --- what is said before there is a page ----------------------------------------------------


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"there is no .*nothing.*: give a folder of runs, .* or a saved pass"
    ):
        view([tmp_path / "nothing"])
    with pytest.raises(InputError, match="there is no path"):
        view([])


def test_a_file_that_is_no_pass_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no pass")
    with pytest.raises(FileFormatError, match=r"notes\.txt"):
        view([tmp_path / "notes.txt"])


def test_a_port_that_is_taken_ends_the_command(saved: Path) -> None:
    taken = listen(port=0)
    with taken.socket, pytest.raises(InputError, match="is taken"):
        view([saved], port=taken.port)


# --- the command -----------------------------------------------------------------------------


@contextmanager
def viewing(*arguments: str, state: Path, in_ci: str = "1") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`torcheer view` in a process of its own, where no browser is opened; and the address it printed."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "CI": in_ci}
    command = [sys.executable, "-m", "torcheer", "view", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            url = process.stdout.readline().strip()
            assert url, process.stderr.read()
            yield process, url
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_in_order(saved: Path, tmp_path: Path, number: signal.Signals) -> None:
    with viewing(str(saved), "--port", "0", state=tmp_path) as (process, url):
        parts = urlsplit(url)
        assert parts.hostname == "127.0.0.1"
        with _page_at(url) as page:
            assert '"hello"' in page.recv(timeout=PATIENCE_SECONDS)
            process.send_signal(number)
            with pytest.raises(ConnectionClosed) as caught:
                page.recv(timeout=PATIENCE_SECONDS)
            assert caught.value.rcvd is not None
            assert caught.value.rcvd.code == 1001
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == "Ctrl-C stops it.\n"
        assert process.stderr.read() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_page_goes_on_when_the_command_is_given_again(saved: Path, tmp_path: Path) -> None:
    port = str(quiet_port())
    with viewing(str(saved), "--port", port, state=tmp_path) as (process, url):
        headers = _cookie_at(url)
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    with viewing(str(saved), "--port", port, state=tmp_path) as (_, again):
        assert again != url
        with _socket_at(again, headers) as page:
            assert '"hello"' in page.recv(timeout=PATIENCE_SECONDS)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_server_for_all_interfaces_warns(saved: Path, tmp_path: Path) -> None:
    with viewing(str(saved), "--port", "0", "--host", "0.0.0.0", state=tmp_path) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        process.terminate()
        _, complaints = process.communicate(timeout=PATIENCE_SECONDS)

    assert "can be reached from other machines" in complaints


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the browser")
def test_a_browser_that_is_opened_gets_an_address_that_works_once(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its command line can be read by others on the machine."""
    seen = tmp_path / "seen"
    os.mkfifo(seen)  # so that the address is waited for
    browser = tmp_path / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")

    with viewing(str(saved), "--port", "0", state=tmp_path, in_ci="") as (_, printed):
        opened = seen.read_text().strip()
        assert opened != printed
        assert urlsplit(opened).netloc == urlsplit(printed).netloc
        assert _cookie_at(opened)
        with pytest.raises(StopIteration):  # no cookie in the answer
            _cookie_at(opened)
        assert _cookie_at(printed)


# Asks for every tensor of the first pass, in a process in which an import of torch raises.
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from pathlib import Path
from torcheer.app.passes.saved import open_pass_file
from torcheer.app.server import serve_runs_in_background

source = open_pass_file(Path(sys.argv[1]))
with serve_runs_in_background(sys.argv[1]) as serving:
    views = [source.tensor("output", index, None)[0] for index in range(len(source.document().ops))]
    print(len(views), serving.url.startswith("http://127.0.0.1:"))
print([name for name in sys.modules if name.partition(".")[0] == "torch"])
"""


def test_a_pass_is_served_where_torch_is_not(saved: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH, str(saved)]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)

    assert done.stderr == ""
    assert done.stdout.split("\n") == ["4 True", "['torch']", ""]


def _page_at(url: str) -> Any:
    """The socket of a page that opened an address in a browser."""
    return _socket_at(url, _cookie_at(url))


def _cookie_at(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=PATIENCE_SECONDS) as raw:
        head = f"GET /?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
        raw.sendall(head.encode())
        answer = raw.recv(1 << 16).decode()
    cookie = next(line for line in answer.split("\r\n") if line.startswith("set-cookie: "))
    return {"Cookie": cookie.removeprefix("set-cookie: ").partition(";")[0]}


def _socket_at(url: str, headers: dict[str, str]) -> Any:
    place = urlsplit(url).netloc
    return connect(f"ws://{place}/socket", origin=f"http://{place}", additional_headers=headers, proxy=None)


def test_the_page_is_served_and_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(server, "open_in_browser", opened.append)
    made_features(tmp_path / "set", {"conv": numpy.zeros((4, 3), numpy.float32)})

    address = open_features(tmp_path / "set").show()

    assert opened == [address]
    assert address.endswith("#features")
    assert address in capsys.readouterr().out
    with build_opener(HTTPCookieProcessor()).open(address.partition("#")[0]) as answer:
        assert b"<title>" in answer.read()


def test_features_elsewhere_are_shown_from_the_shell() -> None:
    with pytest.raises(InputError, match="torcheer view memory://set"):
        server.show_features("memory://set")

"""The server as a program: where it listens, how it starts, and how it ends."""

from __future__ import annotations

import errno
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.app.serving import (
    PATIENCE_SECONDS,
    SECRET,
    TENSOR_QUESTION,
    Gate,
    MadeUpPass,
    Page,
    SourceShelf,
    ask,
    cookie_of,
    quiet_port,
    serve,
)
from torcheer.app.access import HostNames
from torcheer.app.listen import PREFERRED_PORTS, listen
from torcheer.app.server import Server, Serving
from torcheer.errors import InputError

# --- where it listens ------------------------------------------------------------------------


@contextmanager
def listening(*where: Any) -> Iterator[Any]:
    listener = listen(*where)
    try:
        yield listener
    finally:
        listener.socket.close()


def test_without_a_host_only_this_machine_is_served() -> None:
    with listening() as listener:
        assert listener.socket.getsockname()[0] == "127.0.0.1"
        assert not listener.is_public
        assert listener.shown_names == ("127.0.0.1",)
        assert listener.host_names.names == {"127.0.0.1", "localhost"}


def test_ports_are_taken_in_order_so_that_a_server_is_found_where_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert PREFERRED_PORTS.start == 6180
    start = quiet_port()
    monkeypatch.setattr("torcheer.app.listen.PREFERRED_PORTS", range(start, start + 10))
    with listening() as first:
        assert first.port == start
        with listening() as second:
            assert start < second.port < start + 10
        with listening() as again:
            assert again.port == second.port


def test_when_all_of_our_ports_are_taken_any_other_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening("127.0.0.1", 0) as taken:
        monkeypatch.setattr("torcheer.app.listen.PREFERRED_PORTS", range(taken.port, taken.port + 1))
        with listening() as listener:
            assert listener.port not in (0, taken.port)


def test_a_port_that_is_taken_is_named_with_the_way_out() -> None:
    with listening("127.0.0.1", 0) as taken, pytest.raises(InputError) as caught:
        listen("127.0.0.1", taken.port)
    assert f"port {taken.port} at 127.0.0.1 is taken" in str(caught.value)
    assert "leave --port out" in str(caught.value)


@pytest.mark.parametrize("port", [-1, 65536, 10**9])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(InputError, match="from 0 to 65535"):
        listen("127.0.0.1", port)


def test_a_port_for_the_system_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(self: socket.socket, address: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", forbidden)
    with pytest.raises(InputError, match="1024 on"):
        listen("127.0.0.1", 80)


@pytest.mark.parametrize("host", ["", "no such host", "nowhere.invalid", "a" * 300, "256.1.1.1", "\ud800"])
def test_a_host_that_is_not_known_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="leave --host out"):
        listen(host, 0)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(InputError, match="no address of this machine"):
        listen("192.0.2.1", 0)  # an address that is set apart for examples


def test_localhost_is_shown_as_it_was_given() -> None:
    with listening("LocalHost", 0) as listener:
        assert listener.shown_names == ("localhost",)
        assert listener.socket.getsockname()[0] == "127.0.0.1"


def test_on_all_interfaces_the_address_that_was_connected_to_is_right() -> None:
    with listening("0.0.0.0", 0) as listener:
        names = listener.host_names
        assert listener.is_public
        assert listener.shown_names[0] == "127.0.0.1"
        assert names.has(f"192.168.1.7:{listener.port}", "192.168.1.7")
        assert names.has(f"{socket.gethostname()}:{listener.port}", "192.168.1.7")
        assert names.has(f"localhost:{listener.port}", "127.0.0.1")
        assert not names.has(f"192.168.1.8:{listener.port}", "192.168.1.7")
        assert not names.has(f"0.0.0.0:{listener.port}", "127.0.0.1")
        assert not names.has(f"evil.example:{listener.port}", "192.168.1.7")


def test_the_name_that_was_given_is_the_only_one() -> None:
    names = HostNames(names=frozenset({"box.lan"}), port=6180)
    assert names.has("BOX.lan:6180", "10.0.0.1")
    assert not names.has("10.0.0.1:6180", "10.0.0.1")
    assert not names.has("box.lan", "10.0.0.1")
    assert HostNames(names=frozenset({"box.lan"}), port=80).has("box.lan", "10.0.0.1")


def test_addresses_of_six_groups_stand_in_brackets() -> None:
    names = HostNames(names=frozenset(), port=6180, accepts_own_addresses=True)
    assert names.has("[fe80::1]:6180", "fe80::1%eth0")
    assert names.has("10.0.0.1:6180", "::ffff:10.0.0.1")


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_a_server_can_listen_at_the_other_loopback_address() -> None:
    try:
        listener = listen("::1", 0)
    except InputError:
        pytest.skip("no IPv6 here")
    assert listener.shown_names == ("[::1]",)
    with Serving(Server(SourceShelf([MadeUpPass()]), listener, SECRET)) as running:
        assert running.url.startswith(f"http://[::1]:{running.port}/?token=")
        with socket.create_connection(("::1", running.port), timeout=PATIENCE_SECONDS) as raw:
            target = running.url.partition(str(running.port))[2]
            raw.sendall(f"GET {target} HTTP/1.1\r\nHost: [::1]:{running.port}\r\n\r\n".encode())
            assert raw.recv(100).startswith(b"HTTP/1.1 303")


# --- how it ends -----------------------------------------------------------------------------


def test_pages_are_told_that_the_server_leaves() -> None:
    running = serve()
    with Page(running) as page:
        running.close()
        with pytest.raises(ConnectionClosed) as caught:
            page.socket.recv(timeout=PATIENCE_SECONDS)

    assert caught.value.rcvd is not None
    assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (1001, "the server has stopped")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", running.port))


def test_closing_twice_is_closing_once() -> None:
    running = serve()
    running.close()
    running.close()


def test_a_server_ends_at_once_although_a_tensor_is_still_being_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate, source = Gate(), MadeUpPass()
    source.tensor_call = gate.pass_through
    running = serve(source)
    with Page(running) as page:
        page.socket.send(json.dumps(TENSOR_QUESTION))
        assert gate.reached.acquire(timeout=PATIENCE_SECONDS)
        running.close()
        with pytest.raises(ConnectionClosed) as caught:
            page.socket.recv(timeout=PATIENCE_SECONDS)
    gate.opened.set()

    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1001
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def test_two_servers_run_side_by_side_and_leave_no_thread() -> None:
    before = set(threading.enumerate())
    with serve() as first, serve() as second:
        assert first.port != second.port
        assert ask(first, "/", cookie=cookie_of(first))[0]["status"] == "200"
        assert ask(second, "/", cookie=cookie_of(second))[0]["status"] == "200"
    assert {thread for thread in threading.enumerate() if thread.name == "torcheer server"} <= before


def test_a_server_without_its_page_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.app.html_page.files", lambda package: tmp_path)
    with pytest.raises(InputError, match=r"app\.js is missing .* npm run build"):
        serve()

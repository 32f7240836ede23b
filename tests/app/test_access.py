"""The door of the server, attacked over real connections: hosts, origins, methods, tokens, cookies, paths."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import socket
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.app.serving import (
    PATIENCE_SECONDS,
    SECRET,
    MadeUpPass,
    Page,
    ask,
    cookie_of,
    document,
    open_socket,
    origin_of,
    quiet_port,
    read_all,
    send_raw,
    serve,
    token_of,
)
from torcheer.app.access import COOKIE_SECONDS, Admission, Secret, state_folder, user_secret
from torcheer.app.html_page import static_file
from torcheer.app.server import STATIC_FILES, Serving

EVERYWHERE = ("/", "/static/app.js", "/static/nothing.js", "/socket", "/nowhere")


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with serve() as running:
        yield running


# --- tokens and cookies ----------------------------------------------------------------------


def test_the_printed_address_lets_in_and_leaves_the_address_bar(serving: Serving) -> None:
    head, body = ask(serving, f"/?token={token_of(serving)}")

    assert (head["status"], head["location"], body) == ("303", "/", "")
    parts = head["set-cookie"].split("; ")
    assert parts[0].startswith(f"torcheer-{serving.port}=")
    assert sorted(parts[1:]) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert token_of(serving) not in head["set-cookie"]

    head, body = ask(serving, "/", cookie=parts[0])
    assert head["status"] == "200"
    assert '<script type="module" src="/static/app.js">' in body


@pytest.mark.parametrize("target", EVERYWHERE)
def test_nobody_comes_in_without_a_token(serving: Serving, target: str) -> None:
    head, body = ask(serving, target)

    assert head["status"] == "403"
    assert "set-cookie" not in head
    assert "address that the server printed" in body


@pytest.mark.parametrize(
    "query",
    [
        "token=",
        "token=wrong",
        "token={token}x",
        "token={shorter}",
        "token=%00{token}",
        "token=wrong&token={token}",
        "Token={token}",
        "token=%F0%9F%98%80%ED%A0%80",
        "token=" + "a" * 5000,
    ],
)
def test_a_wrong_token_lets_nobody_in(serving: Serving, query: str) -> None:
    token = token_of(serving)
    head, _ = ask(serving, "/?" + query.format(token=token, shorter=token[:-1]))

    assert head["status"] == "403"
    assert "set-cookie" not in head


def test_a_token_is_good_for_the_page_only(serving: Serving) -> None:
    assert ask(serving, f"/static/app.js?token={token_of(serving)}")[0]["status"] == "403"
    assert ask(serving, f"/socket?token={token_of(serving)}")[0]["status"] == "403"


def test_a_token_of_another_server_lets_nobody_in(serving: Serving) -> None:
    with serve() as other:
        assert token_of(other) != token_of(serving)
        assert ask(serving, f"/?token={token_of(other)}")[0]["status"] == "403"


def test_a_cookie_of_another_port_lets_nobody_in(serving: Serving) -> None:
    with serve() as other:
        name, value = cookie_of(other).split("=")
        assert name != f"torcheer-{serving.port}"
        assert ask(serving, "/", cookie=f"{name}={value}")[0]["status"] == "403"
        assert ask(serving, "/", cookie=f"torcheer-{serving.port}={value}")[0]["status"] == "403"


def test_a_cookie_of_another_user_lets_nobody_in() -> None:
    with serve(port=quiet_port()) as running:
        port, cookie = running.port, cookie_of(running)
        assert ask(running, "/", cookie=cookie)[0]["status"] == "200"
    with serve(port=port, secret=Secret(value=b"of somebody else")) as other:
        assert ask(other, "/", cookie=cookie)[0]["status"] == "403"


def test_a_page_goes_on_when_the_server_is_started_again() -> None:
    with serve(port=quiet_port()) as running:
        port, cookie, token = running.port, cookie_of(running), token_of(running)
    with serve(port=port) as again:
        assert ask(again, "/", cookie=cookie)[0]["status"] == "200"
        assert ask(again, f"/?token={token}")[0]["status"] == "403"
        # Somebody who has a cookie may come with an address of yesterday.
        assert ask(again, f"/?token={token}", cookie=cookie)[0]["status"] == "303"
        with open_socket(again, cookie) as socket:
            assert "hello" in socket.recv()


@pytest.mark.parametrize(
    "damage", ["{0}x", "{1}.", "{1}", "9{0}", "{1}.{2}0", "٣.{2}", "-1.{2}", "9e9.{2}", "."]
)
def test_a_cookie_that_was_changed_lets_nobody_in(serving: Serving, damage: str) -> None:
    name, _, value = cookie_of(serving).partition("=")
    changed = damage.format(value, *value.split("."))

    assert ask(serving, "/", cookie=f"{name}={changed}")[0]["status"] == "403"


def test_a_cookie_ends_after_a_week_and_is_renewed_by_a_page(serving: Serving) -> None:
    last_week = Admission(serving.port, SECRET.value, now=lambda: time.time() - COOKIE_SECONDS - 5)
    this_week = Admission(serving.port, SECRET.value, now=lambda: time.time() - COOKIE_SECONDS + 600)
    old, young = (admission.cookie().partition(";")[0] for admission in (last_week, this_week))

    assert ask(serving, "/", cookie=old)[0]["status"] == "403"
    head, _ = ask(serving, "/", cookie=young)
    assert head["status"] == "200"
    assert head["set-cookie"].partition(";")[0] > young
    assert "set-cookie" not in ask(serving, "/static/app.js", cookie=young)[0]


def test_a_cookie_is_found_among_others_of_its_name(serving: Serving) -> None:
    # Any other port of this host can set cookies; they must not lock the right one out.
    cookie = cookie_of(serving)
    name = cookie.partition("=")[0]

    assert ask(serving, "/", cookie=f"a=b; {name}=tossed; ;{cookie}; c")[0]["status"] == "200"


def test_a_link_on_another_site_leads_in_although_the_cookie_is_strict(serving: Serving) -> None:
    head, body = ask(serving, f"/?token={token_of(serving)}", sec_fetch_site="cross-site")

    assert head["status"] == "200"
    assert head["set-cookie"].endswith("SameSite=Strict")
    assert '<meta http-equiv="refresh" content="0;url=/">' in body
    assert token_of(serving) not in body


def test_an_address_for_a_browser_s_command_line_works_once(serving: Serving) -> None:
    address = serving._server.one_time_url().partition(str(serving.port))[2]

    assert token_of(serving) not in address
    assert ask(serving, address)[0]["status"] == "303"
    assert ask(serving, address)[0]["status"] == "403"


def test_nothing_secret_is_logged(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serve() as running:
        token, cookie = token_of(running), cookie_of(running)
        with Page(running) as page:
            assert page.is_alive()
        ask(running, f"/?token={token}", host="evil.example")
        ask(running, f"/nowhere?token={token}", cookie=cookie)
        ask(
            running, f"/socket?token={token}", upgrade="websocket", connection="upgrade, close", cookie=cookie
        )
        send_raw(running, b"\x00 /?token=" + token.encode() + b"\r\n\r\n")

    ours = [record for record in caplog.records if record.name != "websockets.client"]
    logged = "\n".join([*map(logging.Formatter().format, ours), *capfd.readouterr()])
    assert "Invalid HTTP request" in logged  # so that the log was really listened to
    assert token not in logged
    assert cookie.partition("=")[2] not in logged


# --- hosts, origins, methods -----------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_the_server_answers_to_its_own_names(serving: Serving, host: str) -> None:
    head, _ = ask(serving, "/", cookie=cookie_of(serving), host=host.format(port=serving.port))

    assert head["status"] == "200"


@pytest.mark.parametrize(
    "host",
    (
        "evil.example evil.example:{port} 127.0.0.1 127.0.0.1:1 127.0.0.1:{port}.evil.example "
        "127.0.0.1.evil.example:{port} evil.example:{port}:127.0.0.1:{port} user@127.0.0.1:{port} "
        "0.0.0.0:{port} [::1]:{port} 2130706433:{port} 127.1:{port} localhost.:{port} localhost:0{port}"
    ).split(),
)
@pytest.mark.parametrize("target", ["/", "/static/app.js"])
def test_a_foreign_host_gets_nothing_even_with_the_right_cookie(
    serving: Serving, host: str, target: str
) -> None:
    head, body = ask(serving, target, cookie=cookie_of(serving), host=host.format(port=serving.port))

    assert head["status"] == "403"
    assert "answers to" in body


def test_a_foreign_host_gets_nothing_with_the_right_token(serving: Serving) -> None:
    head, _ = ask(serving, f"/?token={token_of(serving)}", host=f"evil.example:{serving.port}")

    assert head["status"] == "403"
    assert "set-cookie" not in head


def test_a_request_has_exactly_one_host(serving: Serving) -> None:
    cookie = cookie_of(serving)
    own = f"Host: 127.0.0.1:{serving.port}\r\n"
    for hosts in ("", own + own, own + "Host: evil.example\r\n", "Host: evil.example\r\n" + own):
        for version in ("1.0", "1.1"):
            answer = send_raw(serving, f"GET / HTTP/{version}\r\n{hosts}Cookie: {cookie}\r\n\r\n".encode())
            assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403")), (hosts, version, answer)


def test_what_proxies_say_is_not_believed(serving: Serving) -> None:
    head, _ = ask(
        serving,
        "/",
        cookie=cookie_of(serving),
        host="evil.example",
        x_forwarded_host=f"127.0.0.1:{serving.port}",
        x_forwarded_for="127.0.0.1",
        forwarded=f"host=127.0.0.1:{serving.port}",
    )

    assert head["status"] == "403"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_from_elsewhere_gets_nothing(serving: Serving, origin: str, method: str) -> None:
    given = origin.format(port=serving.port)
    head, _ = ask(serving, "/static/app.js", method, cookie=cookie_of(serving), origin=given)

    assert head["status"] == "403"
    assert not [name for name in head if name.startswith("access-control")]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "PROPFIND"])
@pytest.mark.parametrize("target", ["/", "/static/app.js", "/socket", "*"])
def test_only_get_and_head_are_served(serving: Serving, method: str, target: str) -> None:
    head, _ = ask(serving, target, method, cookie=cookie_of(serving), origin=origin_of(serving))

    assert head["status"] == "405"
    assert head["allow"] == "GET, HEAD"


def test_head_is_get_without_a_body(serving: Serving) -> None:
    cookie = cookie_of(serving)
    got, body = ask(serving, "/static/app.css", cookie=cookie)
    head, nothing = ask(serving, "/static/app.css", "HEAD", cookie=cookie)

    assert nothing == ""
    assert head["content-length"] == got["content-length"] == str(len(body.encode()))


# --- what every answer carries ---------------------------------------------------------------


@pytest.mark.parametrize("target", [*EVERYWHERE, "/?token=wrong"])
@pytest.mark.parametrize("is_admitted", [True, False])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_every_answer_is_locked_down(serving: Serving, target: str, is_admitted: bool, method: str) -> None:
    head, _ = ask(serving, target, method, cookie=cookie_of(serving) if is_admitted else "")

    policy = dict(part.split(" ", 1) for part in head["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in head["content-security-policy"]
    assert "*" not in head["content-security-policy"]
    assert head["x-content-type-options"] == "nosniff"
    assert head["x-frame-options"] == "DENY"
    assert head["referrer-policy"] == "no-referrer"
    assert head["cross-origin-resource-policy"] == "same-origin"
    assert head["cache-control"] == "no-store"
    assert not [name for name in head if name.startswith("access-control")]
    assert "server" not in head


def test_the_page_has_no_code_in_it_and_loads_from_here_only(serving: Serving) -> None:
    _, body = ask(serving, "/", cookie=cookie_of(serving))

    assert body.count("<script") == 1
    assert "<style" not in body
    assert " on" not in body.replace(" only", "")
    assert "//" not in body
    assert '<meta name="torcheer-worker" content="/static/worker.js">' in body


# --- paths -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STATIC_FILES)
def test_the_built_files_are_served_with_their_types(serving: Serving, name: str) -> None:
    head, body = ask(serving, f"/static/{name}", cookie=cookie_of(serving))

    assert head["status"] == "200"
    assert head["content-type"].startswith("text/css" if name.endswith("css") else "text/javascript")
    assert body.encode() == static_file(name)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../../../../../../../etc/passwd",
        "/static/..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static/%252e%252e%252f%252e%252e%252fetc%252fpasswd",
        "/static/..%5c..%5c..%5cetc%5cpasswd",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/app.js%00.css",
        "/static/app.js%00",
        "/static/./app.js",
        "/static/../app.js",
        "/static/app.js/",
        "/static/APP.JS",
        "/static/README",
        "/static/__init__.py",
        "/static/..%2fserver.py",
        "/static/../secret.py",
        "/static/%c0%ae%c0%ae%c0%afetc",
        "/static/app.js%0d%0aSet-Cookie:%20a=b",
        "/static/",
        "/static",
        "/etc/passwd",
        "//etc/passwd",
        "/..",
        "http://127.0.0.1/static/app.js",
        "file:///etc/passwd",
        "/static/" + "a" * 20_000,
        "/static/app.js;x",
        "/static/app%2ejs%3f",
    ],
)
def test_no_path_leads_out_of_the_three_files(serving: Serving, path: str) -> None:
    head, body = ask(serving, path, cookie=cookie_of(serving))

    assert head["status"] == "404"
    assert "root:" not in body
    assert "import" not in body
    assert "set-cookie" not in head


def test_a_link_that_somebody_laid_into_the_folder_is_not_followed(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "static").mkdir()
    os.symlink("/etc/passwd", tmp_path / "static" / "passwd.js")
    (tmp_path / "static" / "app.js").write_text("the real one")
    monkeypatch.setattr("torcheer.app.html_page.files", lambda package: tmp_path)
    cookie = cookie_of(serving)

    assert ask(serving, "/static/app.js", cookie=cookie)[1] == "the real one"
    assert ask(serving, "/static/passwd.js", cookie=cookie)[0]["status"] == "404"


def test_names_of_a_pass_are_never_part_of_the_page() -> None:
    name = "<img src=x onerror=alert(1)></script>"
    with serve(MadeUpPass(name, document([name], name))) as running:
        _, body = ask(running, "/", cookie=cookie_of(running))

    assert "onerror" not in body


# --- broken requests -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\nContent-Length: x\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_a_broken_request_does_no_harm(serving: Serving, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", serving.port), timeout=PATIENCE_SECONDS) as raw:
        raw.sendall(sent)
        with contextlib.suppress(OSError):  # it may have closed already
            raw.shutdown(socket.SHUT_WR)
        received = read_all(raw)

    assert not received.startswith((b"HTTP/1.1 2", b"HTTP/1.1 5"))
    assert ask(serving, "/", cookie=cookie_of(serving))[0]["status"] == "200"


needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files here have no owner and mode")


def test_a_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "torcheer"
    first, second = user_secret(folder), user_secret(folder)

    assert first == second
    assert first.note == ""
    assert len(first.value) == 32
    assert user_secret(tmp_path / "another").value != first.value
    assert os.listdir(folder) == ["secret"]


@needs_owners
def test_a_secret_is_for_its_user_alone(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        user_secret(tmp_path / "torcheer")
    finally:
        os.umask(former)

    assert stat.S_IMODE((tmp_path / "torcheer").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "torcheer" / "secret").stat().st_mode) == 0o600


def test_servers_that_start_together_have_one_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as threads:
        found = set(threads.map(lambda _: user_secret(tmp_path / "torcheer").value, range(64)))

    assert len(found) == 1


def test_a_full_disk_leaves_no_damaged_secret_behind(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # a file can be made, and no byte written
    try:
        assert "no secret can be kept" in user_secret(tmp_path).note
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)

    assert os.listdir(tmp_path) == []
    assert not user_secret(tmp_path).note
    assert os.listdir(tmp_path) == ["secret"]


def holds_for_now(secret: Secret, folder: Path) -> bool:
    """A secret of this process, with a note in one line."""
    return len(secret.value) == 32 and secret.value != user_secret(folder).value and "\n" not in secret.note


@needs_owners
@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604, 0o610, 0o777])
def test_a_secret_that_others_may_touch_is_not_trusted(tmp_path: Path, mode: int) -> None:
    user_secret(tmp_path)
    (tmp_path / "secret").chmod(mode)
    found = user_secret(tmp_path)

    assert holds_for_now(found, tmp_path)
    assert "not private" in found.note
    assert "remove it" in found.note


@needs_owners
def test_a_secret_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user_secret(tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: 12345)

    assert "not private" in user_secret(tmp_path).note


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33, b"x" * 1_000_000])
def test_a_damaged_secret_is_not_trusted(tmp_path: Path, content: bytes) -> None:
    user_secret(tmp_path)
    (tmp_path / "secret").write_bytes(content)
    found = user_secret(tmp_path)

    assert holds_for_now(found, tmp_path)
    assert "damaged" in found.note


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_is_no_file_is_not_trusted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secret", 0o600)  # to read it would take for ever
    assert holds_for_now(user_secret(tmp_path), tmp_path)

    other = tmp_path / "other"
    (other / "secret").mkdir(parents=True)
    assert holds_for_now(user_secret(other), other)


@needs_owners
def test_a_link_to_another_file_is_not_followed(tmp_path: Path) -> None:
    user_secret(tmp_path / "real")
    (tmp_path / "torcheer").mkdir()
    os.symlink(tmp_path / "real" / "secret", tmp_path / "torcheer" / "secret")
    found = user_secret(tmp_path / "torcheer")

    assert found.value != user_secret(tmp_path / "real").value
    assert found.note


def test_where_nothing_can_be_kept_the_server_still_has_a_secret(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = user_secret(tmp_path / "file" / "torcheer")

    assert holds_for_now(found, tmp_path / "file" / "torcheer")
    assert "must be opened anew" in found.note


def test_without_a_home_the_server_still_has_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)

    assert "home" in user_secret().note


def test_a_secret_is_not_shown_by_accident(tmp_path: Path) -> None:
    secret = user_secret(tmp_path)

    assert str(secret.value) not in repr(secret)


def test_the_folder_is_where_the_system_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path("/home/somebody")
    monkeypatch.setattr(Path, "home", lambda: home)

    assert state_folder("linux", {}) == home / ".local" / "state" / "torcheer"
    assert state_folder("linux", {"XDG_STATE_HOME": "/state"}) == Path("/state/torcheer")
    assert state_folder("linux", {"XDG_STATE_HOME": "relative"}) == home / ".local" / "state" / "torcheer"
    assert state_folder("darwin", {}) == home / "Library" / "Application Support" / "torcheer"
    assert state_folder("win32", {"LOCALAPPDATA": "/local"}) == Path("/local/torcheer")
    assert state_folder("win32", {}) == home / "AppData" / "Local" / "torcheer"

"""The socket of the server, attacked: strangers, broken frames, nonsense, hostile numbers, floods."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.app.serving import (
    PATIENCE_SECONDS,
    TENSOR_QUESTION,
    VALUES,
    WHOLE,
    Gate,
    MadeUpPass,
    Page,
    close_code,
    cookie_of,
    document,
    frame,
    handshake,
    open_socket,
    origin_of,
    raw_socket,
    read_all,
    serve,
)
from torcheer.app.passes.source import MAX_REQUEST_BYTES, MAX_VALUE_BYTES
from torcheer.app.server import Serving
from torcheer.errors import FileFormatError


@pytest.fixture(scope="module")
def source() -> MadeUpPass:
    return MadeUpPass()


@pytest.fixture(scope="module")
def serving(source: MadeUpPass) -> Iterator[Serving]:
    with serve(source) as running:
        yield running


@pytest.fixture
def page(serving: Serving) -> Iterator[Page]:
    with Page(serving) as opened:
        yield opened


# --- strangers -------------------------------------------------------------------------------


def refused_with(serving: Serving, **changes: Any) -> int:
    with pytest.raises(InvalidStatus) as caught, open_socket(serving, **changes):
        pass
    response = caught.value.response
    assert "set-cookie" not in response.headers
    assert not response.body
    return response.status_code


@pytest.mark.parametrize(
    "cookie", ["", "torcheer-{port}=", "torcheer-{port}=1.x", "torcheer-1=1.x", "token=x"]
)
def test_a_socket_needs_the_cookie(serving: Serving, cookie: str) -> None:
    assert refused_with(serving, cookie=cookie.format(port=serving.port)) == 403


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1",
        "http://localhost:{port}",  # not the origin of a page at 127.0.0.1
        "http://127.0.0.1:{port}.evil.example",
        "http://127.0.0.1:{port}/",
        "file://",
    ],
)
def test_a_page_from_elsewhere_cannot_open_a_socket(serving: Serving, origin: str | None) -> None:
    given = None if origin is None else origin.format(port=serving.port)
    assert refused_with(serving, origin=given) == 403


def status_of(raw: socket.socket) -> int:
    with raw:
        return int(read_all(raw).split(b" ", 2)[1])


def test_a_socket_has_exactly_one_origin_and_one_host(serving: Serving) -> None:
    port = serving.port
    assert status_of(handshake(serving, "Origin: http://evil.example")) in (400, 403)
    assert status_of(handshake(serving, f"Origin: {origin_of(serving)}", origin="http://evil.example")) in (
        400,
        403,
    )
    assert status_of(handshake(serving, f"Host: evil.example:{port}")) in (400, 403)
    assert status_of(handshake(serving, f"Host: 127.0.0.1:{port}", host="evil.example")) in (400, 403)


def test_a_foreign_host_cannot_open_a_socket(serving: Serving) -> None:
    # What a browser sends when an attacker's DNS name is pointed at this machine.
    host = f"evil.example:{serving.port}"
    assert status_of(handshake(serving, host=host, origin=f"http://{host}")) == 403
    assert status_of(handshake(serving, host=host)) == 403
    assert status_of(handshake(serving, host="127.0.0.1", origin="http://127.0.0.1")) == 403


def test_there_is_no_socket_anywhere_else(serving: Serving) -> None:
    for path in ("/", "/static/app.js", "/socket/", "/socket2", "/%2e%2e/socket"):
        assert refused_with(serving, path=path) == 403


# --- frames ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (frame(b"{}", mask=False), 1002),
        (frame(b"{}", opcode=3), 1002),
        (frame(b"{}", opcode=0), 1002),
        (frame(b"a" * 126, opcode=9), 1002),
        (frame(b"", opcode=9, fin=False), 1002),
        (b"\xf1\x80" + bytes(4), 1002),
        (frame(b"{", fin=False) + frame(b"{", fin=False), 1002),
        (frame(b"\xff\xfe"), 1007),
        (frame(b"\xed\xa0\x80"), 1007),
        (frame(b"{}", opcode=2), 1003),
        (frame(b"a" * (MAX_REQUEST_BYTES + 1)), 1009),
        (frame(b"", length=MAX_REQUEST_BYTES + 1), 1009),
        (frame(b"", length=2**62), 1009),
        (frame(b"", length=2**64 - 1), 1009),
        (frame(b"a" * 60_000, fin=False) + frame(b"a" * 60_000, opcode=0), 1009),
    ],
    ids=(
        "unmasked reserved-opcode nothing-to-continue long-ping split-ping reserved-bits two-beginnings "
        "no-utf8 surrogate binary oversized claims-64k claims-4-exabytes claims-all oversized-in-parts"
    ).split(),
)
def test_a_broken_frame_closes_its_own_connection_only(
    serving: Serving, page: Page, sent: bytes, code: int
) -> None:
    with raw_socket(serving) as raw:
        raw.sendall(sent)
        assert close_code(raw) == code
    assert page.is_alive()


def test_a_connection_that_breaks_off_does_no_harm(serving: Serving, page: Page) -> None:
    for sent in (
        b"\x81",
        frame(b"{", length=100),
        frame(b"{", fin=False),
        frame(json.dumps(TENSOR_QUESTION).encode()),
    ):
        with raw_socket(serving) as raw:
            raw.sendall(sent)

    assert page.is_alive()


# --- nonsense --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "null",
        "[]",
        "12",
        '"open"',
        "{}",
        '{"type":"open"}',
        '{"id":3}',
        '{"type":null,"id":3}',
        '{"type":"nothing","id":3}',
        '{"type":"open","id":3}',
        '{"type":"open","id":3,"pass_id":null}',
        '{"type":"open","id":3,"pass_id":["pass-1"]}',
        '{"type":"open","id":"3","pass_id":"pass-1"}',
        '{"type":"open","id":3.5,"pass_id":"pass-1"}',
        '{"type":"open","id":-3,"pass_id":"pass-1"}',
        '{"type":"open","id":9007199254740992,"pass_id":"pass-1"}',
        '{"type":"open","id":' + "9" * 5000 + ',"pass_id":"pass-1"}',
        '{"type":"open","id":3,"pass_id":"' + "a" * 65 + '"}',
        '{"type":"open","id":3,"pass_id":"pass-1","more":1}',
        '{"type":"hello","id":3,"version":"1","passes":[]}',
        '{"type":"open","id":3,"pass_id":"\\ud800"}',
        '{"type":"open","id":3,"pass_id":"pass-1"}{"type":"open","id":3,"pass_id":"pass-1"}',
        "[" * 60_000,
        '{"type":' * 8_000,
        '{"id":3,"type":"open","window":' + "[" * 50_000,
    ],
    ids=lambda text: text[:40],
)
def test_nonsense_is_refused_in_a_sentence(page: Page, text: str) -> None:
    page.socket.send(text)
    refusal = page.receive()

    assert refusal["type"] == "refusal"
    assert refusal["id"] in (-1, 3)
    assert refusal["message"].startswith("this question cannot be read: ")
    assert len(refusal["message"]) < 300
    assert page.is_alive()


def test_a_refusal_names_its_question_where_it_can(page: Page) -> None:
    assert page.ask(type="nothing", id=31)["id"] == 31
    assert page.ask(type="open", id=32, pass_id=[1])["id"] == 32
    assert page.ask(type="open", pass_id="pass-1")["id"] == -1


@pytest.mark.parametrize(
    "pass_id", ["", "nothing", "../pass-1", "/etc/passwd", "pass-1\0", "PASS-1", " pass-1", "."]
)
@pytest.mark.parametrize("kind", ["open", "tensor", "figures"])
def test_a_pass_that_is_not_there_is_refused(page: Page, pass_id: str, kind: str) -> None:
    more = {
        "open": {},
        "tensor": {"kind": "output", "index": 0, "window": None},
        "figures": {"name": "zeros"},
    }
    refusal = page.ask(type=kind, id=4, pass_id=pass_id, **more[kind])

    assert (refusal["type"], refusal["id"]) == ("refusal", 4)
    assert "no longer here" in refusal["message"]


# --- hostile numbers -------------------------------------------------------------------------

PLAIN_WINDOW = {name: getattr(WHOLE, name) for name in WHOLE.__struct_fields__}


@pytest.mark.parametrize(
    "changes",
    [
        {"first_row": -1},
        {"first_tile": -(2**63)},
        {"num_rows": -2, "num_columns": -3},
        {"row_step": 0},
        {"column_step": -1},
        {"item": [-1]},
        {"item": [2**53]},
        {"item": [0] * 65},
        {"num_tiles": 2**53 - 1, "num_rows": 2**53 - 1, "num_columns": 2**53 - 1},
        {"num_tiles": 10**9},
        {"num_rows": 2**32, "num_columns": 2**32},  # their product is 0 in 64 bits
        {"first_row": 2**64},
        {"first_row": 10**30},
        {"row_step": 2**53},
        {"num_columns": MAX_VALUE_BYTES},
    ],
    ids=str,
)
def test_a_hostile_window_never_reaches_a_pass(
    source: MadeUpPass, page: Page, changes: dict[str, Any]
) -> None:
    source.asked.clear()
    refusal = page.ask_tensor(window=PLAIN_WINDOW | changes)

    assert (refusal["type"], refusal["id"]) == ("refusal", 5)
    assert "window" in refusal["message"]
    assert source.asked == []


@pytest.mark.parametrize(
    "changes",
    [
        {"window": []},
        {"window": {}},
        {"window": "whole"},
        {"window": PLAIN_WINDOW | {"first_row": 0.5}},
        {"window": PLAIN_WINDOW | {"first_row": None}},
        {"window": PLAIN_WINDOW | {"item": ["0"]}},
        {"window": PLAIN_WINDOW | {"item": 0}},
        {"kind": "file"},
        {"kind": 0},
        {"index": -1},
        {"index": 2**53},
        {"index": "0"},
        {"index": True},
    ],
    ids=str,
)
def test_a_tensor_is_asked_for_in_the_right_types(
    source: MadeUpPass, page: Page, changes: dict[str, Any]
) -> None:
    source.asked.clear()
    refusal = page.ask_tensor(**changes)

    assert (refusal["type"], refusal["id"]) == ("refusal", 5)
    assert source.asked == []


def test_an_index_beyond_all_tensors_is_the_pass_s_to_refuse(page: Page) -> None:
    assert "there is no op 9007199254740991" in page.ask_tensor(index=2**53 - 1)["message"]


# --- what a pass does ------------------------------------------------------------------------


def test_an_answer_has_a_limit() -> None:
    source = MadeUpPass()
    source.values = bytes(MAX_VALUE_BYTES + 4)
    with serve(source) as running, Page(running) as page:
        assert "too many for one answer" in page.ask_tensor()["message"]
        assert page.is_alive()


def test_a_page_is_never_shown_an_error_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    source = MadeUpPass()
    with serve(source) as running, Page(running) as page:
        source.tensor_call = _raising(RuntimeError("the password is 1234"))
        refusal = page.ask_tensor()
        assert refusal == {"type": "refusal", "id": 5, "message": FAULTY}
        assert "the password is 1234" in caplog.text

        source.tensor_call = _raising(MemoryError())
        assert page.ask_tensor()["message"] == FAULTY
        source.tensor_call = _raising(FileFormatError("pass.safetensors is damaged: save it again."))
        assert page.ask_tensor()["message"] == "pass.safetensors is damaged: save it again."
        source.tensor_call = _raising(OSError(5, "Input/output error"))
        assert "Input/output error" in page.ask_tensor()["message"]
        source.tensor_call = lambda index: None
        source.values = VALUES.tobytes()[:-1]  # fewer than the window says
        assert page.ask_tensor()["message"] == FAULTY
        source.figures_answer = "there is no such figure"
        assert (
            page.ask(type="figures", id=6, pass_id="pass-1", name="x")["message"] == "there is no such figure"
        )
        assert page.is_alive()


FAULTY = "this could not be answered: the server's log says why."


def _raising(error: Exception) -> Callable[[int], None]:
    def call(index: int) -> None:
        raise error

    return call


HOSTILE_NAMES = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"'`${alert(1)}",
    "a\0b",
    "\u202egnp.exe",
    "\u2028\u2029\x1b[31m\r\n",
    "\ud800",
    "\udfff half \ud83d",
    "\U0001f600",
    "a" * 100_000,
]


def test_hostile_names_arrive_as_they_are() -> None:
    names = [name for name in HOSTILE_NAMES if len(name) < 64]
    sources = [
        MadeUpPass(f"pass {number}", document(HOSTILE_NAMES, name)) for number, name in enumerate(names)
    ]
    for source, name in zip(sources, names, strict=True):
        source.name = source.detail = name
    with serve(*sources) as running, Page(running) as page:
        assert [listed["name"] for listed in page.hello["passes"]] == names
        for source, name in zip(sources, names, strict=True):
            answer = page.ask(type="open", id=1, pass_id=source.id)
            assert answer["document"]["model_name"] == name
            assert [op["label"] for op in answer["document"]["ops"]] == HOSTILE_NAMES


def test_a_hostile_id_is_an_id_like_any_other() -> None:
    pass_id = "../../<b>\0'"
    with serve(MadeUpPass(pass_id)) as running, Page(running) as page:
        assert page.hello["passes"][0]["id"] == pass_id
        assert page.ask(type="open", id=1, pass_id=pass_id)["type"] == "document"


# --- floods ----------------------------------------------------------------------------------


def test_a_pass_is_read_by_one_thread_at_a_time_and_others_meanwhile() -> None:
    gate, busy, free = Gate(), MadeUpPass("busy"), MadeUpPass("free")
    busy.tensor_call = gate.pass_through
    with serve(busy, free) as running, Page(running) as first, Page(running) as second:
        for page in (first, second):
            page.socket.send(json.dumps(TENSOR_QUESTION | {"pass_id": "busy"}))
        assert gate.reached.acquire(timeout=PATIENCE_SECONDS)
        # While that one is held up, others are answered, on the same connection too.
        for page in (first, second):
            assert page.ask(type="open", id=1, pass_id="free")["type"] == "document"
            assert page.is_alive()
        assert len(busy.asked) == 1

        gate.opened.set()
        for page in (first, second):
            assert isinstance(page.socket.recv(timeout=PATIENCE_SECONDS), bytes)
        assert len(busy.asked) == 2


def test_a_page_that_left_still_has_its_turn_and_the_next_one_after_it() -> None:
    gate, source = Gate(), MadeUpPass()
    source.tensor_call = gate.pass_through
    with serve(source) as running, Page(running) as page:
        with Page(running) as leaving:
            for _ in range(5):
                leaving.socket.send(json.dumps(TENSOR_QUESTION))
            assert gate.reached.acquire(timeout=PATIENCE_SECONDS)
        page.socket.send(json.dumps(TENSOR_QUESTION | {"kind": "grad"}))
        assert page.is_alive()
        assert len(source.asked) == 1

        gate.opened.set()
        assert isinstance(page.socket.recv(timeout=PATIENCE_SECONDS), bytes)
        # What was asked for by nobody who is still there was not read.
        assert [kind for kind, _, _ in source.asked] == ["output", "grad"]


def test_a_flood_of_questions_is_held_back_and_then_answered() -> None:
    gate, source = Gate(), MadeUpPass()
    source.tensor_call = gate.pass_through
    question = frame(json.dumps(TENSOR_QUESTION).encode().ljust(60_000))
    with serve(source) as running, Page(running) as other, raw_socket(running) as raw:
        # A small buffer, so that it is soon full once the server reads no more.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        raw.sendall(question)
        assert gate.reached.acquire(timeout=PATIENCE_SECONDS)
        flood = question * 1_000
        num_sent = _send_while_there_is_room(raw, flood)
        assert num_sent < len(flood)
        assert other.is_alive()
        assert len(source.asked) == 1

        gate.opened.set()
        raw.settimeout(PATIENCE_SECONDS)
        raw.sendall(flood[num_sent : -(-num_sent // len(question)) * len(question)])
        num_answers = 1 + -(-num_sent // len(question))
        received = b""
        while received.count(b'{"type":"tensor","id":5') < num_answers:
            received += raw.recv(1 << 16)


def _send_while_there_is_room(raw: socket.socket, data: bytes) -> int:
    """How much was taken before the other side had taken nothing more for a while."""
    raw.settimeout(0.5)
    num_sent = 0
    with contextlib.suppress(TimeoutError):
        while num_sent < len(data):
            num_sent += raw.send(data[num_sent : num_sent + (1 << 16)])
    return num_sent


def test_a_page_that_does_not_read_costs_little() -> None:
    source = MadeUpPass()
    window = PLAIN_WINDOW | {"num_rows": 1000, "num_columns": 500}
    source.values = bytes(4 * 500_000)
    question = frame(json.dumps(TENSOR_QUESTION | {"window": window, "index": 0, "kind": "grad"}).encode())
    with serve(source) as running, raw_socket(running) as deaf, Page(running) as other:
        deaf.sendall(question * 200)
        # Turns are taken in the order of asking: had the deaf page more to ask, it would come before these.
        for _ in range(100):
            other.socket.send(json.dumps(TENSOR_QUESTION | {"window": window}))
            other.socket.recv(timeout=PATIENCE_SECONDS)
        asked_by_the_deaf = sum(kind == "grad" for kind, _, _ in source.asked)

    assert 1 <= asked_by_the_deaf < 50


def test_the_number_of_pages_is_limited() -> None:
    with serve() as running, contextlib.ExitStack() as stack:
        cookie = cookie_of(running)
        sockets = [stack.enter_context(open_socket(running, cookie)) for _ in range(64)]
        assert all("hello" in socket.recv(timeout=PATIENCE_SECONDS) for socket in sockets)
        with open_socket(running, cookie) as one_more, pytest.raises(ConnectionClosed) as caught:
            one_more.recv(timeout=PATIENCE_SECONDS)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1013
        sockets[0].close()

"""A pass that is made up, a server that really runs, and clients that need not behave."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec
import numpy as np
from websockets.sync.client import ClientConnection, connect

from torcheer.app.access import Secret
from torcheer.app.listen import listen
from torcheer.app.passes.source import PassListing
from torcheer.app.server import Server, Serving
from torcheer.graph import OpEntry, PassDocument
from torcheer.tensorfile import TensorKind, TensorView, Window

SECRET: Final = Secret(value=b"a secret that only the tests know")
PATIENCE_SECONDS: Final = 60.0  # for what should come at once, beside others that compute


def op(label: str) -> OpEntry:
    plain: dict[str, Any] = {"layer": 0, "pass_num": 1, "num_passes": 1, "type": "relu", "function": "relu"}
    plain |= {"kind": "op", "scope": 0, "parents": [[-1, "0"]], "argument_order_matters": False, "params": []}
    plain |= {"shape": [2, 3], "dtype": "float32", "num_bytes": 24, "seconds": 0.5, "flops": None, "name": ""}
    plain |= {"arguments": "", "source": -1, "stack": [], "has_value": True, "has_grad": False}
    plain |= {"is_inplace": False, "is_edited": False, "requires_grad": False, "grad_fn": ""}
    plain |= {"backward_seconds": None, "label": label}
    return msgspec.convert(plain, OpEntry)


def document(labels: Sequence[str] = ("relu_1_1",), model_name: str = "Model") -> PassDocument:
    plain: dict[str, Any] = {"version": 1, "model_name": model_name, "elapsed_seconds": 0.5, "num_params": 0}
    plain |= {"param_bytes": 0, "num_bytes": 24, "random_seed": 1, "notes": [], "error": "", "scopes": []}
    plain |= {"stopped_after": "", "is_shape_only": False, "num_backward_passes": 0, "params": []}
    plain |= {"sources": [], "branches": [], "ops": [op(label) for label in labels]}
    return msgspec.convert(plain, PassDocument)


WHOLE: Final = Window(
    item=[],
    first_tile=0,
    num_tiles=1,
    first_row=0,
    row_step=1,
    num_rows=2,
    first_column=0,
    column_step=1,
    num_columns=3,
)
VALUES: Final = np.arange(6, dtype="<f4").reshape(1, 2, 3)


class MadeUpPass:
    """A pass of one tensor. `tensor_call` stands in for what reading it does."""

    def __init__(self, pass_id: str = "pass-1", shown: PassDocument | None = None) -> None:
        self.id = pass_id
        self.name = f"the name of {pass_id}"
        self.detail = "made up"
        self.shown = shown or document()
        self.tensor_call: Callable[[int], None] = lambda index: None
        self.values = VALUES.tobytes()
        self.figures_answer: Sequence[float | None] | str = [0.25, None]
        self.asked: list[tuple[TensorKind, int, Window | None]] = []

    def document(self) -> PassDocument:
        return self.shown

    def tensor(self, kind: TensorKind, index: int, window: Window | None) -> tuple[TensorView, bytes] | str:
        self.asked.append((kind, index, window))
        self.tensor_call(index)
        if index >= len(self.shown.ops):
            return f"there is no op {index} in this pass."
        return view_of(window or WHOLE), self.values

    def figures(self, name: str) -> Sequence[float | None] | str:
        return self.figures_answer


class SourceShelf:
    """A shelf of passes that are known from the start."""

    def __init__(self, sources: Sequence[MadeUpPass]) -> None:
        self._sources = {source.id: source for source in sources}

    def listing(self) -> Sequence[PassListing]:
        return [PassListing(id=one.id, name=one.name, detail=one.detail) for one in self._sources.values()]

    def source(self, pass_id: str) -> MadeUpPass | None:
        return self._sources.get(pass_id)


def view_of(window: Window) -> TensorView:
    return TensorView(
        shape=[2, 3],
        dtype="float32",
        num_elements=6,
        mean=2.5,
        std=1.7,
        min=0.0,
        max=5.0,
        num_zeros=1,
        num_nan=0,
        num_inf=0,
        histogram=[1, 2, 3],
        histogram_low=0.0,
        histogram_high=5.0,
        window=window,
        encoding="f4",
        note="",
    )


def serve(*passes: MadeUpPass, port: int | None = 0, secret: Secret = SECRET) -> Serving:
    listener = listen(port=port)
    try:
        return Serving(Server(SourceShelf(passes or (MadeUpPass(),)), listener, secret))
    except BaseException:
        listener.socket.close()
        raise


def quiet_port() -> int:
    """A port that is free, and that no connection of another program is given meanwhile."""
    for port in random.Random(os.getpid()).sample(range(20_000, 30_000), 100):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


# --- clients that behave ---------------------------------------------------------------------


def token_of(serving: Serving) -> str:
    return parse_qs(urlsplit(serving.url).query)["token"][0]


def origin_of(serving: Serving) -> str:
    return f"http://127.0.0.1:{serving.port}"


def cookie_of(serving: Serving) -> str:
    """What a browser would send after it opened the address that was printed."""
    head, _ = ask(serving, f"/?token={token_of(serving)}")
    return head["set-cookie"].partition(";")[0]


def open_socket(
    serving: Serving, cookie: str | None = None, path: str = "/socket", **changes: Any
) -> ClientConnection:
    """A page's socket, its first message still to be received."""
    cookie = cookie_of(serving) if cookie is None else cookie
    options: dict[str, Any] = {
        "additional_headers": {"Cookie": cookie} if cookie else {},
        "origin": origin_of(serving),
        "max_size": None,
        "compression": None,
        "proxy": None,
    }
    return connect(f"ws://127.0.0.1:{serving.port}{path}", **(options | changes))


class Page:
    """A page: connected and greeted inside its `with`."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    def __enter__(self) -> Page:
        self._connection = open_socket(self._serving)
        self.socket = self._connection.__enter__()
        self.hello = self.receive()
        return self

    def __exit__(self, *error: Any) -> None:
        self._connection.__exit__(*error)

    def receive(self) -> Any:
        return json.loads(self.socket.recv(timeout=PATIENCE_SECONDS))

    def ask(self, **question: Any) -> Any:
        self.socket.send(json.dumps(question))
        return self.receive()

    def ask_tensor(self, **changes: Any) -> Any:
        return self.ask(**(TENSOR_QUESTION | changes))

    def is_alive(self) -> bool:
        return bool(self.ask(type="passes", id=77)["id"] == 77)


TENSOR_QUESTION: Final[Mapping[str, Any]] = {
    "type": "tensor",
    "id": 5,
    "pass_id": "pass-1",
    "kind": "output",
    "index": 0,
    "window": None,
}


def take_apart(frame: bytes) -> tuple[Any, bytes]:
    """The head of a binary frame, and its values."""
    length = int.from_bytes(frame[:4], "little")
    start = (4 + length + 7) // 8 * 8
    assert not any(frame[4 + length : start])
    return json.loads(frame[4 : 4 + length]), frame[start:]


# --- clients that need not behave -------------------------------------------------------------


def ask(serving: Serving, target: str, method: str = "GET", **headers: str) -> tuple[dict[str, str], str]:
    """The headers (with `status`) and the body that come back. A header that is empty is left out."""
    given = {"host": f"127.0.0.1:{serving.port}", "connection": "close"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value)]
    answer = send_raw(serving, "\r\n".join([*lines, "", ""]).encode("utf-8"))
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    found = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    return found | {"status": status.split(" ")[1] if " " in status else ""}, body.decode()


def send_raw(serving: Serving, sent: bytes) -> bytes:
    """Whatever comes back for these bytes until the server closes."""
    with socket.create_connection(("127.0.0.1", serving.port), timeout=PATIENCE_SECONDS) as raw:
        raw.sendall(sent)
        return read_all(raw)


def read_all(raw: socket.socket) -> bytes:
    parts = []
    try:
        while part := raw.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def handshake(serving: Serving, *more: str, host: str = "", origin: str = "") -> socket.socket:
    """A socket from which the answer to a page's handshake can be read."""
    raw = socket.create_connection(("127.0.0.1", serving.port), timeout=PATIENCE_SECONDS)
    key = base64.b64encode(os.urandom(16)).decode()
    lines = ["GET /socket HTTP/1.1", f"Host: {host or f'127.0.0.1:{serving.port}'}"]
    lines += [f"Origin: {origin or origin_of(serving)}", f"Cookie: {cookie_of(serving)}"]
    lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    lines += [f"Sec-WebSocket-Key: {key}", *more, "", ""]
    raw.sendall("\r\n".join(lines).encode())
    return raw


def raw_socket(serving: Serving) -> socket.socket:
    """A socket after its handshake and greeting, for frames that no library would send."""
    raw = handshake(serving)
    received = b""
    while b'"passes"' not in received:
        received += raw.recv(1 << 16)
    return raw


def frame(payload: bytes, opcode: int = 1, *, fin: bool = True, mask: bool = True, length: int = -1) -> bytes:
    """A frame of a client; `length` is what it claims."""
    length = len(payload) if length < 0 else length
    first = bytes([(0x80 if fin else 0) | opcode])
    masked = 0x80 if mask else 0
    if length < 126:
        size = bytes([masked | length])
    elif length < 1 << 16:
        size = bytes([masked | 126]) + length.to_bytes(2, "big")
    else:
        size = bytes([masked | 127]) + length.to_bytes(8, "big")
    # A mask of zeros leaves the payload as it is.
    return first + size + (bytes(4) if mask else b"") + payload


def close_code(raw: socket.socket) -> int:
    """The code of the close frame that the server sends next."""
    received = b""
    while len(received) < 4:
        part = raw.recv(1 << 16)
        assert part, "it closed without a word"
        received += part
    assert received[0] == 0x88
    return int.from_bytes(received[2:4], "big")


class Gate:
    """Holds threads up until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Semaphore(0)
        self.opened = threading.Event()

    def pass_through(self, index: int) -> None:
        self.reached.release()
        assert self.opened.wait(PATIENCE_SECONDS)

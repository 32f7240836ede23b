"""Folders that are almost what they should be: honest ones, changed where it hurts.

Each maker writes into an empty folder what the choices lead to. Event files are made field by field; of all
else an honest folder is copied, and numbers, texts and lengths in it are replaced, structure and all.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.run import handmade_events as made
from torcheer.run.tensorboard import protobuf as pb
from torcheer.run.tensorboard.event_file import framed

NUMBERS = (0, 1, 2, 3, 7, 63, 64, 127, 128, 255, 1 << 14, 1 << 16, 1 << 24, (1 << 31) - 1, 1 << 31, 1 << 32)
HUGE = (1 << 40, 1 << 53, (1 << 62) - 1, 1 << 63, (1 << 64) - 1, 1 << 70, -1, -(1 << 31), -(1 << 63))
MOST_BYTES = 1 << 14  # of an event file, about: many small inputs find more than a few large ones
PLUGINS = (
    "scalars",
    "text",
    "images",
    "audio",
    "histograms",
    "pr_curves",
    "custom_scalars",
    "mesh",
    "hparams",
    "x",
)


def number(choices: random.Random) -> int:
    return choices.choice(HUGE) if choices.random() < 0.25 else choices.choice(NUMBERS)


def length(choices: random.Random) -> int:
    """How often something is repeated: mostly a few times, at times very often."""
    return (
        choices.choice((0, 1, 1, 2, 3, 5, 10, 50, 200))
        if choices.random() < 0.99
        else choices.randrange(5_000)
    )


def blob(choices: random.Random, most: int = 40) -> bytes:
    return choices.randbytes(choices.randrange(most))


def text(choices: random.Random) -> str:
    return choices.choice(("", "a", "loss", "a/b", "ünï🙂", "\0", "x" * 300, "\ud800", "../..", "%s{0}"))


# --- event files -------------------------------------------------------------------------------------


def _varint(choices: random.Random) -> bytes:
    if choices.random() < 0.1:
        return b"\xff" * choices.randrange(12) + b"\x01"
    return pb.varint(number(choices))


def _shape(choices: random.Random) -> list[int]:
    if choices.random() < 0.05:
        return [1] * length(choices)
    return [
        number(choices) if choices.random() < 0.4 else choices.randrange(5)
        for _ in range(choices.randrange(5))
    ]


def _tensor(choices: random.Random) -> bytes:
    plugin = choices.choice(PLUGINS)
    kind = choices.random()
    if kind < 0.35:
        texts = [blob(choices) if choices.random() < 0.7 else b"7" for _ in range(length(choices))]
        if plugin == "custom_scalars":
            texts = [_layout(choices), *texts]
        return made.strings(_name(choices), plugin, texts)
    dtype = choices.choice((1, 2, 3, 4, 5, 6, 8, 9, 10, 14, 17, 18, 19, 22, 23, 24, 99))
    shape, data, more = _shape(choices), b"", b""
    if choices.random() < 0.5:
        shape = [choices.randrange(8), choices.choice((1, 3, 6))]
        data = choices.randbytes(shape[0] * shape[1] * choices.choice((1, 2, 4, 8)))
    elif choices.random() < 0.5:
        field = choices.choice((5, 6, 7, 9, 10, 11, 12, 13, 16, 17))
        form = choices.random()
        if form < 0.4:
            more = pb.bytes_field(field, choices.randbytes(8 * choices.randrange(20)))
        else:
            more = b"".join(pb.varint(field << 3) + _varint(choices) for _ in range(length(choices)))
    return made.tensor(_name(choices), dtype, shape, data, plugin=plugin, more=more)


def _name(choices: random.Random) -> str:
    return text(choices) if choices.random() < 0.5 else f"n{choices.randrange(40)}"


def _layout(choices: random.Random) -> bytes:
    charts = b"".join(
        pb.bytes_field(
            2, pb.text_field(1, _name(choices)) + pb.bytes_field(choices.choice((2, 3)), blob(choices))
        )
        for _ in range(length(choices))
    )
    return b"".join(
        pb.bytes_field(2, pb.text_field(1, "group") + charts) for _ in range(choices.randrange(4))
    )


def _hparams(choices: random.Random) -> bytes:
    values = []
    for at in range(length(choices)):
        inside = choices.choice(
            (pb.double_field(2, 0.1), pb.text_field(3, '"'), pb.int_field(4, 1), b"", blob(choices))
        )
        depth = choices.choice((0, 0, 0, 1, 3, 15, 40)) if choices.random() < 0.99 else 2000
        values.append((f"h{at}", made.nested_lists(depth, inside)))
    return made.hparams(values)


def _histogram(choices: random.Random) -> bytes:
    sums = b"".join(
        pb.double_field(field, choices.choice((0.0, 1.0, 1e308, float("nan")))) for field in range(1, 6)
    )
    limits = choices.randbytes(8 * choices.randrange(30))
    counts = limits if choices.random() < 0.7 else blob(choices)
    one_by_one = b"".join(pb.double_field(6, float(at)) for at in range(choices.randrange(5)))
    return pb.text_field(1, _name(choices)) + pb.bytes_field(
        5, sums + pb.bytes_field(6, limits) + pb.bytes_field(7, counts) + one_by_one
    )


def _media(choices: random.Random) -> bytes:
    sizes = b"".join(bytes([field << 3]) + _varint(choices) for field in (1, 2, 3))
    field = choices.choice((4, 6))
    start = choices.choice((b"\x89PNG", b"\xff\xd8", b"RIFF", b""))
    return pb.text_field(1, _name(choices)) + pb.bytes_field(
        field, sizes + pb.bytes_field(4, start + blob(choices))
    )


def _value(choices: random.Random) -> bytes:
    make = choices.choice((_tensor, _tensor, _hparams, _histogram, _media, _scalar))
    return make(choices)


def _scalar(choices: random.Random) -> bytes:
    return made.scalar(_name(choices), choices.choice((0.0, 1.5, float("nan"), float("inf"))))


def damaged_message(choices: random.Random, message: bytes) -> bytes:
    """A message of which one field is repeated, cut, changed in number or form, or put into itself."""
    spans = []
    with suppress(pb.DamagedMessageError):
        for field, form, value, start in pb.placed_fields(message):
            size = len(value) if form != pb.VARINT else 1
            spans.append((field, form, start, size))
    what = choices.randrange(7)
    if not spans or what == 0:
        at = choices.randrange(len(message) + 1)
        return message[:at] + blob(choices) + message[at + choices.randrange(4) :]
    field, form, start, size = choices.choice(spans)
    inner = message[start : start + size]
    if what == 1:
        return message + (bytes([field << 3 & 0x7F | form]) + inner) * min(
            length(choices), MOST_BYTES // (size + 1)
        )
    if what == 2:
        return message[:start] + _varint(choices) + message[start + size :]
    if what == 3 and form == pb.BYTES:
        return pb.bytes_field(field, damaged_message(choices, inner))
    if what == 4:
        for _ in range(choices.choice((1, 3, 100))):
            message = pb.bytes_field(field, message)
        return message[: 1 << 16]
    if what == 5:
        return message[: choices.randrange(len(message) + 1)]
    return message + pb.varint(number(choices) << 3 & 0xFFFF | choices.randrange(8)) + blob(choices)


def make_events(folder: Path, choices: random.Random) -> None:
    for at in range(choices.choice((1, 1, 1, 2, 5))):
        _write_event_file(folder / f"events.out.tfevents.{1700000000 + at}.host.1.0", choices)


def _write_event_file(path: Path, choices: random.Random) -> None:
    records: list[bytes] = []
    for _ in range(choices.choice((1, 2, 5, 20)) if choices.random() < 0.98 else 2000):
        if sum(map(len, records)) > MOST_BYTES:
            break
        kind = choices.random()
        if kind < 0.1:
            records.append(made.restart(choices.choice((0, 1, 5, 1 << 62, -1))))
        elif kind < 0.15:
            records.append(framed(blob(choices, 200)))
        elif kind < 0.2:
            records.append(made.event(*[_scalar(choices) for _ in range(length(choices))]))
        else:
            value = _value(choices)
            value = damaged_message(choices, value)[:MOST_BYTES] if choices.random() < 0.5 else value
            step, moment = (
                choices.choice((0, 3, 7, 1 << 62, -5)),
                choices.choice((1000.0, 0.0, float("nan"), 1e300)),
            )
            records.append(
                made.event(value, step=step, time=moment, more=blob(choices) if kind > 0.95 else b"")
            )
    data = b"".join(records)
    ending = choices.random()
    if ending < 0.05:
        data += made.record_head(number(choices) & (1 << 64) - 1)
    elif ending < 0.1:
        data = data[: choices.randrange(len(data) + 1)]
    elif ending < 0.15 and data:
        at = choices.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1 << choices.randrange(8)]) + data[at + 1 :]
    path.write_bytes(data)
    if ending > 0.97:
        os.truncate(path, len(data) + choices.choice((1, 4096, 1 << 24, 1 << 34)))


# --- embeddings --------------------------------------------------------------------------------------


def make_embeddings(folder: Path, choices: random.Random) -> None:
    made.write_events(folder, made.event(made.scalar("loss", 1.0)))
    (folder / "projector_config.pbtxt").write_bytes(_config(choices))
    for name in ("t.tsv", "m.tsv", "s.png"):
        if choices.random() < 0.9:
            (folder / name).write_bytes(_table(choices))
        if choices.random() < 0.03:
            (folder / name).touch()
            os.truncate(folder / name, choices.choice((1 << 12, 1 << 27, 1 << 29)))


def _config(choices: random.Random) -> bytes:
    pieces = []
    for _ in range(length(choices)):
        words = [
            f'tensor_name: "{choices.choice(("a", "a:00003", "b:" + "9" * 30, "x" * 200))}"',
            f'tensor_path: "{choices.choice(("t.tsv", "t.tsv", "../t.tsv", "/etc/passwd", "m.tsv"))}"',
            f'metadata_path: "{choices.choice(("m.tsv", "t.tsv", ""))}"',
            f'sprite {{ image_path: "s.png" single_image_dim: {number(choices)} single_image_dim: 8 }}',
            choices.choice(
                ("# no\n", '"', "{", "}", '\\"', "embeddings", ": :", "\0", "x: 1" * choices.randrange(50))
            ),
        ]
        chosen = [word for word in words if choices.random() < 0.7]
        pieces.append(f"embeddings {{ {' '.join(chosen)} }}")
    data = "\n".join(pieces).encode()
    if choices.random() < 0.1:
        data = data + choices.choice((b'"', b"{", b"\\", b"a ", b': "', b'\\"', b"#")) * choices.randrange(
            20_000
        )
    if choices.random() < 0.1:
        at = choices.randrange(len(data) + 1)
        data = data[:at] + blob(choices) + data[at:]
    return data


def _table(choices: random.Random) -> bytes:
    num_columns = choices.choice((1, 1, 2, 3, 10, 500)) if choices.random() < 0.98 else 5000
    cells = (b"1", b"0.5", b"1e999", b"nan", b"", b"a", b"\xff\xfe", b"\x00", "🙂".encode(), b"9" * 40)
    weights = (30, 5, 1, 1, 1, 1, 1, 1, 1, 1)
    row = b"\t".join(choices.choices(cells, weights, k=num_columns))
    rows = [row] * min(length(choices), 200_000 // len(row) if row else 1000)
    if choices.random() < 0.3:
        rows.append(b"\t" * choices.randrange(40))
    return choices.choice((b"\n", b"\n", b"\r\n")).join(rows) + choices.choice((b"", b"\n"))


# --- JSON --------------------------------------------------------------------------------------------


def damaged_json(choices: random.Random, value: Any, depth: int = 0) -> Any:
    """The same with one thing in it changed."""
    if isinstance(value, dict) and value and depth < 8 and choices.random() < 0.85:
        key = choices.choice(list(value))
        if choices.random() < 0.08:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: damaged_json(choices, value[key], depth + 1)}
    if isinstance(value, list) and value and depth < 8 and choices.random() < 0.7:
        at = choices.randrange(len(value))
        if choices.random() < 0.1:
            return value * min(length(choices), 500)
        return [*value[:at], damaged_json(choices, value[at], depth + 1), *value[at + 1 :]]
    return choices.choice(
        (
            None,
            True,
            number(choices),
            -number(choices),
            1.5,
            1e308,
            text(choices),
            [],
            {},
            [number(choices)] * 70,
            "x" * 3000,
        )
    )


def json_bytes(choices: random.Random, value: Any) -> bytes:
    """As bytes, which may be no JSON at all."""
    data = json.dumps(value).encode()
    what = choices.random()
    if what < 0.06:
        return data[: choices.randrange(len(data) + 1)]
    if what < 0.12:
        at = choices.randrange(len(data) + 1)
        return data[:at] + choices.choice((b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\0")) + data[at:]
    if what < 0.16:
        return b"[" * choices.choice((10, 1000, 20_000)) + data
    if what < 0.18:
        return data.decode().encode("utf-16")
    return data


# --- run parts ---------------------------------------------------------------------------------------


def make_part(folder: Path, choices: random.Random, template: Path) -> None:
    """A run of ours with other heads, other bytes, other counts."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    path = folder / "rank-0.sqlite"
    if choices.random() < 0.15:
        data = bytearray(path.read_bytes())
        for _ in range(choices.choice((1, 3, 50))):
            data[choices.randrange(len(data))] = choices.randrange(256)
        path.write_bytes(data)
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for _ in range(choices.choice((1, 1, 2, 5))):
            with suppress(sqlite3.Error, ValueError, RecursionError):
                choices.choice((_other_head, _other_head, _other_cell, _other_document, _more_rows))(
                    connection, choices
                )


def _other_head(connection: sqlite3.Connection, choices: random.Random) -> None:
    number_of, head = choices.choice(connection.execute("SELECT id, head FROM records").fetchall())
    value = damaged_json(choices, json.loads(head))
    data = json_bytes(choices, value)
    connection.execute("UPDATE records SET head = ? WHERE id = ?", (data, number_of))


def _other_cell(connection: sqlite3.Connection, choices: random.Random) -> None:
    cells = {
        "records": ("step", "time", "num_bytes", "name"),
        "points": ("first", "count", "num_bad", "steps", "times", "vals", "name"),
        "data": ("bytes",),
        "names": ("kind", "name", "description"),
        "meta": ("value",),
        "sessions": ("started", "ended", "pid", "num_dropped", "host", "note"),
    }
    table = choices.choice(list(cells))
    value: Any = choices.choice(
        (
            None,
            choices.choice(NUMBERS),
            2**62,
            -1,
            1e300,
            float("inf"),
            "text",
            "x" * 5000,
            blob(choices),
            bytes(3000),
        )
    )
    column = choices.choice(cells[table])
    rows = connection.execute(f"SELECT rowid FROM {table}").fetchall()
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, choices.choice(rows)[0]))


def _other_document(connection: sqlite3.Connection, choices: random.Random) -> None:
    digest, packed = choices.choice(connection.execute("SELECT hash, json FROM documents").fetchall())
    if choices.random() < 0.5:
        data = json_bytes(choices, damaged_json(choices, json.loads(zlib.decompress(packed))))
    else:
        data = choices.choice((b"[", b"[],", b'""', b"0,", b" ")) * choices.choice((1000, 1 << 20, 1 << 22))
    claimed = len(data) if choices.random() < 0.8 else choices.choice((*NUMBERS, 2**62))
    connection.execute(
        "UPDATE documents SET json = ?, num_bytes = ? WHERE hash = ?",
        (zlib.compress(data, 1), claimed, digest),
    )


def _more_rows(connection: sqlite3.Connection, choices: random.Random) -> None:
    count = length(choices)
    connection.execute("BEGIN")
    for at in range(count):
        connection.execute(
            "INSERT OR IGNORE INTO names (kind, name) VALUES (?, ?)",
            (choices.choice(("scalar", "text")), f"m{at}"),
        )
        block = (choices.randrange(1, 9), at, 1, 0, 0, bytes(8), bytes(8), bytes(8))
        connection.execute(
            "INSERT INTO points (name, first, count, level, num_bad, steps, times, vals) "
            "VALUES (?,?,?,?,?,?,?,?)",
            block,
        )
    connection.execute("COMMIT")


# --- features, passes, checkpoints -------------------------------------------------------------------


def make_features(folder: Path, choices: random.Random, template: Path) -> None:
    shutil.copytree(template, folder, dirs_exist_ok=True)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for _ in range(choices.choice((1, 1, 2))):
        path = choices.choice(
            [path for path in files if path.suffix == ".json"] if choices.random() < 0.6 else files
        )
        data = path.read_bytes()
        if path.suffix == ".json":
            path.write_bytes(
                json_bytes(choices, damaged_json(choices, json.loads(data))) if _is_json(data) else data
            )
        elif path.suffix == ".jsonl":
            lines = [
                json_bytes(choices, damaged_json(choices, json.loads(line)))
                if line and _is_json(line)
                else line
                for line in data.split(b"\n")
            ]
            path.write_bytes(b"\n".join(lines))
        else:
            path.write_bytes(_damaged_bytes(choices, data))


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _damaged_bytes(choices: random.Random, data: bytes) -> bytes:
    what = choices.random()
    if what < 0.3:
        return data[: choices.randrange(len(data) + 1)]
    if what < 0.6 and b"'shape'" in data[:200]:
        return data.replace(b"(", b"(%d, " % abs(number(choices)), 1)
    changed = bytearray(data)
    for _ in range(min(len(data), choices.choice((1, 4, 30)))):
        changed[choices.randrange(min(len(changed), 200) if choices.random() < 0.7 else len(changed))] = (
            choices.randrange(256)
        )
    return bytes(changed)


def make_tensor_file(path: Path, choices: random.Random, template: Path) -> None:
    """A saved pass or a checkpoint with another header."""
    data = template.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + size])
    what = choices.random()
    if what < 0.2:
        path.write_bytes(_damaged_bytes(choices, data))
        return
    for key, inner in header.get("__metadata__", {}).items():
        if choices.random() < 0.5 and inner[:1] in "{[":
            header["__metadata__"][key] = json_bytes(
                choices, damaged_json(choices, json.loads(inner))
            ).decode("latin-1")
    if choices.random() < 0.6:
        header = damaged_json(choices, header)
    written = json_bytes(choices, header)
    claimed = len(written) if choices.random() < 0.9 else abs(number(choices)) & (1 << 64) - 1
    path.write_bytes(struct.pack("<Q", claimed) + written + data[8 + size :])


Maker = Callable[[Path, random.Random], None]
__all__: Sequence[str] = (
    "Maker",
    "make_embeddings",
    "make_events",
    "make_features",
    "make_part",
    "make_tensor_file",
)

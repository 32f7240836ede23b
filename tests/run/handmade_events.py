"""Event files made by hand, field by field: also such as no writer would write."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from torcheer.run.tensorboard import protobuf as pb
from torcheer.run.tensorboard.event_file import framed, masked_checksum

FILE = "events.out.tfevents.1700000000.host.1.0"


def event(*values: bytes, step: int = 1, time: float = 1000.0, more: bytes = b"") -> bytes:
    """A record of a file with one event, which has these values."""
    summary = b"".join(pb.bytes_field(1, value) for value in values)
    fields = pb.double_field(1, time) + pb.int_field(2, step) + more
    return framed(fields + (pb.bytes_field(5, summary) if values else b""))


def restart(step: int) -> bytes:
    """A session begins anew at this step."""
    return event(step=step, more=pb.bytes_field(7, pb.int_field(1, 1)))


def scalar(name: str, number: float) -> bytes:
    return pb.text_field(1, name) + pb.single_field(2, number)


def metadata(plugin: str, content: bytes = b"") -> bytes:
    return pb.bytes_field(9, pb.bytes_field(1, pb.text_field(1, plugin) + pb.bytes_field(2, content)))


def tensor(
    name: str, dtype: int, shape: Sequence[int], data: bytes = b"", *, plugin: str = "", more: bytes = b""
) -> bytes:
    sizes = pb.bytes_field(2, b"".join(pb.bytes_field(2, pb.int_field(1, size)) for size in shape))
    content = pb.bytes_field(4, data) if data else b""
    about = metadata(plugin) if plugin else b""
    return pb.text_field(1, name) + about + pb.bytes_field(8, pb.int_field(1, dtype) + sizes + content + more)


def strings(name: str, plugin: str, texts: Sequence[bytes]) -> bytes:
    rows = b"".join(pb.bytes_field(8, text) for text in texts)
    return tensor(name, 7, [len(texts)], plugin=plugin, more=rows)


def hparams(values: Sequence[tuple[str, bytes]]) -> bytes:
    entries = b"".join(
        pb.bytes_field(1, pb.text_field(1, name) + pb.bytes_field(2, value)) for name, value in values
    )
    return pb.text_field(1, "_hparams_/session_start_info") + metadata("hparams", pb.bytes_field(3, entries))


def nested_lists(depth: int, inside: bytes) -> bytes:
    """A hyperparameter that is a list in a list in a list."""
    for _ in range(depth):
        inside = pb.bytes_field(6, pb.bytes_field(1, inside))
    return inside


def image(name: str, width: bytes, data: bytes = b"\x89PNG") -> bytes:
    """`width` is a varint as it stands in the file."""
    return pb.text_field(1, name) + pb.bytes_field(
        4, pb.int_field(1, 1) + b"\x10" + width + pb.bytes_field(4, data)
    )


def record_head(num_bytes: int) -> bytes:
    """The beginning of a record that declares so many bytes, with a checksum that is right."""
    length = struct.pack("<Q", num_bytes)
    return length + struct.pack("<I", masked_checksum(length))


def write_events(folder: Path, *records: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_bytes(b"".join(records))
    return path

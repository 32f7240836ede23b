"""Take a saved history apart, change what should not be changed, and put it together with sums that fit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torcheer.capture.savefile.pass_schema import STRUCTURE, StoredPass
from torcheer.tensorfile import CHECKSUMS

FIELDS = {name: place for place, name in enumerate(StoredPass.__struct_fields__)}


@dataclass
class Forged:
    """The parts of a file, each open to change."""

    metadata: dict[str, str]
    types: dict[str, tuple[str, list[int]]]
    bodies: dict[str, bytes]
    structure: list[Any]
    holes: dict[str, int] = field(default_factory=dict)  # tensors of zeros that take no place on the disk

    @classmethod
    def read(cls, path: Path) -> Forged:
        raw = path.read_bytes()
        base = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:base])
        metadata = header.pop("__metadata__")
        bodies = {name: raw[base:][slice(*entry["data_offsets"])] for name, entry in header.items()}
        types = {name: (entry["dtype"], entry["shape"]) for name, entry in header.items()}
        structure = json.loads(bodies.pop(STRUCTURE))
        del bodies[CHECKSUMS]
        return cls(metadata, types, bodies, structure)

    def rows(self, name: str) -> Any:
        """A table of the structure, by its name."""
        return self.structure[FIELDS[name]]

    def write(
        self, path: Path, text: bytes | None = None, header: Callable[[Any], None] | None = None
    ) -> None:
        text = json.dumps(self.structure).encode() if text is None else text
        bodies = {**self.bodies, STRUCTURE: text}
        sums = {name: word_sum(body) for name, body in bodies.items()} | dict.fromkeys(self.holes, 0)
        bodies[CHECKSUMS] = b"".join(sums[name].to_bytes(8, "little") for name in sorted(sums))
        self.types |= {STRUCTURE: ("U8", [len(text)]), CHECKSUMS: ("I64", [len(sums)])}
        entries: dict[str, Any] = {"__metadata__": self.metadata}
        at = 0
        for name, size in [*self.holes.items(), *((name, len(body)) for name, body in bodies.items())]:
            dtype, shape = self.types[name]
            entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
            at += size
        if header is not None:
            header(entries)
        head = json.dumps(entries).encode()
        with open(path, "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            file.seek(sum(self.holes.values()), os.SEEK_CUR)
            file.write(b"".join(bodies.values()))


def word_sum(body: bytes) -> int:
    """What torcheer.capture.savefile.safetensors_file says of its checksums, in other words."""
    body += b"\0" * (-len(body) % 8)
    return sum(int.from_bytes(body[i : i + 8], "little") for i in range(0, len(body), 8)) % 2**64

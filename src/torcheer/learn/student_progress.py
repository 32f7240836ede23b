"""How far a student has come: what was typed last and what was right, in one small file. No torch in here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from torcheer.errors import InputError
from torcheer.learn.exercises import Typed
from torcheer.tensorfile import write_atomically

_VERSION: Final = 1
_MAX_BYTES: Final = 1_000_000  # a larger file is none of ours

Answers = dict[str, dict[str, Typed]]  # by exercise and symbol


class _File(msgspec.Struct, kw_only=True):
    version: int
    answers: dict[str, dict[str, Typed]]


class Progress:
    """Kept in a file if there is a place for one; else it lasts as long as the program."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._answers = {} if path is None else _read(path)
        self.note = ""  # why nothing is kept

    def of(self, exercise_id: str) -> Mapping[str, Typed]:
        return self._answers.get(exercise_id, {})

    def note_answers(self, exercise_id: str, typed: Mapping[str, Typed]) -> None:
        """Remember what was typed. What was right once stays so until it is typed anew."""
        self._answers[exercise_id] = {**self._answers.get(exercise_id, {}), **typed}
        self._write()

    def reset(self) -> None:
        self._answers = {}
        self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        data = msgspec.json.encode(_File(version=_VERSION, answers=self._answers))
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._path, "the progress", lambda file: _put(file, data), "learn.json")
            self.note = ""
        except (OSError, InputError) as error:
            # The exercises go on; only that nothing outlives the program.
            self.note = f"progress cannot be kept: {error}"


def _put(file: object, data: bytes) -> None:
    file.write(data)  # type: ignore[attr-defined]


def _read(path: Path) -> Answers:
    """What is in the file. One that cannot be understood is put aside, not overwritten."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise msgspec.DecodeError("too large")
        read = msgspec.json.decode(path.read_bytes(), type=_File)
        if read.version != _VERSION:
            raise msgspec.ValidationError("of another version")
        return read.answers
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _put_aside(path)
        return {}
    except OSError:
        return {}


def _put_aside(path: Path) -> None:
    """Keep a copy under another name: `learn.json.damaged`, the last one only."""
    try:
        os.replace(path, path.with_name(f"{path.name}.damaged"))
    except OSError:
        return

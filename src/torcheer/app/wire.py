"""How a page and the server talk over their socket.

A page asks in text frames of JSON and numbers each question; the answer carries the same number, and answers
may come in any order. Some questions are answered again whenever there is news, until the page says stop.
Numbers come as binary frames: the length of a JSON head as four bytes, lowest first, the head, zeros up to a
multiple of eight bytes, and then the numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from types import ModuleType
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

MAX_TEXT: Final = 2000  # of a comment, a reason, a note
NO_QUESTION: Final = -1  # the number in a refusal of what could not be read

# A page counts in floats of eight bytes, which hold integers up to here.
LARGEST: Final = 2**53 - 1
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Name = Annotated[str, Meta(max_length=64)]

Message = TypeVar("Message", bound=Struct)
Item = TypeVar("Item")


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """Something that a page asks. The number is the page's own choice."""

    id: Count


class Answer(Struct, frozen=True, tag_field="type"):
    """What the server says to a question, with the number of that question."""

    id: int


Frame = str | bytes  # for a text frame and for a binary one
# What answers a type of questions: once, or again and again for a page, which is the second argument.
Single = Callable[[Any], Awaitable[Frame]]
Followed = Callable[[Any, object], AsyncGenerator[Frame, None]]


class Refusal(Answer, frozen=True, tag="refusal"):
    """Why there is no answer, in a sentence for people. The id is -1 where the question could not be read."""

    message: str


def messages_in(family: ModuleType, kind: type[Message]) -> list[type[Message]]:
    """The questions, or the answers, of a module, in the order in which they stand there."""
    return [
        one
        for one in vars(family).values()
        if isinstance(one, type) and issubclass(one, kind) and one.__module__ == family.__name__
        # What others derive from has no tag of its own.
        if one.__struct_config__.tag != one.__name__
    ]


def as_text(message: object) -> str:
    return as_json(message).decode()


def as_json(message: object) -> bytes:
    """JSON of anything that msgspec knows, with half characters as escapes: UTF-8 has no place for them."""
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        return msgspec.json.encode(_with_escapes(msgspec.to_builtins(message)))


def _with_escapes(value: Any) -> Any:
    if isinstance(value, str):
        is_whole = not any("\ud800" <= character <= "\udfff" for character in value)
        return value if is_whole else Raw(json.dumps(value).encode())
    if isinstance(value, dict):
        return {key: _with_escapes(item) for key, item in value.items()}
    return [_with_escapes(item) for item in value] if isinstance(value, list | tuple) else value


def binary_frame(answer: Answer, values: bytes) -> bytes:
    """An answer with numbers, which stand at a multiple of eight bytes."""
    head = as_json(answer)
    start = len(head).to_bytes(4, "little") + head
    return b"".join((start, bytes(-len(start) % 8), values))


CHUNK_BYTES: Final = 1 << 20  # of one answer, about


def chunks(
    items: Sequence[Item],
    size_of: Callable[[Item], float] = lambda item: len(as_json(item)),
    most: float | None = None,
) -> Iterator[Sequence[Item]]:
    """As many at a time as fit into an answer; at least one, which may be empty."""
    first, size = 0, 0.0
    for end, item in enumerate(items, start=1):
        size += size_of(item)
        if size > (CHUNK_BYTES if most is None else most):
            yield items[first:end]
            first, size = end, 0.0
    if first < len(items) or not items:
        yield items[first:]


def clipped(text: str, most: int = MAX_TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def countable(value: int | None) -> int | None:
    """A whole number that a page can hold; beyond that, the largest it can."""
    return value if value is None else max(-LARGEST, min(LARGEST, value))


def plain(value: Any, most: int = MAX_TEXT) -> Any:
    """A text or a number as a page can hold it."""
    if isinstance(value, str):
        return clipped(value, most)
    if isinstance(value, int):
        return countable(value)
    return finite(value) if isinstance(value, float) else value


def copied(kind: type[Message], source: object, most: int = MAX_TEXT, **given: Any) -> Message:
    """A message with fields of something that anybody may have written, as a page can hold them."""
    names = [name for name in kind.__struct_fields__ if name not in given and hasattr(source, name)]
    return kind(**{name: plain(getattr(source, name), most) for name in names}, **given)

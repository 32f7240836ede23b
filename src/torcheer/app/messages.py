"""What a page and the server say to each other over their socket.

A page asks in text frames of JSON and numbers each question; the answer carries the same number, and answers
may come in any order. Values of a tensor come as a binary frame: the length of a JSON head as four bytes,
lowest first, the head, zeros up to a multiple of eight bytes, and then the values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct

from torcheer.graph.document import PassDocument
from torcheer.graph.tensorview import MAX_WINDOW_VALUES, TensorKind, TensorView, Window

MAX_REQUEST_BYTES: Final = 1 << 16
MAX_VALUE_BYTES: Final = 8 * MAX_WINDOW_VALUES
MAX_DIMS: Final = 64  # torch's own
NO_QUESTION: Final = -1  # the number in a refusal of what could not be read

# A page counts in floats of eight bytes, which hold integers up to here.
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Name = Annotated[str, Meta(max_length=64)]


# --- what a page asks ------------------------------------------------------------------------


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """Something that a page asks. The number is the page's own choice."""

    id: Count


class PassesQuestion(Question, frozen=True, tag="passes"):
    """Which passes are there now?"""


class DocumentQuestion(Question, frozen=True, tag="open"):
    """A pass but for its tensors, please."""

    pass_id: Name


class TensorQuestion(Question, frozen=True, tag="tensor"):
    """A tensor of a pass: its figures and a window of its values. Without a window, the server chooses."""

    pass_id: Name
    kind: TensorKind
    index: Count  # of an op, or of a parameter
    window: Window | None


class FiguresQuestion(Question, frozen=True, tag="figures"):
    """One figure of every op, such as its share of zeros."""

    pass_id: Name
    name: Name


AnyQuestion = PassesQuestion | DocumentQuestion | TensorQuestion | FiguresQuestion


# --- what the server answers -----------------------------------------------------------------


class Answer(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Something that the server says."""


class PassListing(Struct, frozen=True, kw_only=True):
    """A pass that can be opened. The id stays the same for as long as the pass does."""

    id: str
    name: str
    detail: str


class Hello(Answer, frozen=True, tag="hello"):
    """The first message of every connection."""

    version: str  # of torcheer
    passes: Sequence[PassListing]


class PassesAnswer(Answer, frozen=True, tag="passes"):
    """The passes that are there now."""

    id: int
    passes: Sequence[PassListing]


class DocumentAnswer(Answer, frozen=True, tag="document"):
    """A pass but for its tensors."""

    id: int
    document: PassDocument


class FiguresAnswer(Answer, frozen=True, tag="figures"):
    """One figure of every op, in their order; null where it is not known."""

    id: int
    name: str
    values: Sequence[float | None]


class TensorAnswer(Answer, frozen=True, tag="tensor"):
    """The head of a binary frame; the values follow it."""

    id: int
    view: TensorView


class Refusal(Answer, frozen=True, tag="refusal"):
    """Why there is no answer, in a sentence for people. The id is -1 where the question could not be read."""

    id: int
    message: str


AnyAnswer = Hello | PassesAnswer | DocumentAnswer | FiguresAnswer | TensorAnswer | Refusal


# --- reading and writing them ----------------------------------------------------------------

_QUESTIONS: Final[msgspec.json.Decoder[AnyQuestion]] = msgspec.json.Decoder(AnyQuestion)


class _Numbered(Struct):
    """All that is needed to say which question is refused."""

    id: Count


_NUMBERS: Final = msgspec.json.Decoder(_Numbered)


def read_question(text: str) -> AnyQuestion | Refusal:
    """A question, or the refusal that answers it."""
    try:
        question = _QUESTIONS.decode(text)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        return Refusal(id=_number_of(text), message=f"this question cannot be read: {error}.")
    if isinstance(question, TensorQuestion) and question.window is not None:
        fault = window_fault(question.window)
        if fault:
            return Refusal(id=question.id, message=fault)
    return question


def _number_of(text: str) -> int:
    try:
        return _NUMBERS.decode(text).id
    except (ValueError, RecursionError):
        return NO_QUESTION


def window_fault(window: Window) -> str:
    """What makes a window impossible for any tensor at all; it is asked before anything is allocated."""
    firsts = (*window.item, window.first_tile, window.first_row, window.first_column)
    counts = (window.num_tiles, window.num_rows, window.num_columns)
    steps = (window.row_step, window.column_step)
    if len(window.item) > MAX_DIMS:
        return (
            f"a window holds {len(window.item)} dimensions at one index, and tensors have {MAX_DIMS} at most."
        )
    if not all(0 <= number < 2**53 for number in firsts + counts) or not all(
        0 < step < 2**53 for step in steps
    ):
        return "the numbers of a window begin with 0, and its steps with 1."
    num_values = math.prod(counts)
    if num_values > MAX_WINDOW_VALUES:
        return f"a window of {num_values:,} values is too large: {MAX_WINDOW_VALUES:,} is the most."
    return ""


def as_json(message: object) -> bytes:
    """JSON of anything that msgspec knows, with half characters as escapes: UTF-8 has no place for them."""
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        return msgspec.json.encode(_with_escapes(msgspec.to_builtins(message)))


def _with_escapes(value: Any) -> Any:
    if isinstance(value, str):
        return value if _is_encodable(value) else Raw(json.dumps(value).encode())
    if isinstance(value, dict):
        return {key: _with_escapes(item) for key, item in value.items()}
    return [_with_escapes(item) for item in value] if isinstance(value, list | tuple) else value


def _is_encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def tensor_frame(answer: TensorAnswer, values: bytes) -> bytes:
    """A tensor as a binary frame, its values at a multiple of eight bytes."""
    head = as_json(answer)
    start = len(head).to_bytes(4, "little") + head
    return b"".join((start, bytes(-len(start) % 8), values))

"""What a page can ask, and what the server answers; see `frames` for how."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from torcheer.app.controlmessages import AnyControlAnswer, AnyControlQuestion
from torcheer.app.featuremessages import AnyFeatureAnswer, AnyFeatureQuestion
from torcheer.app.frames import NO_QUESTION, Answer, Count, Name, Question, Refusal
from torcheer.app.learnmessages import AnyLearnAnswer, AnyLearnQuestion
from torcheer.app.netanalysismessages import AnyNetAnalysisAnswer, AnyNetAnalysisQuestion
from torcheer.app.netmessages import AnyNetAnswer, AnyNetQuestion
from torcheer.app.runmessages import AnyRunAnswer, AnyRunQuestion, RunTensorQuestion
from torcheer.app.tablemessages import AnyTableAnswer, AnyTableQuestion
from torcheer.graph import PassDocument
from torcheer.tensorfile import MAX_WINDOW_VALUES, TensorKind, TensorView, Window

MAX_REQUEST_BYTES: Final = 1 << 16
MAX_VALUE_BYTES: Final = 8 * MAX_WINDOW_VALUES
MAX_DIMS: Final = 64  # torch's own


# --- what a page asks ------------------------------------------------------------------------


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


PassQuestion = DocumentQuestion | TensorQuestion | FiguresQuestion
AnyQuestion = (
    PassesQuestion
    | PassQuestion
    | AnyRunQuestion
    | AnyNetQuestion
    | AnyNetAnalysisQuestion
    | AnyTableQuestion
    | AnyControlQuestion
    | AnyLearnQuestion
    | AnyFeatureQuestion
)


# --- what the server answers -----------------------------------------------------------------


class PassListing(Struct, frozen=True, kw_only=True):
    """A pass that can be opened. The id stays the same for as long as the pass does."""

    id: str
    name: str
    detail: str
    run_id: str = ""  # the run that it was put into
    step: int | None = None  # of that run


class Hello(Struct, frozen=True, tag_field="type", tag="hello"):
    """The first message of every connection."""

    version: str  # of torcheer
    has_runs: bool  # is there a folder of runs?
    has_lessons: bool  # can expressions be taken apart here?
    passes: Sequence[PassListing]


class PassesAnswer(Answer, frozen=True, tag="passes"):
    """The passes that are there now."""

    passes: Sequence[PassListing]


class DocumentAnswer(Answer, frozen=True, tag="document"):
    """A pass but for its tensors."""

    document: PassDocument


class FiguresAnswer(Answer, frozen=True, tag="figures"):
    """One figure of every op, in their order; null where it is not known."""

    name: str
    values: Sequence[float | None]


class TensorAnswer(Answer, frozen=True, tag="tensor"):
    """The head of a binary frame; the values follow it."""

    view: TensorView


AnyAnswer = (
    Hello
    | PassesAnswer
    | DocumentAnswer
    | FiguresAnswer
    | TensorAnswer
    | Refusal
    | AnyRunAnswer
    | AnyNetAnswer
    | AnyNetAnalysisAnswer
    | AnyTableAnswer
    | AnyControlAnswer
    | AnyLearnAnswer
    | AnyFeatureAnswer
)


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
    if isinstance(question, TensorQuestion | RunTensorQuestion) and question.window is not None:
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

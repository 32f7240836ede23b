"""Passes for the page: what it can ask of them, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from torcheer.app.wire import Answer, Count, Name, Question
from torcheer.graph import PassDocument
from torcheer.tensorfile import MAX_WINDOW_VALUES, TensorKind, TensorView, Window

MAX_REQUEST_BYTES: Final = 1 << 16
MAX_VALUE_BYTES: Final = 8 * MAX_WINDOW_VALUES
MAX_DIMS: Final = 64  # torch's own
MAX_SKETCHED: Final = 48  # sizes in a sketch


class PassesQuestion(Question, frozen=True, tag="passes"):
    """Which passes are there now?"""


class PassQuestion(Question, frozen=True):
    """About one pass."""

    pass_id: Name


class DocumentQuestion(PassQuestion, frozen=True, tag="open"):
    """A pass but for its tensors, please."""


class SketchQuestion(PassQuestion, frozen=True, tag="sketch"):
    """A pass at a glance, please."""


class TensorQuestion(PassQuestion, frozen=True, tag="tensor"):
    """A tensor of a pass: its figures and a window of its values. Without a window, the server chooses."""

    kind: TensorKind
    index: Count  # of an op, or of a parameter
    window: Window | None


class FiguresQuestion(PassQuestion, frozen=True, tag="figures"):
    """One figure of every op, such as its share of zeros."""

    name: Name


class PassListing(Struct, frozen=True, kw_only=True):
    """A pass that can be opened. The id stays the same for as long as the pass does."""

    id: str
    name: str
    detail: str
    run_id: str = ""  # the run that it was put into
    step: int | None = None  # of that run


class Hello(Struct, frozen=True, tag_field="type", tag="hello"):
    """The first message of every connection."""

    has_runs: bool  # is there a folder of runs?
    has_lessons: bool  # can expressions be taken apart here?
    passes: Sequence[PassListing]


class PassesAnswer(Answer, frozen=True, tag="passes"):
    """The passes that are there now."""

    passes: Sequence[PassListing]


class DocumentAnswer(Answer, frozen=True, tag="document"):
    """A pass but for its tensors."""

    document: PassDocument


class SketchAnswer(Answer, frozen=True, tag="sketch"):
    """A pass at a glance: a few figures, and how large the output of each op is."""

    num_ops: int
    num_params: int
    elapsed_seconds: float
    has_gradients: bool
    input_shape: Sequence[int] | None  # of the first input
    sizes: Sequence[int]  # elements, in the order the ops ran; of many ops, the largest of each few


class FiguresAnswer(Answer, frozen=True, tag="figures"):
    """One figure of every op, in their order; null where it is not known."""

    values: Sequence[float | None]


class TensorAnswer(Answer, frozen=True, tag="tensor"):
    """The head of a binary frame; the values follow it."""

    view: TensorView


def sketch_of(document: PassDocument, question_id: int) -> SketchAnswer:
    ops = [op for op in document.ops if op.kind == "op"]
    sizes = [math.prod(op.shape) for op in ops]
    each = max(1, math.ceil(len(sizes) / MAX_SKETCHED))
    return SketchAnswer(
        id=question_id,
        num_ops=len(ops),
        num_params=document.num_params,
        elapsed_seconds=document.elapsed_seconds,
        has_gradients=document.num_backward_passes > 0,
        input_shape=next((op.shape for op in document.ops if op.kind == "input"), None),
        sizes=[max(sizes[at : at + each]) for at in range(0, len(sizes), each)],
    )


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


class PassSource(Protocol):
    """One pass. The methods may take their time: they are called in a thread, one at a time for each pass.

    A string instead of an answer is the reason why there is none, for the person at the page. An error of
    ours is shown too; any other goes to the log, and the page only learns that there was one.
    """

    @property
    def name(self) -> str: ...

    def document(self) -> PassDocument: ...

    def tensor(
        self, kind: TensorKind, index: int, window: Window | None
    ) -> tuple[TensorView, bytes] | str: ...

    def figures(self, name: str) -> Sequence[float | None] | str: ...


class Shelf(Protocol):
    """Where passes are found. Both methods may take their time, too."""

    def listing(self) -> Sequence[PassListing]:
        """All that is there now."""

    def source(self, pass_id: str) -> PassSource | None:
        """The pass of that id, None where there is none."""

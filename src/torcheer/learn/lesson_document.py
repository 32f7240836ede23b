"""What a page needs to show an expression and its gradients step by step: plain data, without torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

NodeKind = Literal["input", "parameter", "constant", "op"]
# How upstream and rule make a contribution: local x upstream element by element, a product of matrices,
# numbers that are only moved or shared out, or anything else, which the Jacobian shows.
Form = Literal["seed", "elementwise", "matrix", "moved", "general"]


class Cells(Struct, frozen=True, kw_only=True):
    """The numbers of a tensor in rows and columns, the last dimension across. Large ones are cut off."""

    shape: Sequence[int]  # of the whole tensor
    num_rows: int  # of what is here
    num_columns: int
    values: Sequence[float | str]  # row by row; "nan", "inf" and "-inf" as text
    is_whole: bool


class LearnNode(Struct, frozen=True, kw_only=True):
    """A value: an input, a parameter, or what an op made."""

    id: int  # its place in the list
    name: str  # W1; or made up, as in add_2
    is_named: bool  # by the student
    kind: NodeKind
    rule: str  # matmul; empty for what no op made
    text: str  # x @ W1; what was written, or as it could have been
    layer: str  # the layer of nn that it happened in; empty outside of one
    line: int  # from 1; 0 where none is known
    dtype: str
    parents: Sequence[int]  # in the order of the inputs; constants that are numbers are not in it
    value: Cells
    gradient: Cells | None  # when all has arrived; null where none is wanted
    wants_gradient: bool


class SumOver(Struct, frozen=True, kw_only=True):
    """A dimension over which a contribution is summed, because the input was broadcast along it."""

    dim: int  # of the contribution before
    size: int
    reason: str  # in words


class Jacobian(Struct, frozen=True, kw_only=True):
    """How each element of the output changes with each of the input; a row for each of the output."""

    rows: Sequence[str]  # c[0, 1]
    columns: Sequence[str]
    cells: Cells


class BackwardStep(Struct, frozen=True, kw_only=True):
    """What one op hands to one of its inputs. The first step of all starts with 1 at the loss."""

    node: int  # the op that it goes through; of the seed, the loss
    to: int  # the node that it goes to
    title: str  # matmul: x^T g; short, for the list
    rule: str
    words: str  # what the rule says, in a sentence or two
    formula: str  # LaTeX of a few commands; \name{W1} is a name, \grad{W1} what the loss changes with it
    form: Form
    upstream: Cells  # the gradient of the op's output
    left: Cells | None = None  # factors, in the order in which they are multiplied; null where there are none
    left_label: str = ""
    right: Cells | None = None
    right_label: str = ""
    raw: Cells  # their product, before it is summed over what was broadcast
    sums: Sequence[SumOver] = ()
    contribution: Cells  # in the shape of the input
    before: Cells | None = None  # what had arrived there by other ways; null for the first
    after: Cells  # with this one
    number: int = 1  # this is the k-th contribution, from 1 …
    num_all: int = 1  # … of so many
    jacobian: Jacobian | None = None  # of small tensors


class LearnCheck(Struct, frozen=True, kw_only=True):
    """The gradient of one node, asked of others: torch's autograd, and differences of the loss itself."""

    node: int
    torch: Cells | None
    # Errors are those of the numbers as they are sent in the cells, so that no element differs by more than
    # the largest; where cells are cut off, those that are not sent count, too. At kinks and jumps, which the
    # note tells of, no difference is counted.
    torch_error: float | None  # the largest difference to ours
    difference: Cells | None  # (f(x + h) - f(x - h)) / 2h, element by element; null for large tensors
    difference_error: float | None
    tolerance: float  # of torch's
    difference_tolerance: float
    note: str  # why something is not there, or may differ


class LearnFault(Struct, frozen=True, kw_only=True):
    """What is wrong with an expression. All lines before it can be stepped through."""

    line: int  # from 1; 0 for the whole
    message: str


class Lesson(Struct, frozen=True, kw_only=True):
    """An expression, taken apart."""

    title: str
    lines: Sequence[str]  # what was written
    first_line: int  # the number of the first of them, in the file that they stand in
    nodes: Sequence[LearnNode]  # in the order in which they were made
    forward: Sequence[int]  # the nodes that ops made, step by step
    backward: Sequence[BackwardStep]
    # Null where a fault came before it.
    loss: int | None  # the node at which the way back begins
    fault: LearnFault | None
    checks: Sequence[LearnCheck]  # empty where they are asked for later
    notes: Sequence[str]  # what is left out


class Example(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    about: str
    source: str


class Hole(Struct, frozen=True, kw_only=True):
    """One gradient to be found."""

    symbol: str  # a
    formula: str  # LaTeX of what is sought, left of the equals sign
    hints: Sequence[str]
    solution: str  # an expression that is right
    answer: str  # what was typed last; empty before
    is_right: bool  # it was


class Exercise(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    text: str  # paragraphs, an empty line between them
    forward: str  # c = a * b
    # With the numbers of the example that is shown.
    given: Sequence[str]  # what may be used: g, a, b, c and their shapes, a line each
    holes: Sequence[Hole]
    is_solved: bool


class Verdict(Struct, frozen=True, kw_only=True):
    """What is said of one answer."""

    symbol: str
    is_right: bool
    message: str  # right, or what is wrong with it and where
    # Or on the first for which it is wrong, if it is right on that one.
    got: Cells | None  # on the example that is shown
    wanted: Cells | None


class Fault(Exception):  # noqa: N818  # no error of the program's: it is shown to who wrote the line
    """Why a line cannot be read or computed. The line is filled in where it is known, further out."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line

    def shown(self) -> LearnFault:
        return LearnFault(line=self.line, message=self.message)


MAX_SOURCE: Final = 8000  # signs
MAX_ELEMENTS: Final = 4096  # of a tensor
MAX_OPS: Final = 300
MAX_ROUNDS: Final = 64  # of all loops together
MAX_STATEMENTS: Final = 1000  # with those in loops, each time
MAX_DEPTH: Final = 40  # of brackets in brackets
MAX_INT: Final = 1_000_000
MAX_EXPONENT: Final = 64
MAX_DIMS: Final = 8
MAX_WINDOW: Final = 16  # of a stride, a padding, a kernel's dilation


def shape_text(shape: Sequence[int]) -> str:
    """2×3; a single number is called so."""
    return "×".join(map(str, shape)) if shape else "a single number"


def check_shape(shape: Sequence[int], what: str) -> None:
    """Refuse what would be too large, from its shape alone."""
    if len(shape) > MAX_DIMS:
        raise Fault(f"{what} would have {len(shape)} dimensions: {MAX_DIMS} are allowed.")
    if math.prod(shape) > MAX_ELEMENTS:
        raise Fault(
            f"{what} would have {math.prod(shape):,} elements ({shape_text(shape)}): {MAX_ELEMENTS:,} are "
            "allowed here. Take smaller tensors; the rules are the same."
        )


def check_number(value: int | float, what: str = "a number") -> None:
    if isinstance(value, int) and abs(value) > MAX_INT:
        raise Fault(f"{what} is larger than {MAX_INT:,}, which is the limit for whole numbers here.")


MINUS: Final = "\N{MINUS SIGN}"
MAX_NUMBERS: Final = 16  # of a tensor in a line


def digits(value: float) -> str:
    """−1.234; whole numbers in full."""
    text = str(value) if isinstance(value, int) else f"{value + 0.0:.4g}"  # -0.0 is 0.0
    return text.replace("-", MINUS)


def numbers_text(values: Sequence[float], shape: Sequence[int]) -> str:
    """The numbers of a tensor in one line, a bracket for each row; of a large one, the first."""
    texts = [digits(one) for one in values[:MAX_NUMBERS]]
    is_whole = len(texts) == math.prod(shape)
    if len(shape) < 2 or not is_whole or not texts:
        return ", ".join(texts if is_whole else [*texts, "…"])
    across = shape[-1]
    rows = [texts[start : start + across] for start in range(0, len(texts), across)]
    return ", ".join(f"[{', '.join(row)}]" for row in rows)

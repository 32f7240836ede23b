"""Name the ops that have no partner, and what they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.capture.examining.aligning import Alignment
from torcheer.capture.examining.comparison import ComparedOp, names_text
from torcheer.capture.op import Op
from torcheer.capture.tape import BUFFER, INPUT, OUTPUT

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


def _without_buffers(history: ModelHistory, ops: set[int]) -> list[int]:
    return [op for op in sorted(ops) if history._tape.records[op].trait is not BUFFER]


def labels_of(history: ModelHistory, ops: set[int]) -> tuple[str, ...]:
    return tuple(history._label(op) for op in _without_buffers(history, ops))


def modules_of(history: ModelHistory, ops: set[int]) -> tuple[str, ...]:
    return tuple(Op(history, op).containing_module_origin for op in _without_buffers(history, ops))


def has_output(history: ModelHistory, ops: set[int]) -> bool:
    return any(history._tape.records[op].trait is OUTPUT for op in ops)


def notes_on(
    a: ModelHistory, b: ModelHistory, alignment: Alignment, first: ComparedOp | None
) -> tuple[str, ...]:
    """What explains the first difference."""
    if first is None:
        return ()
    left = next((op for op in alignment.partner if a._label(op) == first.label_a), None)
    if left is None:
        return ()
    if a._tape.records[left].trait is INPUT:
        return ("the inputs already differ: give both models the same one.",)
    above_a = _just_above(a, left, alignment.only_left)
    above_b = _just_above(b, alignment.partner[left], alignment.only_right)
    return tuple(
        f"just before the first difference, and only in {name}: {text}."
        for name, text in (("a", above_a), ("b", above_b))
        if text
    )


def _just_above(history: ModelHistory, op: int, without_partner: set[int]) -> str:
    """The ops without a partner that lead straight to an op."""
    found: set[int] = set()
    queue = [op]
    while queue:
        parents = history._structure.parents[queue.pop()]
        new = [p for p in parents if p in without_partner and p not in found]
        found.update(new)
        queue += new
    return names_text(labels_of(history, found), modules_of(history, found))

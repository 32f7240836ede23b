"""The tensors of a pass on their way into a file, each under the label of its op."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from torch import Tensor

from torcheer.capture.keeping.pyvalues import packed
from torcheer.capture.keeping.storedbackward import planned_grads
from torcheer.capture.keeping.tensorplan import CannotKeep, Item, TensorPlan
from torcheer.capture.tape import Context

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

_PLAIN_LABEL = re.compile(r"[A-Za-z0-9_:-]+")  # one that can stand in a header as it is
_MAX_NAMED = 3


class KeptValues:
    """Names: `relu_1_2`; `raw.relu_1_2` where a postfunc has changed what is shown; `rng.dropout_1_3`.

    Gradients are `grad.1.…`, by the number of the backward pass; `unedited.…` is what an edit replaced.
    """

    def __init__(self, history: ModelHistory) -> None:
        self._history = history
        self._plan = TensorPlan()
        self._left_out: dict[str, list[str]] = {}
        self._trees: list[tuple[list[Any], Item]] = []
        self._states: dict[int, Item | None] = {}
        tape, treated = history._tape, history._treated
        self.items: list[Item | None] = [
            self._add(f"raw.{self._name(op)}" if op in treated else self._name(op), op, tape.values[op])
            for op in range(len(tape.records))
        ]
        self.treated = [(op, self._pack(op, value)) for op, value in treated.items()]
        for op, record in enumerate(tape.records):
            context = record.context
            if context is not None and context.rng is not None and id(context) not in self._states:
                self._states[id(context)] = self._add(f"rng.{self._name(op)}", op, context.rng[1])
        unedited = [(op, self._add(f"unedited.{self._name(op)}", op, t)) for op, t in tape.unedited.items()]
        self.unedited = [(op, item) for op, item in unedited if item is not None]
        self.grads = planned_grads(history, self._add)
        self._plan.settle()
        self.pieces = self._plan.pieces
        for place, item in self._trees:
            place.append(msgspec.to_builtins(item.stored))

    def state_of(self, context: Context) -> Item | None:
        """The random state that a call started from."""
        return self._states.get(id(context))

    @property
    def notes(self) -> list[str]:
        notes = []
        for why, labels in self._left_out.items():
            more = f" and {len(labels) - _MAX_NAMED} more" if len(labels) > _MAX_NAMED else ""
            notes.append(f"the file has no value of {', '.join(labels[:_MAX_NAMED])}{more}: {why}.")
        return notes

    def _name(self, op: int) -> str:
        label = self._history._label(op)
        return label if _PLAIN_LABEL.fullmatch(label) else f"op_{op}"

    def _add(self, name: str, op: int, tensor: Tensor | None) -> Item | None:
        if tensor is None:
            return None
        try:
            return self._plan.add(name, tensor)
        except CannotKeep as why:
            self._leave_out(op, str(why))
            return None

    def _leave_out(self, op: int, why: str) -> None:
        self._left_out.setdefault(why, []).append(self._history._label(op))

    def _pack(self, op: int, value: Any) -> Any:
        """What a postfunc returned: a tensor, numbers, or a nesting of both."""
        name, count = self._name(op), 0

        def pack_tensor(tensor: Tensor) -> list[Any] | str:
            nonlocal count
            item = self._add(name if tensor is value else f"{name}.{count}", op, tensor)
            if item is None:
                return "a tensor"
            count += 1
            place: list[Any] = ["value"]  # where it lies is known when all are
            self._trees.append((place, item))
            return place

        tree = packed(value, pack_tensor)
        if _has_unkept(tree):
            self._leave_out(op, "activation_postfunc made an object that only its own class could read")
        return tree


def _has_unkept(tree: Any) -> bool:
    return isinstance(tree, list) and (tree[:1] == ["unkept"] or any(map(_has_unkept, tree)))

"""Tell the ops that ran inside `torch.utils.checkpoint`: backward computes them again."""

from __future__ import annotations

import inspect
from typing import Any

import torch.utils.checkpoint
from torch import Tensor

from torcheer.capture.nesting import tensors_in
from torcheer.capture.scopes import Scope
from torcheer.capture.tape import Record, Tape
from torcheer.graph import Site

_CODES = frozenset(
    id(code)
    for code in (
        inspect.unwrap(torch.utils.checkpoint.checkpoint).__code__,
        torch.utils.checkpoint.CheckpointFunction.forward.__code__,
    )
)


def is_checkpointed(record: Record) -> bool:
    return _passes(record.site) or any(_passes(scope.site) for scope in record.scope.chain())


def checkpointed_ops(tape: Tape) -> frozenset[int]:
    known: dict[int, bool] = {}

    def inside(scope: Scope) -> bool:
        answer = known.get(id(scope))
        if answer is None:
            outer = scope.parent is not None and inside(scope.parent)
            answer = known[id(scope)] = outer or _passes(scope.site)
        return answer

    return frozenset(
        op for op, record in enumerate(tape.records) if inside(record.scope) or _passes(record.site)
    )


def _passes(site: Site) -> bool:
    return len(site) > 2 and any(id(code) in _CODES for code in site[::2])


def inputs_held(unpack_hook: Any) -> tuple[int, list[Tensor]]:
    """Which checkpoint a saved variable belongs to, and the inputs that it holds to compute again from.

    These are torch's own private matters: where they look otherwise, nothing is said to be held.
    """
    for cell in getattr(unpack_hook, "__closure__", None) or ():
        try:
            frame = cell.cell_contents
        except ValueError:
            continue
        if type(frame).__name__ == "_CheckpointFrame":
            saved = [getattr(one, "data", one) for one in getattr(frame, "saved_args", None) or ()]
            return id(frame), [tensor for _, tensor in tensors_in(saved)]
    return 0, []

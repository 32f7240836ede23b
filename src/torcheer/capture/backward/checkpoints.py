"""Tell the ops that ran inside `torch.utils.checkpoint`: backward computes them again."""

from __future__ import annotations

import inspect

import torch.utils.checkpoint

from torcheer.capture.scopes import Scope
from torcheer.capture.tape import Record, Tape
from torcheer.graph.places import Site

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

"""Remember less: values inside of a part are let go after the forward, and computed again on the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd.engine import Node, tracer
from torcheer.autograd.modes import Recording, as_plain, as_traced, modes
from torcheer.autograd.torch_calls import tensors_in
from torcheer.errors import AutogradError

_GONE: Final = torch.empty(0)


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call a function, and keep nothing of what happens inside.

    The graph is as it would be without, node by node. Only their values are missing, and the first node that
    the way back comes to has the function run once more, with the same random numbers, to fill them in again.
    `use_reentrant` chooses between two ways of torch's, and is taken for its sake alone.
    """
    # A part inside of one that is filled in again has its values filled in by that one.
    if not modes.recording or modes.refilling:
        return function(*args, **kwargs)
    with as_plain():
        random = torch.get_rng_state()
    with _noting() as nodes:
        result = function(*args, **kwargs)
    outputs = {getattr(one, "_node", None) for one in tensors_in(result)}
    refill = partial(_refill, nodes, random, partial(function, *args, **kwargs))
    for node in nodes:
        if node not in outputs:
            node.value = _GONE
        node.inputs, node.refill = (), refill
    return result


def _refill(nodes: list[Node], random: Tensor, function: Callable[[], Any]) -> None:
    """Run a part of a graph again, and give each node what its counterpart has."""
    with as_plain():
        before = torch.get_rng_state()
        torch.set_rng_state(random)
    try:
        modes.refilling = True
        with as_traced(), Recording(True), _noting() as again:
            function()
    finally:
        modes.refilling = False
        with as_plain():
            torch.set_rng_state(before)
    if [node.rule for node in again] != [node.rule for node in nodes]:
        raise AutogradError(
            "the function of a checkpoint did other ops when it was run again: it must do the same each "
            "time, whatever else has changed."
        )
    same = dict(zip(again, nodes, strict=True))
    for new, old in same.items():
        old.inputs = tuple(_of_node(one, same) for one in new.inputs)
        old.options, old.versions, old.value, old.refill = new.options, new.versions, new.value, None


def _of_node(value: Any, same: dict[Node, Node]) -> Any:
    """An input as the graph knows it: a tracer of the second run belongs to the node of the first."""
    node = getattr(value, "_node", None)
    if node not in same:
        return value
    with as_plain():
        made = Tensor._make_subclass(tracer, value)
    made._node = same[node]
    return made


@contextmanager
def _noting() -> Iterator[list[Node]]:
    """All nodes that are made inside, in their order."""
    before, modes.noted = modes.noted, []
    try:
        yield modes.noted
    finally:
        inside, modes.noted = modes.noted, before
        if before is not None:
            before.extend(inside)

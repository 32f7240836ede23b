"""Find the first op of a pass that made NaN or Inf."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from torcheer.capture.examining.backward_faults import faults_in_backward
from torcheer.capture.examining.findings import Fault, Range
from torcheer.capture.examining.forward_faults import ForwardSearch
from torcheer.capture.examining.readable import as_plain, is_finite, is_on_meta
from torcheer.errors import InputError

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

__all__ = ["Fault", "Range", "first_nonfinite"]


def first_nonfinite(history: ModelHistory, *, deliberate: bool = False) -> Fault | None:
    """The first op that made NaN or Inf: in the forward, and where that does no harm in the backward.

    A fault of the forward does harm when it reaches an output, and one of the backward when it reaches the
    gradient of a parameter or of an input. Where neither does, the first of the forward is returned, or else
    of the backward; `later` lists the others.

    An op made NaN when none of its inputs and parameters had any, and Inf when they were all finite. Infinity
    that was put in on purpose is no fault unless `deliberate` is set, or it is what makes an output infinite:
    an argument of an op, minus infinity in a buffer, an additive mask of zeros and minus infinity or numbers
    close to it. A NaN that comes of it is a fault.
    """
    search = ForwardSearch(history, deliberate)
    forward = search.run()
    if forward is not None and search.does_harm:
        return forward
    backward = faults_in_backward(history)
    if forward is not None and not any(fault.reaches_output for fault in backward):
        return _with_later(forward, (*forward.later, *(fault.layer for fault in backward)))
    if backward:
        first, *others = backward
        in_forward = () if forward is None else (forward.layer, *forward.later)
        if first.layer in in_forward:
            first = replace(first, note="its own output is not finite either, which does not reach an output")
        return _with_later(first, (*(fault.layer for fault in others), *in_forward))
    if search.num_seen == 0 and not _has_gradients(history):
        raise InputError(_why_nothing_is_seen(history))
    if not deliberate and _has_infinite_output(history):
        return first_nonfinite(history, deliberate=True)  # what was meant has gone too far
    # A parameter that holds NaN in a place that was not used is worth a word when all else is well.
    return search.harmless


def _has_infinite_output(history: ModelHistory) -> bool:
    """A loss that is not finite, or plus infinity. Scores that come out with their mask are as meant."""
    values = [as_plain(history._saved_value(op)) for op in history._structure.outputs]
    bad = [value for value in values if value is not None and not is_finite(value)]
    return any(value.numel() == 1 or bool((value.real == torch.inf).any()) for value in bad)


def _with_later(fault: Fault, layers: Iterable[str]) -> Fault:
    """With each of the other layers once."""
    return replace(fault, later=tuple(layer for layer in dict.fromkeys(layers) if layer != fault.layer))


def _has_gradients(history: ModelHistory) -> bool:
    return any(op.grad_contents is not None for op in history)


def _why_nothing_is_seen(history: ModelHistory) -> str:
    if is_on_meta(history):
        return "tensors on the meta device have no values to look at: run the model on real ones."
    return (
        "no value of this pass was saved as it was, so there is nothing to look at: capture with "
        "layers_to_save='all' and without activation_postfunc."
    )

"""A pass as a source of what a page shows: its document, its figures, and windows of its tensors."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torcheer.capture.aliasing import has_data
from torcheer.capture.analysis.plain_values import laid_out
from torcheer.capture.model_state import undisturbed
from torcheer.capture.to_document import document_of
from torcheer.errors import InputError
from torcheer.graph import (
    NO_FIGURE,
    SHAPE_ONLY,
    PassDocument,
    no_grad_reason,
    no_params_reason,
    not_saved_reason,
    readable_bytes,
)
from torcheer.tensorfile import (
    RAW_TYPES,
    Array,
    Figures,
    TensorKind,
    TensorView,
    Window,
    figures_of,
    look_at,
    share_of,
)

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

_MAX_DENSE_BYTES = 1 << 30  # of a sparse tensor that is written out to be looked at
_RAW_VIEWS = {1: torch.uint8, 2: torch.int16}  # by their size


def page() -> Any:
    # The one call that points up: capture knows nothing of the app, which stands above it. By name, and only
    # when it is asked for, so that nothing of the app is loaded with a capture.
    return importlib.import_module("torcheer.app")


class HistorySource:
    """A pass in memory, or one that was loaded. Nothing in it is changed, and nothing new is recorded."""

    def __init__(self, history: ModelHistory) -> None:
        self._history = history
        self._document: tuple[int, PassDocument] | None = None
        self._figures: dict[tuple[str, int], tuple[Any, Figures]] = {}

    @property
    def name(self) -> str:
        return self._history.model_name

    def document(self) -> PassDocument:
        num_passes = self._history.num_backward_passes
        if self._document is None or self._document[0] != num_passes:
            with undisturbed():
                self._document = (num_passes, document_of(self._history))
        return self._document[1]

    def tensor(self, kind: TensorKind, index: int, window: Window | None) -> tuple[TensorView, bytes] | str:
        """The view and its values, or the reason why there are none."""
        with undisturbed():
            found = self._value(kind, index)
            if isinstance(found, str):
                return found
            value, note = found
            read = _as_array(value)
            if isinstance(read, str):
                return read
            array, dtype, its_note = read
            figures = self._figures_of(kind, index, value, array, dtype)
            note = "; ".join(filter(None, (note, its_note)))
            return look_at(array, dtype, window, figures=figures, note=note)

    def figures(self, name: str) -> list[float | None] | str:
        """One figure of each op's output; None where there is no value to have it from."""
        if name not in ("zeros", "nonfinite"):
            return NO_FIGURE.format(name=name)
        with undisturbed():
            return [self._share(op, name) for op in range(self._history.num_tensors_total)]

    def _share(self, op: int, name: str) -> float | None:
        found = self._value("output", op)
        read = found if isinstance(found, str) else _as_array(found[0])
        if isinstance(found, str) or isinstance(read, str):
            return None
        return share_of(self._figures_of("output", op, found[0], read[0], read[1]), name)

    def _figures_of(self, kind: str, index: int, value: Any, array: Array, dtype: str) -> Figures:
        """Found once, and again only if the value was written into, or a backward pass came by."""
        stamp = (self._history.num_backward_passes, _version(value))
        known = self._figures.get((kind, index))
        if known is None or known[0] != stamp:
            known = self._figures[kind, index] = (stamp, figures_of(array, dtype))
        return known[1]

    def _value(self, kind: TensorKind, index: int) -> tuple[Any, str] | str:
        history = self._history
        is_param = kind in ("param", "param_grad")
        size = len(history._tape.params) if is_param else history.num_tensors_total
        if not 0 <= index < size:
            raise InputError(
                f"there is no {'parameter' if is_param else 'op'} number {index}: {size} is their number."
            )
        if kind == "output":
            return self._output(index)
        if kind == "param":
            return self._param(index)
        log = history._gradients
        name = history._tape.params[index][0] if is_param else history._label(index)
        grad = None if log is None else log.summed(log.slots_of(name if is_param else index))
        return no_grad_reason(name, history.num_backward_passes) if grad is None else (grad, "")

    def _output(self, op: int) -> tuple[Any, str] | str:
        history = self._history
        value = history._saved_value(op)
        if value is not None:
            return value, "as activation_postfunc left it" if op in history._treated else ""
        kept = history._tape.values[op]
        if history.is_shape_only and (kept is None or not has_data(kept)):
            return SHAPE_ONLY
        return not_saved_reason(history._label(op))

    def _param(self, index: int) -> tuple[Any, str] | str:
        tape = self._history._tape
        value = self._history._value_of(-index - 1)
        if value is None:
            return no_params_reason()
        is_now = value is tape.params[index][1] and not value.is_inference()
        if is_now and value._version != tape.param_versions[index]:
            return value, "written since the pass: these are its values now"
        return value, ""


def _version(value: Any) -> int | None:
    return None if not isinstance(value, Tensor) or value.is_inference() else value._version


def _as_array(value: Any) -> tuple[Array, str, str] | str:
    """The numbers as NumPy has them, torch's name of their type, and a note; or why there are none."""
    if not isinstance(value, Tensor):
        return (
            f"activation_postfunc made no tensor of it, but {type(value).__name__}: there is nothing to draw."
        )
    if not has_data(value):
        return SHAPE_ONLY
    dtype = str(value.dtype).removeprefix("torch.")
    size = 0 if value.is_nested else value.numel() * value.element_size()
    if value.layout != torch.strided and size > _MAX_DENSE_BYTES:
        return (
            f"sparse: written out it would take {readable_bytes(size)}, more than is shown "
            f"({readable_bytes(_MAX_DENSE_BYTES)})."
        )
    try:
        dense, note = laid_out(value.detach())
        return _numpy(dense), dtype, note
    except (RuntimeError, TypeError, ValueError, NotImplementedError, AttributeError) as error:
        # A subclass that holds its numbers elsewhere, a type that NumPy has not.
        first_line = str(error).partition("\n")[0][:120]
        return f"{type(value).__name__} of {dtype}: its numbers cannot be read ({first_line})."


def _numpy(tensor: Tensor) -> Array:
    tensor = tensor.cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    if str(tensor.dtype).removeprefix("torch.") in RAW_TYPES:
        tensor = tensor.view(_RAW_VIEWS[tensor.element_size()])
    return tensor.numpy()

"""Compare two passes, op by op: the first that differs, and how much all differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from torcheer.capture.examining.aligning import Alignment, align_passes, pair_by_name
from torcheer.capture.examining.comparison import (
    COLUMNS,
    ComparedOp,
    Comparison,
    ComparisonTable,
    compared,
)
from torcheer.capture.examining.differences import (
    EXACT,
    Difference,
    Tolerance,
    difference_of,
    usual_tolerance,
    wider,
)
from torcheer.capture.examining.leftovers import has_output, labels_of, modules_of, notes_on
from torcheer.capture.examining.looking import kept_value
from torcheer.capture.examining.readable import as_plain, is_on_meta
from torcheer.capture.examining.repairing import mend
from torcheer.capture.history import ModelHistory
from torcheer.capture.op import Op
from torcheer.capture.pytree import tensors_in
from torcheer.errors import InputError, LayerNotFoundError

Of = Literal["values", "gradients"]


def compare(
    a: ModelHistory,
    b: ModelHistory | Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    of: Of = "values",
) -> Comparison:
    """Lay two passes side by side and say where they differ.

    - `a`, `b`: passes of the same model, or of one that does the same in another way. `b` may also be the
      plain result of a model, such as `compiled(x)`: then only the outputs are compared.
    - `rtol`, `atol`: two values are close when |a - b| <= atol + rtol × |b|. The default is what
      `torch.testing.assert_close` allows for the least precise type that led to either of the two.
    - `of`: 'values', or 'gradients' where both passes have them.
    """
    if not isinstance(a, ModelHistory):
        raise InputError(f"compare takes a history first, from tl.log_forward_pass, not {type(a).__name__}.")
    if of not in ("values", "gradients"):
        raise InputError(f"compare looks at 'values' or 'gradients', not at {of!r}.")
    allowed = Allowed(rtol, atol)
    if isinstance(b, ModelHistory):
        return PassComparison(a, b, of, allowed).run()
    if of == "gradients":
        raise InputError("gradients are compared between two histories: a plain result has none.")
    return _compare_outputs(a, _tensors_of_result(b), allowed)


class Allowed(NamedTuple):
    """The tolerances that were asked for; None: the usual ones."""

    rtol: float | None
    atol: float | None

    def given(self, usual: Tolerance) -> Tolerance:
        rtol = usual.rtol if self.rtol is None else self.rtol
        return Tolerance(rtol, usual.atol if self.atol is None else self.atol)


class PassComparison:
    """One comparison of two histories, while it is made."""

    def __init__(self, a: ModelHistory, b: ModelHistory, of: Of, allowed: Allowed) -> None:
        self._a, self._b, self._of, self._allowed = a, b, of, allowed
        self._precision_a, self._precision_b = _precisions(a), _precisions(b)
        self._param_grads = (a.param_grads, b.param_grads) if of == "gradients" else ({}, {})
        self._known: dict[tuple[int, int], Difference | None] = {}
        self._parted: dict[int, int] = {}  # ops of different shapes, which may share parameters all the same

    def run(self) -> Comparison:
        alignment = self._aligned()
        rows = self._rows(alignment)
        if all(row.is_close is None for row in rows):
            raise InputError(_why_nothing(self._of, is_on_meta(self._a) or is_on_meta(self._b)))
        first = next((row for row in rows if row.is_close is False), None)
        unmatched = (has_output(self._a, alignment.only_left), has_output(self._b, alignment.only_right))
        return Comparison(
            table=ComparisonTable(rows, COLUMNS, _finder(rows, self._a, self._b)),
            only_in_a=labels_of(self._a, alignment.only_left),
            only_in_b=labels_of(self._b, alignment.only_right),
            num_unseen=sum(row.is_close is None for row in rows),
            has_unmatched_outputs=any(unmatched),
            notes=notes_on(self._a, self._b, alignment, first) if self._of == "values" else (),
            modules_a=modules_of(self._a, alignment.only_left),
            modules_b=modules_of(self._b, alignment.only_right),
        )

    def _aligned(self) -> Alignment:
        alignment = align_passes(self._a, self._b)
        if self._of == "values":
            mend(alignment, self._a._structure, self._b._structure, self._differ, self._is_misfit)
            return alignment
        # Ops of the same values, such as a tensor and its copy, may have different gradients: values make no
        # pairs here. They only tell which pairs of different shapes are none.
        by_values = PassComparison(self._a, self._b, "values", self._allowed)._aligned().partner
        for left, right in list(alignment.partner.items()):
            if by_values.get(left) != right and self._shapes(left, right)[0] != self._shapes(left, right)[1]:
                alignment.part(left)
                self._parted[left] = right
        return alignment

    def _is_misfit(self, left: int, right: int) -> bool:
        values = self._value(self._a, left), self._value(self._b, right)
        return values[0] is not None and values[1] is not None and values[0].shape != values[1].shape

    def _shapes(self, left: int, right: int) -> tuple[torch.Size, torch.Size]:
        return self._a._tape.meta(left).shape, self._b._tape.meta(right).shape

    def _rows(self, alignment: Alignment) -> list[ComparedOp]:
        pairs = sorted(alignment.partner.items())
        if self._of == "values":
            return [self._row(left, right) for left, right in pairs]
        # Backward runs from the end: the first difference is the one that was made first.
        rows: list[ComparedOp] = []
        params: set[tuple[str, str]] = set()
        for left, right in sorted([*pairs, *self._parted.items()], reverse=True):
            if left not in self._parted and self._is_any_seen(left, right):
                rows.append(self._row(left, right))
            rows += self._param_rows(left, right, params)
        return rows

    def _is_any_seen(self, left: int, right: int) -> bool:
        return self._value(self._a, left) is not None or self._value(self._b, right) is not None

    def _param_rows(self, left: int, right: int, done: set[tuple[str, str]]) -> Iterable[ComparedOp]:
        grads_a, grads_b = self._param_grads
        for names in zip(_params(self._a, left), _params(self._b, right), strict=False):
            if names in done or (names[0] not in grads_a and names[1] not in grads_b):
                continue
            values = as_plain(grads_a.get(names[0])), as_plain(grads_b.get(names[1]))
            if left in self._parted and _shape(values[0]) != _shape(values[1]):
                continue
            done.add(names)
            yield self._row(left, right, names=names, values=values)

    def _value(self, history: ModelHistory, op: int) -> Tensor | None:
        if self._of == "gradients":
            return as_plain(Op(history, op).grad_contents)
        saved = as_plain(history._saved_value(op))
        return as_plain(kept_value(history, op)) if saved is None else saved

    def _tolerance(self, left: int, right: int) -> Tolerance:
        types = self._a._tape.meta(left).dtype, self._b._tape.meta(right).dtype
        if not any(dtype.is_floating_point or dtype.is_complex for dtype in types):
            return self._allowed.given(EXACT)
        return self._allowed.given(wider(self._precision_a[left], self._precision_b[right]))

    def _differ(self, left: int, right: int) -> Difference | None:
        if (left, right) not in self._known:
            values = self._value(self._a, left), self._value(self._b, right)
            self._known[left, right] = difference_of(*values, self._tolerance(left, right))
        return self._known[left, right]

    def _row(
        self,
        left: int,
        right: int,
        names: tuple[str, str] | None = None,
        values: tuple[Tensor | None, Tensor | None] | None = None,
    ) -> ComparedOp:
        op_a, op_b = Op(self._a, left), Op(self._b, right)
        tolerance = self._tolerance(left, right)
        value_a, value_b = values or (self._value(self._a, left), self._value(self._b, right))
        found = self._differ(left, right) if values is None else difference_of(value_a, value_b, tolerance)
        shapes = (
            tuple(value_a.shape) if value_a is not None else op_a.tensor_shape,
            tuple(value_b.shape) if value_b is not None else op_b.tensor_shape,
        )
        is_unseen = value_a is None or value_b is None
        kind = (
            op_a.layer_type if op_a.layer_type == op_b.layer_type else f"{op_a.layer_type}/{op_b.layer_type}"
        )
        return compared(
            names=names or (op_a.layer_label, op_b.layer_label),
            kind="parameter" if names else kind,
            modules=(op_a.containing_module_origin, op_b.containing_module_origin),
            shapes=shapes,
            found=found,
            is_unseen=is_unseen,
            tolerance=tolerance,
            sources=lambda: (op_a.source_line, op_b.source_line),
        )


def _precisions(history: ModelHistory) -> list[Tolerance]:
    """For each op what rounding may have done: that of the least precise type which led to it."""
    tape = history._tape
    of_params = [usual_tolerance(param.dtype) for _, param in tape.params]
    found: list[Tolerance] = []
    for op, record in enumerate(tape.records):
        widest = usual_tolerance(tape.meta(op).dtype)
        for parent in record.parents:
            widest = wider(widest, of_params[-parent - 1] if parent < 0 else found[parent])
        found.append(widest)
    return found


def _shape(value: Tensor | None) -> tuple[int, ...] | None:
    return None if value is None else tuple(value.shape)


def _params(history: ModelHistory, op: int) -> list[str]:
    return [param.address for param in Op(history, op).parent_params]


def _finder(rows: list[ComparedOp], a: ModelHistory, b: ModelHistory | None) -> Callable[[str], ComparedOp]:
    # The names alone: a comparison must not keep the values of the passes alive.
    by_name = {row.label_b: row for row in rows} | {row.label_a: row for row in rows}
    books = [(each._lookup, each._all_labels) for each in (a, b) if each is not None]

    def find(key: str) -> ComparedOp:
        if key in by_name:
            return by_name[key]
        for lookup, labels in books:
            try:
                label = labels[lookup.find(key)]
            except LayerNotFoundError:
                continue
            if label in by_name:
                return by_name[label]
        raise LayerNotFoundError(f"{key!r} is not in this comparison, or has no partner in the other pass.")

    return find


def _why_nothing(of: str, is_meta: bool) -> str:
    if is_meta:
        return "tensors on the meta device have no values to compare: run the models on real ones."
    if of == "gradients":
        return (
            "the two passes have no gradients in common: capture both with save_gradients=True, and call "
            "backward() on a loss made of history.output."
        )
    return "the two passes have no saved values in common: capture both with layers_to_save='all'."


def _tensors_of_result(result: Any) -> list[tuple[str, Tensor]]:
    if isinstance(result, nn.Module):
        raise InputError("compare takes passes, not models: give tl.log_forward_pass(model, x).")
    found = list(tensors_in(result, into_objects=True))
    if not found:
        raise InputError(f"there is no tensor in {type(result).__name__} to compare the outputs with.")
    return found


def _compare_outputs(a: ModelHistory, result: list[tuple[str, Tensor]], allowed: Allowed) -> Comparison:
    """The outputs of a pass against what another model returned, by name or in order."""
    outputs = [Op(a, op) for op in a._structure.outputs]
    result = [(f"output.{path}" if path else "output", tensor) for path, tensor in result]
    pairs = pair_by_name([op.input_output_address or "" for op in outputs], [name for name, _ in result])
    precisions = _precisions(a)
    rows: list[ComparedOp] = []
    for op, (name, tensor) in ((outputs[i], result[j]) for i, j in pairs):
        values = as_plain(kept_value(a, op.index)), as_plain(tensor)
        is_exact = not any(t.is_floating_point() or t.is_complex() for t in values if t is not None)
        usual = EXACT if is_exact else wider(precisions[op.index], usual_tolerance(tensor.dtype))
        rows.append(
            compared(
                names=(op.layer_label, name),
                kind="output",
                modules=("", ""),
                shapes=(op.tensor_shape, tuple(tensor.shape)),
                found=difference_of(*values, allowed.given(usual)),
                is_unseen=any(value is None for value in values),
                tolerance=allowed.given(usual),
                sources=lambda: (None, None),
            )
        )
    if all(row.is_close is None for row in rows):
        raise InputError("no output of this pass was saved: capture with layers_to_save='all'.")
    return Comparison(
        table=ComparisonTable(rows, COLUMNS, _finder(rows, a, None)),
        only_in_a=tuple(op.layer_label for i, op in enumerate(outputs) if i not in {i for i, _ in pairs}),
        only_in_b=tuple(name for j, (name, _) in enumerate(result) if j not in {j for _, j in pairs}),
        num_unseen=sum(row.is_close is None for row in rows),
        has_unmatched_outputs=len(outputs) != len(result),
        notes=("only the outputs were compared: the second is a plain result, not a history.",),
    )

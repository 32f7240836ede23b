"""Compare two passes, op by op: the first that differs, and how much all differ."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.testing._comparison import default_tolerances

from torcheer.capture.analysis.align import Alignment, Verdict, align_passes, mend, pair_by_name
from torcheer.capture.analysis.plain_values import CHUNK, as_plain, kept_value
from torcheer.capture.history import ModelHistory
from torcheer.capture.inputs import tensors_in
from torcheer.capture.op import Op, some_of
from torcheer.errors import InputError, LayerNotFoundError
from torcheer.graph import Column, RowTable, SourceLine, number_text, shape_text

Of = Literal["values", "gradients"]
_NUM_WORST = 5
_NUM_NAMES = 8
_HEAD = 4096  # elements


class Tolerance(NamedTuple):
    """Two values are close when they differ by no more than atol + rtol × the second."""

    rtol: float
    atol: float


_EXACT = Tolerance(0.0, 0.0)  # whole numbers and truth values


def usual_tolerance(dtype: torch.dtype) -> Tolerance:
    """What torch.testing.assert_close allows for a type."""
    if dtype.is_floating_point and dtype.itemsize == 1:  # torch.testing has none for these
        return Tolerance(torch.finfo(dtype).eps, 1e-5)
    return Tolerance(*default_tolerances(dtype))


def wider(one: Tolerance, other: Tolerance) -> Tolerance:
    return Tolerance(max(one.rtol, other.rtol), max(one.atol, other.atol))


class Difference(NamedTuple):
    """Figures of |a - b|, element by element; None where there was nothing to compare."""

    verdict: Verdict
    note: str = ""
    max_abs: float | None = None  # infinite where only one of the two is NaN or Inf
    max_rel: float | None = None  # of |a - b| / |b|, over the elements where b is not zero
    relative: float | None = None  # the largest |a - b| over the largest magnitude in either of the two
    mean_abs: float | None = None
    cosine: float | None = None  # of the elements that are finite in both; zeros have no direction


def difference(a: Tensor | None, b: Tensor | None, tolerance: Tolerance) -> Difference:
    """Of two plain tensors, in double precision. NaN in the same place, and the same Inf, count as equal."""
    if a is None or b is None:
        return Difference("unseen", "not saved in both")
    if a.shape != b.shape:
        return Difference("other shape", f"shape {shape_text(a.shape)} against {shape_text(b.shape)}")
    for dim in range(a.dim()):
        if a.size(dim) > 1 and a.stride(dim) == 0 and b.stride(dim) == 0:
            a, b = a.narrow(dim, 0, 1), b.narrow(dim, 0, 1)  # expanded: the rest are copies of the first
    if not a.numel():
        return Difference("close")
    with torch.no_grad():  # piece by piece: doubles of all elements would take many times their memory
        pieces = zip(torch.split(a.flatten(), CHUNK), torch.split(b.flatten(), CHUNK), strict=True)
        found = [_figures(one.cpu(), other.cpu(), tolerance) for one, other in pieces]
    sums, maxima = ([*zip(*figures, strict=True)] for figures in zip(*found, strict=True))
    num_far, num_odd, num_both, num_one, sum_abs, product, square_a, square_b = map(sum, sums)
    max_abs, max_rel, largest = map(max, maxima)
    max_abs = math.inf if num_odd else max_abs
    note = f"{num_both} NaN in the same places" if num_both else ""
    norms = math.sqrt(square_a) * math.sqrt(square_b)
    return Difference(
        verdict="far" if num_far or num_odd else "close",
        note=f"{num_one} NaN in one of the two only" if num_one else note,
        max_abs=max_abs,
        max_rel=None if max_rel < 0 else max_rel,
        relative=max_abs if not max_abs or num_odd else max_abs / largest if largest else math.inf,
        mean_abs=math.inf if num_odd else sum_abs / a.numel(),
        cosine=min(1.0, max(-1.0, product / norms)) if norms else None,
    )


def _figures(a: Tensor, b: Tensor, tolerance: Tolerance) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of a piece: those that are added up over all pieces, and those of which the largest holds."""
    are_whole = not any(t.is_floating_point() or t.is_complex() for t in (a, b))
    same = a == b  # before whole numbers lose digits
    wide = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
    a, b = a.to(wide), b.to(wide)
    distance = (a - b).abs()
    if are_whole:
        distance = torch.where(same, 0.0, distance.clamp(min=1.0))
    num_odd = num_both = num_one = 0
    if not bool(distance.isfinite().all()):
        finite, nan_a, nan_b = a.isfinite() & b.isfinite(), a.isnan(), b.isnan()
        # The same Inf is equal; beside any other value it is infinitely far.
        num_odd = int((~finite & ~(nan_a & nan_b) & (a != b)).sum())
        num_both, num_one = int((nan_a & nan_b).sum()), int((nan_a ^ nan_b).sum())
        a, b, distance = a[finite], b[finite], distance[finite]
    size = b.abs()
    num_far = int((distance > tolerance.atol + tolerance.rtol * size).sum())
    products = [torch.vdot(*pair).real.item() for pair in ((a, b), (a, a), (b, b))]
    usable = size > 0
    max_rel = _largest(distance[usable] / size[usable]) if bool(usable.any()) else -1.0
    return (
        (num_far, num_odd, num_both, num_one, distance.sum().item(), *products),
        (_largest(distance), max_rel, max(_largest(a.abs()), _largest(size))),
    )


def _largest(values: Tensor) -> float:
    return values.max().item() if values.numel() else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedOp:
    """One op of each pass, side by side. Figures are None where there was nothing to compare."""

    label_a: str
    label_b: str
    type: str
    module: str  # in whose forward the op of the first pass ran; "" for the model itself
    module_b: str
    shape: tuple[int, ...]
    shape_b: tuple[int, ...]
    max_abs: float | None = None  # of |a - b|
    max_rel: float | None = None  # of |a - b| / |b|, where b is not zero: large where b is next to zero
    relative: float | None = None  # the largest |a - b| over the largest magnitude in either of the two
    mean_abs: float | None = None
    cosine: float | None = None
    is_close: bool | None
    rtol: float  # what was allowed: |a - b| <= atol + rtol × |b|
    atol: float
    note: str
    source_a: SourceLine | None = field(default=None, repr=False)  # of ops that differ
    source_b: SourceLine | None = field(default=None, repr=False)

    def __str__(self) -> str:
        parts = [_both(self.label_a, self.label_b)]
        if self.module or self.module_b:
            parts.append(f"in {_both(self.module or 'the model', self.module_b or 'the model')}")
        parts.append(shape_text(self.shape))
        figures = (("max abs", self.max_abs), ("relative", self.relative), ("mean abs", self.mean_abs))
        parts += [f"{title} {number_text(value)}" for title, value in figures if value is not None]
        if self.cosine is not None:
            parts.append(f"cosine {_cosine_text(self.cosine)}")
        if self.max_abs is not None:
            parts.append(f"(allowed: rtol {self.rtol:g}, atol {self.atol:g})")
        return "  ".join([*parts, self.note] if self.note else parts)


def _both(one: str, other: str) -> str:
    return one if one == other else f"{one} and {other}"


class ComparisonTable(RowTable[ComparedOp]):
    """One row a pair of ops. `table['relu_1']` takes a name of the first pass, or of the second."""


def _cosine_text(value: float) -> str:
    return f"{value:.6f}"  # how far it is from one is what matters


_COLUMNS = (
    *(Column(name=name, to_right=False) for name in ("label_a", "label_b", "type", "module", "module_b")),
    Column(name="shape", show=shape_text, to_right=False),
    *(Column(name=name, show=number_text) for name in ("max_abs", "relative", "mean_abs")),
    Column(name="cosine", show=_cosine_text),
    Column(name="is_close", show=lambda value: "yes" if value else "NO", to_right=False),
    Column(name="note", to_right=False),
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """Two passes side by side.

    True when all that has a partner is close, and every output has one. Ops inside that stand in one pass
    only do not count against it: a port may go another way to the same result.
    """

    table: ComparisonTable
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    num_unseen: int  # pairs that could not be compared, since a value was not saved
    has_unmatched_outputs: bool
    notes: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.has_unmatched_outputs and self.first_difference is None

    def __iter__(self) -> Iterator[ComparedOp]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def differences(self) -> list[ComparedOp]:
        """The pairs that are not close, in order."""
        return [row for row in self.table if row.is_close is False]

    @property
    def first_difference(self) -> ComparedOp | None:
        """The first pair, in the order the ops ran, that is not close; for gradients, in backward order."""
        return next(iter(self.differences), None)

    @property
    def max_difference(self) -> ComparedOp | None:
        """The pair with the largest absolute difference; None where no values were compared."""
        known = [row for row in self.table if row.max_abs is not None]
        return max(known, key=lambda row: row.max_abs or 0.0, default=None)

    def __str__(self) -> str:
        lines = [self._verdict(), *self.notes]
        first = self.first_difference
        if first is not None:
            lines.append(f"first difference: {first}")
            sources = dict.fromkeys(str(s) for s in (first.source_a, first.source_b) if s is not None)
            lines += [f"    {source}" for source in sources]
        if len(self.differences) > 1:
            worst = self.table.where(lambda row: row.is_close is False).sort("max_abs", descending=True)
            lines += ["the largest differences:", str(worst.head(_NUM_WORST))]
        if self.only_in_a:
            lines.append(f"only in a: {some_of(self.only_in_a, _NUM_NAMES)}")
        if self.only_in_b:
            lines.append(f"only in b: {some_of(self.only_in_b, _NUM_NAMES)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Comparison: {self._verdict()}>"

    def _repr_html_(self) -> str:
        return f"<div><pre>{html.escape(str(self))}</pre>{self.table._repr_html_()}</div>"

    def _verdict(self) -> str:
        compared = [row for row in self.table if row.is_close is not None]
        num_far = len(self.differences)
        total = f"{len(compared)} pairs of ops"
        if num_far:
            text = f"different: {num_far} of {total} are not close"
        elif self.has_unmatched_outputs:
            text = f"different: all of {total} are close, but not every output has a partner"
        elif all(not row.max_abs for row in compared):
            text = f"equal: {len(compared)} of {total} are the same to the last bit"
        else:
            text = f"close: {len(compared)} of {total} agree within tolerance"
        unseen = f"; {self.num_unseen} pairs were not saved in both" if self.num_unseen else ""
        return f"{text}{unseen}."


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
    if isinstance(b, ModelHistory):
        return PassComparison(a, b, of, rtol, atol).run()
    if of == "gradients":
        raise InputError("gradients are compared between two histories: a plain result has none.")
    return _compare_outputs(a, b, rtol, atol)


def _allowed(
    types: tuple[torch.dtype, torch.dtype], usual: Tolerance, rtol: float | None, atol: float | None
) -> Tolerance:
    usual = usual if any(dtype.is_floating_point or dtype.is_complex for dtype in types) else _EXACT
    return Tolerance(usual.rtol if rtol is None else rtol, usual.atol if atol is None else atol)


class PassComparison:
    """One comparison of two histories, while it is made."""

    def __init__(
        self, a: ModelHistory, b: ModelHistory, of: Of, rtol: float | None, atol: float | None
    ) -> None:
        self._a, self._b, self._of, self._rtol, self._atol = a, b, of, rtol, atol
        self._precision_a, self._precision_b = _precisions(a), _precisions(b)
        self._known: dict[tuple[int, int], Difference] = {}

    def run(self) -> Comparison:
        alignment = align_passes(self._a, self._b)
        if self._of == "values":
            mend(alignment, self._a._structure, self._b._structure, self._judge)
            rows = [self._row(left, right) for left, right in sorted(alignment.partner.items())]
        else:
            rows = self._gradient_rows(alignment)
        if all(row.is_close is None for row in rows):
            raise InputError(_why_nothing(self._of, self._a.is_shape_only or self._b.is_shape_only))
        first = next((row for row in rows if row.is_close is False), None)
        differ_from_the_start = first is not None and first.type == "input" and self._of == "values"
        only_in_a, only_in_b = (
            [Op(history, op) for op in sorted(ops)]
            for history, ops in ((self._a, alignment.only_left), (self._b, alignment.only_right))
        )
        return Comparison(
            table=ComparisonTable(rows, _COLUMNS, _finder(rows, self._a, self._b)),
            only_in_a=tuple(op.layer_label for op in only_in_a if not op.is_buffer_layer),
            only_in_b=tuple(op.layer_label for op in only_in_b if not op.is_buffer_layer),
            num_unseen=sum(row.is_close is None for row in rows),
            has_unmatched_outputs=any(op.is_output_layer for op in (*only_in_a, *only_in_b)),
            notes=("the inputs already differ: give both models the same one.",)
            if differ_from_the_start
            else (),
        )

    def _gradient_rows(self, alignment: Alignment) -> list[ComparedOp]:
        """Of ops and their parameters. Pairs of different shapes are none, but may share parameters.

        Ops of the same values, such as a tensor and its copy, may have different gradients: values make no
        pairs here. Backward runs from the end: the first difference is the one that was made first.
        """
        grads_a, grads_b = self._a.param_grads, self._b.param_grads
        rows: list[ComparedOp] = []
        done: set[tuple[str, str]] = set()
        for left, right in sorted(alignment.partner.items(), reverse=True):
            ops = Op(self._a, left), Op(self._b, right)
            is_misfit = self._a._tape.meta(left).shape != self._b._tape.meta(right).shape
            if is_misfit:
                del alignment.partner[left]
            elif any(op.grad_contents is not None for op in ops):
                rows.append(self._row(left, right))
            params = ([param.address for param in op.parent_params] for op in ops)
            for names in zip(*params, strict=False):
                if names in done or (names[0] not in grads_a and names[1] not in grads_b):
                    continue
                values = as_plain(grads_a.get(names[0])), as_plain(grads_b.get(names[1]))
                tolerance = self._tolerance(left, right)
                found = difference(*values, tolerance)
                if found.verdict in ("close", "far") or not is_misfit:
                    done.add(names)
                    rows.append(_compared(names, "parameter", values, found, tolerance, ops))
        return rows

    def _value(self, history: ModelHistory, op: int) -> Tensor | None:
        if self._of == "gradients":
            return as_plain(Op(history, op).grad_contents)
        saved = as_plain(history._saved_value(op))
        return as_plain(kept_value(history, op)) if saved is None else saved

    def _tolerance(self, left: int, right: int) -> Tolerance:
        types = self._a._tape.meta(left).dtype, self._b._tape.meta(right).dtype
        usual = wider(self._precision_a[left], self._precision_b[right])
        return _allowed(types, usual, self._rtol, self._atol)

    def _judge(self, left: int, right: int) -> Verdict:
        a, b = self._value(self._a, left), self._value(self._b, right)
        if (left, right) not in self._known and a is not None and b is not None and a.shape == b.shape:
            # Most pairs that are tried differ in their first elements already.
            heads = [value[:1].flatten()[:_HEAD] if value.dim() else value for value in (a, b)]
            if difference(heads[0], heads[1], self._tolerance(left, right)).verdict == "far":
                return "far"
        return self._differ(left, right).verdict

    def _differ(self, left: int, right: int) -> Difference:
        if (left, right) not in self._known:
            values = self._value(self._a, left), self._value(self._b, right)
            self._known[left, right] = difference(*values, self._tolerance(left, right))
        return self._known[left, right]

    def _row(self, left: int, right: int) -> ComparedOp:
        ops = Op(self._a, left), Op(self._b, right)
        names = ops[0].layer_label, ops[1].layer_label
        types = "/".join(dict.fromkeys(op.layer_type for op in ops))
        values = self._value(self._a, left), self._value(self._b, right)
        found = self._differ(left, right)
        return _compared(names, types, values, found, self._tolerance(left, right), ops)


def _compared(
    names: tuple[str, str],
    kind: str,
    values: tuple[Tensor | None, Tensor | None],
    found: Difference,
    tolerance: Tolerance,
    ops: tuple[Op, Op | None],
) -> ComparedOp:
    """A row. Without a second op only the outputs are compared, of which place and source tell nothing."""
    one, other = ops
    is_far = found.verdict in ("far", "other shape")
    shapes = [None if value is None else tuple(value.shape) for value in values]
    return ComparedOp(
        label_a=names[0],
        label_b=names[1],
        type=kind,
        shape=one.tensor_shape if shapes[0] is None else shapes[0],
        shape_b=(other or one).tensor_shape if shapes[1] is None else shapes[1],
        module=one.containing_module_origin if other else "",
        module_b=other.containing_module_origin if other else "",
        is_close=None if found.verdict == "unseen" else not is_far,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        source_a=one.source_line if other and is_far else None,
        source_b=other.source_line if other and is_far else None,
        **{name: value for name, value in found._asdict().items() if name != "verdict"},
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


def _compare_outputs(a: ModelHistory, result: Any, rtol: float | None, atol: float | None) -> Comparison:
    """The outputs of a pass against what another model returned, by name or in order."""
    if isinstance(result, nn.Module):
        raise InputError("compare takes passes, not models: give tl.log_forward_pass(model, x).")
    given = [
        (f"output.{p}" if p else "output", tensor) for p, tensor in tensors_in(result, into_objects=True)
    ]
    if not given:
        raise InputError(f"there is no tensor in {type(result).__name__} to compare the outputs with.")
    outputs = [Op(a, op) for op in a._structure.outputs]
    pairs = pair_by_name([op.input_output_address or "" for op in outputs], [name for name, _ in given])
    precisions = _precisions(a)
    rows: list[ComparedOp] = []
    for op, (name, tensor) in ((outputs[i], given[j]) for i, j in pairs):
        values = as_plain(kept_value(a, op.index)), as_plain(tensor)
        usual = wider(precisions[op.index], usual_tolerance(tensor.dtype))
        tolerance = _allowed((op.tensor_dtype, tensor.dtype), usual, rtol, atol)
        found = difference(*values, tolerance)
        rows.append(_compared((op.layer_label, name), "output", values, found, tolerance, (op, None)))
    if all(row.is_close is None for row in rows):
        raise InputError("no output of this pass was saved: capture with layers_to_save='all'.")
    paired = {op for op, _ in pairs}, {name for _, name in pairs}
    return Comparison(
        table=ComparisonTable(rows, _COLUMNS, _finder(rows, a, None)),
        only_in_a=tuple(op.layer_label for i, op in enumerate(outputs) if i not in paired[0]),
        only_in_b=tuple(name for j, (name, _) in enumerate(given) if j not in paired[1]),
        num_unseen=sum(row.is_close is None for row in rows),
        has_unmatched_outputs=len(outputs) != len(given),
        notes=("only the outputs were compared: the second is a plain result, not a history.",),
    )

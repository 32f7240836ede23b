"""What a comparison of two passes found, as data and as text."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, zip_longest

from torcheer.capture.examining.differences import Difference, Tolerance
from torcheer.graph import Column, RowTable, SourceLine, number_text, shape_text

_NUM_WORST = 5
_NUM_NAMES = 8


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
    max_abs: float | None  # of |a - b|
    max_rel: float | None  # of |a - b| / |b|, where b is not zero: large where b is next to zero
    relative: float | None  # the largest |a - b| over the largest magnitude in either of the two
    mean_abs: float | None
    cosine: float | None
    is_close: bool | None
    rtol: float  # what was allowed: |a - b| <= atol + rtol × |b|
    atol: float
    note: str
    source_a: SourceLine | None = field(repr=False)  # of ops that differ
    source_b: SourceLine | None = field(repr=False)

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


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "NO"


COLUMNS = (
    *(Column(name=name, to_right=False) for name in ("label_a", "label_b", "type", "module", "module_b")),
    Column(name="shape", show=shape_text, to_right=False),
    *(Column(name=name, show=number_text) for name in ("max_abs", "relative", "mean_abs")),
    Column(name="cosine", show=_cosine_text),
    Column(name="is_close", show=_yes_or_no, to_right=False),
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
    modules_a: tuple[str, ...] = ()  # of the ops in only_in_a, one by one
    modules_b: tuple[str, ...] = ()

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
        return next((row for row in self.table if row.is_close is False), None)

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
            worst = self.table.where(lambda row: row.is_close is False)
            lines += [
                "the largest differences:",
                str(worst.sort("max_abs", descending=True).head(_NUM_WORST)),
            ]
        lines += _names("only in a", self.only_in_a, self.modules_a)
        lines += _names("only in b", self.only_in_b, self.modules_b)
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


def _names(title: str, names: tuple[str, ...], modules: tuple[str, ...]) -> list[str]:
    return [f"{title}: {names_text(names, modules)}"] if names else []


def names_text(names: tuple[str, ...], modules: tuple[str, ...]) -> str:
    """The first few, those of one module together, and how many more there are."""
    more = f" and {len(names) - _NUM_NAMES} more" if len(names) > _NUM_NAMES else ""
    placed = zip_longest(names[:_NUM_NAMES], modules[:_NUM_NAMES], fillvalue="")
    groups = [(module, [name for name, _ in group]) for module, group in groupby(placed, lambda one: one[1])]
    texts = [", ".join(group) + (f" (in {module})" if module else "") for module, group in groups]
    return "; ".join(texts) + more


def compared(
    *,
    names: tuple[str, str],
    kind: str,
    modules: tuple[str, str],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    found: Difference | None,
    is_unseen: bool,
    tolerance: Tolerance,
    sources: Callable[[], tuple[SourceLine | None, SourceLine | None]],
) -> ComparedOp:
    """A row; the sources are asked for only where the two differ."""
    is_close = None if is_unseen else found is not None and found.is_close
    source_a, source_b = sources() if is_close is False else (None, None)
    return ComparedOp(
        label_a=names[0],
        label_b=names[1],
        type=kind,
        module=modules[0],
        module_b=modules[1],
        shape=shapes[0],
        shape_b=shapes[1],
        max_abs=None if found is None else found.max_abs,
        max_rel=None if found is None else found.max_rel,
        relative=None if found is None else found.relative,
        mean_abs=None if found is None else found.mean_abs,
        cosine=None if found is None else found.cosine,
        is_close=is_close,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        note=_note(found, is_unseen, shapes),
        source_a=source_a,
        source_b=source_b,
    )


def _note(found: Difference | None, is_unseen: bool, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> str:
    if is_unseen:
        return "not saved in both"
    if found is None:
        return f"shape {shape_text(shapes[0])} against {shape_text(shapes[1])}"
    if found.num_one_nan:
        return f"{found.num_one_nan} NaN in one of the two only"
    return f"{found.num_both_nan} NaN in the same places" if found.num_both_nan else ""

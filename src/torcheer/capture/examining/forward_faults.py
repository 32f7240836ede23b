"""Walk a forward pass to the first value that is not finite without having come in so."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from torcheer.capture.examining.findings import Fault, Origin
from torcheer.capture.examining.looking import input_ranges, kept_value, param_value
from torcheer.capture.examining.readable import as_plain, chunks, is_finite
from torcheer.capture.op import Op
from torcheer.capture.pytree import map_leaves
from torcheer.capture.tape import ALIAS, BUFFER, IDENTITY, INPUT, SOURCE, TENSOR, UPDATED, Record

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

_CAME_IN: dict[int, Origin] = {id(INPUT): "input", id(BUFFER): "buffer", id(SOURCE): "source"}
# Their output is whatever the memory held before.
_UNDEFINED = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_ new".split()
)
# They write every element of their first argument, so what it held does not matter.
_WRITE_ALL = frozenset(
    "copy_ fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ geometric_ log_normal_ cauchy_ "
    "trunc_normal_".split()
)
# They show memory, or move it, and compute nothing.
_PASS_ON = frozenset(
    "getitem view viewas reshape reshapeas flatten unflatten select narrow slice transpose permute t mt h mh "
    "unsqueeze squeeze expand expandas chunk split splitwithsizes tensorsplit unbind detach data contiguous "
    "to clone movedim swapaxes swapdims diagonal asstrided ravel float double half bfloat16 type".split()
)
# They make or fill a tensor with a number that they are given: infinity is what was wanted.
_FILL = frozenset(
    "full full_like new_full fill fill_ masked_fill masked_fill_ index_fill index_fill_ tensor as_tensor "
    "scalar_tensor new_tensor where nan_to_num nan_to_num_ __setitem__".split()
)
_KEEP_THE_SIGN = frozenset(
    "add sum cumsum exp expm1 exp2 softplus relu gelu silu logsumexp cat stack".split()
)


class Seen(NamedTuple):
    """What is known of a value when its readers are looked at."""

    has_nan: bool = False
    has_inf: bool = False
    has_positive_inf: bool = False
    is_unwritten: bool = False  # memory that nobody may have written yet
    is_mask: bool = False  # nothing but zeros and numbers near the least that there is

    @property
    def is_sound(self) -> bool:
        return not self.has_nan and not self.has_inf


FINITE = Seen()


class Counts(NamedTuple):
    """Elements of a value that are not finite."""

    num_nan: int
    num_inf: int
    num_positive_inf: int

    @property
    def has_only_minus_inf(self) -> bool:
        return self.num_inf > 0 and not self.num_nan and not self.num_positive_inf

    def as_seen(self) -> Seen:
        return Seen(self.num_nan > 0, self.num_inf > 0, self.num_positive_inf > 0)


class Made(NamedTuple):
    """A value that is not finite, and did not come from one that was not."""

    op: int
    origin: Origin
    counts: Counts
    num_values: int


class ForwardSearch:
    """One walk through the ops, in the order they ran."""

    def __init__(self, history: ModelHistory, deliberate: bool) -> None:
        self._history = history
        self._deliberate = deliberate
        self._seen: list[Seen] = []
        self._is_of_data: list[bool] = []  # which ops give real numbers made of parameters or of real inputs
        self._params: dict[int, Seen] = {}
        self.num_seen = 0
        self.num_unseen = 0
        self._unseen: set[int] = set()
        self._made: list[Made] = []
        self.harmless: Fault | None = None  # a parameter that is not finite, where it did no harm

    def run(self) -> Fault | None:
        for index, record in enumerate(self._history._tape.records):
            seen, made = self._look_at(index, record)
            self._seen.append(seen)
            if made is not None:
                self._made.append(made)
        return self._fault(self._made[0], tuple(self._made[1:])) if self._made else None

    def _look_at(self, index: int, record: Record) -> tuple[Seen, Made | None]:
        value = as_plain(kept_value(self._history, index))
        inputs = [self._state_of(parent) for parent in _read_parents(record)]
        is_of_data = record.trait is INPUT or any(p < 0 or self._is_of_data[p] for p in record.parents)
        is_real = value is None or value.is_floating_point() or value.is_complex()
        self._is_of_data.append(is_of_data and is_real)
        if value is None:
            self._unseen.add(index)
            self.num_unseen += not self._made  # those before the fault
            return self._guess(record, inputs), None
        self.num_seen += 1
        unwritten = _may_be_unwritten(record, inputs)
        if is_finite(value):
            self._note_parameters(index, record)
            return FINITE._replace(is_unwritten=unwritten, is_mask=_is_mask(value)), None
        counts = count_nonfinite(value)
        state = counts.as_seen()._replace(is_mask=counts.has_only_minus_inf and _is_mask(value))
        if self._is_deliberate(index, record, counts, inputs):
            return state, None
        if unwritten:
            # Minus infinity that was written there on purpose is as good as written.
            mask = counts.has_only_minus_inf and any(i.has_inf and not i.is_unwritten for i in inputs)
            return state._replace(is_unwritten=not mask), None
        origin = self._origin(record, state, inputs)
        return state, None if origin is None else Made(index, origin, counts, value.numel())

    def _guess(self, record: Record, inputs: list[Seen]) -> Seen:
        """A value that was not saved: it may hold the minus infinity that it was given."""
        fills = not self._deliberate and _was_given_infinity(record)
        return Seen(
            has_inf=fills or any(i.has_inf for i in inputs), is_unwritten=_may_be_unwritten(record, inputs)
        )

    def _is_deliberate(self, index: int, record: Record, counts: Counts, inputs: list[Seen]) -> bool:
        if self._deliberate or counts.num_nan:
            return False
        if counts.num_positive_inf:
            return record.trait.name in _FILL and _was_given_infinity(record)
        if _was_given_infinity(record) or any(i.is_mask for i in inputs):
            return True  # a mask on a mask overflows, and so does a score below it in half precision
        if record.trait is BUFFER:
            name = self._history._tape.addresses.get(index, "").rpartition(".")[2]
            return not name.startswith("running_")  # a statistic has run away
        value = as_plain(kept_value(self._history, index))
        if value is None or not _is_mask(value):
            return False
        # `ones.tril().log()` is a mask. The same numbers as the logarithm of what a model says are a fault.
        return not inputs or (not self._is_of_data[index] and bool((value == 0).any()))

    def _origin(self, record: Record, state: Seen, inputs: list[Seen]) -> Origin | None:
        """Where a value that is not finite came from; None where it came in with a known input."""
        if id(record.trait) in _CAME_IN:
            return _CAME_IN[id(record.trait)]
        if any(self._param_state(p) != FINITE for p in record.parents if p < 0):
            return "parameter"
        if any(i.is_unwritten and (i.has_nan or i.has_inf) for i in inputs):
            return "memory"
        makes_nan = state.has_nan and not any(i.has_nan for i in inputs)
        makes_inf = state.has_inf and not any(i.has_nan or i.has_inf for i in inputs)
        # Next to a mask an op may overflow all the same: minus infinity does not become plus by adding.
        overflows = (
            state.has_positive_inf
            and record.trait.type in _KEEP_THE_SIGN
            and not any(i.has_nan or i.has_positive_inf for i in inputs)
        )
        return "op" if makes_nan or makes_inf or overflows else None

    def _state_of(self, parent: int) -> Seen:
        return self._seen[parent] if parent >= 0 else self._param_state(parent)

    def _param_state(self, param: int) -> Seen:
        known = self._params.get(param)
        if known is None:
            known = self._params[param] = self._see_param(param)
        return known

    def _see_param(self, param: int) -> Seen:
        value = as_plain(param_value(self._history, param))
        if value is None or is_finite(value):
            return FINITE
        counts = count_nonfinite(value)
        is_mask = counts.has_only_minus_inf and _is_mask(value)
        if is_mask and not self._deliberate:
            return FINITE
        return counts.as_seen()

    def _note_parameters(self, index: int, record: Record) -> None:
        if self.harmless is None and any(p < 0 and self._param_state(p) != FINITE for p in record.parents):
            self.harmless = self._fault(Made(index, "parameter", Counts(0, 0, 0), 0), ())

    def _fault(self, made: Made, later: tuple[Made, ...]) -> Fault:
        op, origin, counts, num_values = (
            Op(self._history, made.op),
            made.origin,
            made.counts,
            made.num_values,
        )
        ranges = input_ranges(self._history, op)
        name, num_nan, num_inf, note = op.layer_label, counts.num_nan, counts.num_inf, ""
        if origin == "parameter":
            culprit = next(r for r in ranges if not r.is_finite and r.name in _param_names(op))
            name, num_nan, num_inf = culprit.name, culprit.num_nan, culprit.num_inf
            num_values = math.prod(culprit.shape)
            note = "" if counts.num_nan or counts.num_inf else "nothing in the pass became non-finite by it"
        elif origin in ("input", "buffer"):
            name = op.input_output_address or op.buffer_address or name
        elif any(not r.is_seen for r in ranges):
            note = "some inputs were not saved: it may have come in with them"
        return Fault(
            layer=op.layer_label,
            what="nan" if num_nan else "inf",
            phase="forward",
            origin=origin,
            name=name,
            num_nan=num_nan,
            num_inf=num_inf,
            num_values=num_values,
            module=op.containing_module_origin,
            source_line=op.source_line,
            inputs=ranges,
            num_unseen=self.num_unseen,
            reaches_output=self._reaches_output({made.op}),
            later=tuple(self._history._label(other.op) for other in later),
            note=note,
            op=op,
        )

    @property
    def does_harm(self) -> bool:
        """Whether anything that was made reaches an output."""
        return self._reaches_output({made.op for made in self._made})

    def _reaches_output(self, starts: set[int]) -> bool:
        """Whether some of it, or what came of it, is in what the model returned."""
        tainted = {op for op in starts if op < len(self._seen) and not self._seen[op].is_sound}
        for index in range(min(tainted, default=len(self._seen)) + 1, len(self._seen)):
            record = self._history._tape.records[index]
            may_hold = not self._seen[index].is_sound or index in self._unseen
            if may_hold and not tainted.isdisjoint(record.parents):
                tainted.add(index)
        return any(op in tainted for op in self._history._structure.outputs)


def count_nonfinite(value: Tensor) -> Counts:
    """Of a plain tensor. An infinite complex number counts as positive."""
    num_nan = num_inf = num_positive = 0
    for part, times in chunks(value):
        inf = torch.isinf(part)
        num_nan += times * int(torch.isnan(part).sum())
        num_inf += times * int(inf.sum())
        num_positive += times * int((inf if part.is_complex() else inf & (part > 0)).sum())
    return Counts(num_nan, num_inf, num_positive)


def _is_mask(value: Tensor) -> bool:
    """A mask that is added to scores holds nothing but zeros and minus infinity, or numbers close to it."""
    if not value.is_floating_point() or not value.numel() or value[(0,) * value.dim()].item() > 0:
        return False
    far = torch.finfo(value.dtype).min / 2
    parts = [part for part, _ in chunks(value)]
    is_plain = all(bool(((part == 0) | (part <= far)).all()) for part in parts)
    return is_plain and any(bool((part <= far).any()) for part in parts)


def _param_names(op: Op) -> set[str]:
    return {param.address for param in op.parent_params}


def _was_given_infinity(record: Record) -> bool:
    found = False

    def see(leaf: Any) -> None:
        nonlocal found
        # Plus infinity too: `zeros - inf` is a mask as well. What comes of it is looked at elsewhere.
        found = found or (isinstance(leaf, Real) and math.isinf(leaf))

    map_leaves((record.args, record.kwargs or {}), see)
    return found


def _read_parents(record: Record) -> list[int]:
    """Whose values an op reads: not those of a tensor that it writes over from end to end."""
    parents = list(record.parents)
    if record.trait.name in _WRITE_ALL:
        return parents[1:]
    if not record.kwargs or "out" not in record.kwargs:
        return parents
    rest = iter(parents)
    read: list[int] = []
    for name, part in (("", record.args), *record.kwargs.items()):
        given: list[int] = []
        map_leaves(part, lambda leaf, to=given: to.append(next(rest)) if leaf is TENSOR else None)  # type: ignore[misc]
        read += given if name != "out" else []
    return read


def _may_be_unwritten(record: Record, inputs: list[Seen]) -> bool:
    trait = record.trait
    if trait.name in _UNDEFINED:
        return True
    writes_some = record.context is not None and record.context.num_targets > 0
    passes_on = writes_some or trait.type in _PASS_ON or trait in (ALIAS, IDENTITY, UPDATED)
    return passes_on and any(i.is_unwritten for i in inputs)

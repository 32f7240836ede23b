"""Find the first op of a pass that made NaN or Inf, in the forward or in the backward."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from torch import Tensor

from torcheer.capture.analysis.plain_values import (
    CHUNK,
    as_plain,
    condensed,
    is_finite,
    kept_value,
    param_value,
)
from torcheer.capture.analysis.replay import UNDEFINED, as_recorded
from torcheer.capture.inputs import map_leaves, tensors_in
from torcheer.capture.op import Op, some_of
from torcheer.capture.tape import (
    ALIAS,
    BUFFER,
    IDENTITY,
    INPUT,
    SOURCE,
    UPDATED,
    Context,
    Record,
    tensor_places,
)
from torcheer.errors import InputError
from torcheer.graph import SourceLine, number_text, shape_text

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

What = Literal["nan", "inf"]
Origin = Literal[
    "op", "input", "buffer", "source", "parameter", "memory", "edit", "loss", "between", "unseen"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The numbers that a tensor holds, from the smallest to the largest finite one."""

    name: str  # a label, a parameter's address, or 'gradient of …'
    shape: tuple[int, ...]
    min: float | None  # of complex numbers the magnitude; None where nothing finite was seen
    max: float | None
    num_nan: int
    num_inf: int
    is_seen: bool  # False where the value was not saved

    def __str__(self) -> str:
        if not self.is_seen:
            return f"{self.name} ({shape_text(self.shape)}): not saved"
        parts = []
        if self.min is not None and self.max is not None:
            parts.append(f"{number_text(self.min)} to {number_text(self.max)}")
        parts += [
            f"{count} {what}" for count, what in ((self.num_nan, "NaN"), (self.num_inf, "Inf")) if count
        ]
        return f"{self.name} ({shape_text(self.shape)}): {', '.join(parts) or 'empty'}"


def range_of(name: str, value: Any, shape: tuple[int, ...] = ()) -> Range:
    plain = as_plain(value)
    if plain is None:
        return Range(name=name, shape=shape, min=None, max=None, num_nan=0, num_inf=0, is_seen=False)
    counts, (part, _) = seen_in(plain), condensed(plain)
    finite = (part.abs() if part.is_complex() else part)[torch.isfinite(part)]
    return Range(
        name=name,
        shape=shape if value.is_nested else tuple(value.shape),
        min=finite.min().item() if finite.numel() else None,
        max=finite.max().item() if finite.numel() else None,
        num_nan=counts.num_nan,
        num_inf=counts.num_inf,
        is_seen=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Where the first NaN or Inf of a pass came from."""

    op: Op = field(repr=False, compare=False)
    phase: Literal["forward", "backward"]
    origin: Origin  # 'op': it was made here; else what it came in with
    name: str  # of the tensor that holds it: a label, a parameter's address, 'gradient of …'
    num_nan: int  # in that tensor
    num_inf: int
    num_values: int
    inputs: tuple[Range, ...]
    num_unseen: int = 0  # ops that could not be looked at, since their values were not saved
    # Some of it, or what came of it, is in what the model returned; of a fault in backward, in the gradient
    # of a parameter or of an input.
    reaches_output: bool = True
    later: tuple[str, ...] = ()  # other layers that made NaN or Inf, forward or backward, or came in with it
    note: str = ""

    @property
    def layer(self) -> str:
        return self.op.layer_label

    @property
    def what(self) -> What:
        return "nan" if self.num_nan else "inf"

    @property
    def module(self) -> str:
        """The module in whose forward the op ran; "" for the model itself."""
        return self.op.containing_module_origin

    @property
    def source_line(self) -> SourceLine | None:
        return self.op.source_line

    @property
    def count(self) -> int:
        """How many elements are NaN, or Inf, whichever the fault is."""
        return self.num_nan or self.num_inf

    def __str__(self) -> str:
        what = "NaN" if self.what == "nan" else "Inf"
        infs = f" and {self.num_inf} Inf" if self.num_nan and self.num_inf else ""
        held = "" if self.name == self.layer else f" ({self.name})"
        came = _CAME.get((self.phase, self.origin), "came in with {layer}{held}")
        came = came.format(layer=self.layer, name=self.name, held=held)
        lines = [f"{what} {came}: {self.count} of {self.num_values} elements{infs}."]
        if self.module:
            lines.append(f"    module  {self.module}")
        if self.source_line is not None:
            lines.append(f"    source  {self.source_line}")
        for number, one in enumerate(self.inputs):
            lines.append(f"    {'inputs' if number == 0 else '      '}  {one}")
        return "\n".join(lines + [f"    note    {note}" for note in self._notes()])

    def _notes(self) -> list[str]:
        notes = [self.note] if self.note else []
        in_forward = self.phase == "forward"
        if not self.reaches_output:
            notes.append(
                "it does not reach an output: later ops leave it out"
                if in_forward
                else "it reaches no gradient of a parameter or of an input: later steps leave it out"
            )
        if self.later:
            how = "made anew, later," if in_forward else "made elsewhere, too,"
            notes.append(f"{how} by {some_of(self.later, 5)}")
        if self.num_unseen:
            notes.append(f"{self.num_unseen} ops could not be looked at: their values were not saved")
        return notes


_CAME = {
    ("backward", "op"): "made by the backward of {layer}, in the {name}",
    ("forward", "op"): "made by {layer}",
    ("backward", "between"): (
        "came in between, in the {name}: those of all ops that read it are finite, so that a hook, the "
        "backward of a custom Function or a loss on this layer made it"
    ),
    ("backward", "loss"): "came in with the loss, in the {name}",
    ("backward", "unseen"): "first seen in the {name}; the gradients after it were not saved",
    ("forward", "parameter"): "came in with the parameter {name}, first used by {layer}",
    ("forward", "edit"): "put in by the edit of {layer}",
    ("forward", "memory"): "came from memory that was never written, read by {layer}",
}


def input_ranges(history: ModelHistory, op: Op) -> tuple[Range, ...]:
    """The ranges of all that an op was given, ops and parameters, in order."""
    tape = history._tape
    ranges = []
    for parent in dict.fromkeys(op._record.parents):
        if parent < 0:
            name, now = tape.params[-parent - 1]
            ranges.append(range_of(name, param_value(history, parent), tuple(now.shape)))
        else:
            value = kept_value(history, parent)
            ranges.append(range_of(history._label(parent), value, tuple(tape.meta(parent).shape)))
    return tuple(ranges)


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
    found = BackwardSearch(history).run() if history.backward_passes else []
    backward = sorted(found, key=lambda fault: not fault.reaches_output)  # first what the step is spoilt by
    if forward is not None and not any(fault.reaches_output for fault in backward):
        return _with_later(forward, (*forward.later, *(fault.layer for fault in backward)))
    if backward:
        first, *others = backward
        in_forward = () if forward is None else (forward.layer, *forward.later)
        if first.layer in in_forward:
            first = replace(first, note="its own output is not finite either, which does not reach an output")
        return _with_later(first, (*(fault.layer for fault in others), *in_forward))
    if search.num_seen == 0 and all(op.grad_contents is None for op in history):
        raise InputError(
            "no value of this pass was saved as it was, so there is nothing to look at: capture with "
            "layers_to_save='all' and without activation_postfunc."
        )
    if not deliberate and _has_infinite_output(history):
        return first_nonfinite(history, deliberate=True)  # what was meant has gone too far
    return search.harmless()


def _has_infinite_output(history: ModelHistory) -> bool:
    """A loss that is not finite, or plus infinity. Scores that come out with their mask are as meant."""
    values = [as_plain(history._saved_value(op)) for op in history._structure.outputs]
    bad = [value for value in values if value is not None and not is_finite(value)]
    return any(value.numel() == 1 or bool((value.real == torch.inf).any()) for value in bad)


def _with_later(fault: Fault, layers: Iterable[str]) -> Fault:
    """With each of the other layers once."""
    return replace(fault, later=tuple(layer for layer in dict.fromkeys(layers) if layer != fault.layer))


# --- forward --------------------------------------------------------------------------------------


_CAME_IN: dict[int, Origin] = {id(INPUT): "input", id(BUFFER): "buffer", id(SOURCE): "source"}
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

    num_nan: int = 0
    num_inf: int = 0
    num_positive_inf: int = 0
    is_unwritten: bool = False  # memory that nobody may have written yet
    is_mask: bool = False  # nothing but zeros and numbers near the least that there is

    @property
    def is_sound(self) -> bool:
        return not self.num_nan and not self.num_inf

    @property
    def has_only_minus_inf(self) -> bool:
        return self.num_inf > 0 and not self.num_nan and not self.num_positive_inf


FINITE = Seen()


class ForwardSearch:
    """One walk through the ops, in the order they ran."""

    def __init__(self, history: ModelHistory, deliberate: bool) -> None:
        self._history = history
        self._deliberate = deliberate
        self._seen: list[Seen] = []
        self._is_of_data: list[bool] = []  # which ops give real numbers made of parameters or of real inputs
        self._params: dict[int, Seen] = {}
        self.num_seen = 0
        self._num_unseen = 0  # before the first fault
        self._unseen: set[int] = set()
        self._made: list[tuple[int, Origin]] = []  # values that are not finite, made of ones that were

    def run(self) -> Fault | None:
        for index, record in enumerate(self._history._tape.records):
            seen, origin = self._look_at(index, record)
            self._seen.append(seen)
            if origin is not None:
                self._made.append((index, origin))
        if not self._made:
            return None
        later = tuple(self._history._label(op) for op, _ in self._made[1:])
        return replace(self._fault(*self._made[0]), later=later)

    def harmless(self) -> Fault | None:
        """A parameter that is not finite, in a place that was not used. Said when all else is well."""
        for op, record in enumerate(self._history._tape.records):
            if any(p < 0 and not self._state_of(p).is_sound for p in record.parents):
                return replace(
                    self._fault(op, "parameter"), note="nothing in the pass became non-finite by it"
                )
        return None

    def _look_at(self, index: int, record: Record) -> tuple[Seen, Origin | None]:
        """What an op gave, and where that came from if it is a fault that began here."""
        value = as_plain(kept_value(self._history, index))
        inputs = [self._state_of(parent) for parent in _read_parents(record)]
        is_of_data = record.trait is INPUT or any(p < 0 or self._is_of_data[p] for p in record.parents)
        is_real = value is None or value.is_floating_point() or value.is_complex()
        self._is_of_data.append(is_of_data and is_real)
        unwritten = _may_be_unwritten(record, inputs)
        if value is None:
            self._unseen.add(index)
            self._num_unseen += not self._made
            # It may hold the minus infinity that it was given.
            fills = not self._deliberate and _was_given_infinity(record)
            return Seen(num_inf=fills or any(i.num_inf for i in inputs), is_unwritten=unwritten), None
        self.num_seen += 1
        if is_finite(value):
            return FINITE._replace(is_unwritten=unwritten, is_mask=_is_mask(value)), None
        seen = seen_in(value)
        seen = seen._replace(is_mask=seen.has_only_minus_inf and _is_mask(value))
        if self._is_deliberate(index, record, value, seen, inputs):
            return seen, None
        if unwritten:
            # Minus infinity that was written there on purpose is as good as written.
            mask = seen.has_only_minus_inf and any(i.num_inf and not i.is_unwritten for i in inputs)
            return seen._replace(is_unwritten=not mask), None
        origin = self._origin(record, seen, inputs)
        return seen, "edit" if origin is not None and self._was_edited_in(index) else origin

    def _was_edited_in(self, index: int) -> bool:
        """True if an op was edited, and did not itself give what is not finite."""
        tape = self._history._tape
        own = as_plain(tape.unedited.get(index))
        return index in tape.edited_at and (own is None or is_finite(own))

    def _is_deliberate(
        self, index: int, record: Record, value: Tensor, seen: Seen, inputs: list[Seen]
    ) -> bool:
        if self._deliberate or seen.num_nan:
            return False
        if seen.num_positive_inf:
            return record.trait.name in _FILL and _was_given_infinity(record)
        if _was_given_infinity(record) or any(i.is_mask for i in inputs):
            return True  # a mask on a mask overflows, and so does a score below it in half precision
        if record.trait is BUFFER:
            name = self._history._tape.addresses.get(index, "").rpartition(".")[2]
            return not name.startswith("running_")  # a statistic has run away
        # `ones.tril().log()` is a mask. The same numbers as the logarithm of what a model says are a fault.
        of_constants = not self._is_of_data[index] and bool((value == 0).any())
        return seen.is_mask and (not inputs or of_constants)

    def _origin(self, record: Record, seen: Seen, inputs: list[Seen]) -> Origin | None:
        """Where a value that is not finite came from; None where it came in with a known input."""
        if id(record.trait) in _CAME_IN:
            return _CAME_IN[id(record.trait)]
        if any(not self._state_of(p).is_sound for p in record.parents if p < 0):
            return "parameter"
        if any(i.is_unwritten and not i.is_sound for i in inputs):
            return "memory"
        makes_nan = seen.num_nan and not any(i.num_nan for i in inputs)
        makes_inf = seen.num_inf and all(i.is_sound for i in inputs)
        # Next to a mask an op may overflow all the same: minus infinity does not become plus by adding.
        overflows = (
            seen.num_positive_inf
            and record.trait.type in _KEEP_THE_SIGN
            and not any(i.num_nan or i.num_positive_inf for i in inputs)
        )
        return "op" if makes_nan or makes_inf or overflows else None

    def _state_of(self, parent: int) -> Seen:
        if parent >= 0:
            return self._seen[parent]
        if parent not in self._params:
            value = as_plain(param_value(self._history, parent))
            seen = FINITE if value is None or is_finite(value) else seen_in(value)
            is_mask = value is not None and seen.has_only_minus_inf and _is_mask(value)
            self._params[parent] = FINITE if is_mask and not self._deliberate else seen
        return self._params[parent]

    def _fault(self, index: int, origin: Origin) -> Fault:
        op = Op(self._history, index)
        ranges = input_ranges(self._history, op)
        name, seen, num_values, note = op.layer_label, self._seen[index], op._meta.shape.numel(), ""
        if origin == "parameter":
            param = next(p for p in op._record.parents if p < 0 and not self._state_of(p).is_sound)
            name, value = self._history._tape.params[-param - 1]
            seen, num_values = self._state_of(param), value.numel()
        elif origin in ("input", "buffer"):
            name = op.input_output_address or op.buffer_address or name
        elif any(not r.is_seen for r in ranges):
            note = "some inputs were not saved: it may have come in with them"
        return Fault(
            op=op,
            phase="forward",
            origin=origin,
            name=name,
            num_nan=seen.num_nan,
            num_inf=seen.num_inf,
            num_values=num_values,
            inputs=ranges,
            num_unseen=self._num_unseen,
            reaches_output=self._reaches_output({index}),
            note=note,
        )

    @property
    def does_harm(self) -> bool:
        """Whether anything that was made reaches an output."""
        return self._reaches_output({op for op, _ in self._made})

    def _reaches_output(self, tainted: set[int]) -> bool:
        """Whether some of it, or what came of it, is in what the model returned."""
        records = self._history._tape.records
        for index in range(min(tainted, default=len(records)), len(records)):
            may_hold = not self._seen[index].is_sound or index in self._unseen
            if may_hold and not tainted.isdisjoint(records[index].parents):
                tainted.add(index)
        return any(op in tainted for op in self._history._structure.outputs)


def seen_in(value: Tensor) -> Seen:
    """Of a plain tensor. An infinite complex number counts as positive."""
    numbers, times = condensed(value)
    num_nan = num_inf = num_positive = 0
    for part in torch.split(numbers, CHUNK):
        inf = torch.isinf(part)
        num_nan += times * int(part.isnan().sum())
        num_inf += times * int(inf.sum())
        num_positive += times * int((inf if part.is_complex() else inf & (part > 0)).sum())
    return Seen(num_nan, num_inf, num_positive)


def _is_mask(value: Tensor) -> bool:
    """A mask that is added to scores holds nothing but zeros and minus infinity, or numbers close to it."""
    if not value.is_floating_point() or not value.numel() or value[(0,) * value.dim()].item() > 0:
        return False
    far = torch.finfo(value.dtype).min / 2
    is_far = (part := condensed(value)[0]) <= far
    return bool(((part == 0) | is_far).all()) and bool(is_far.any())


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
    places = zip(parents, tensor_places(record), strict=False)
    return [parent for parent, place in places if place[0] != "out"]


def _may_be_unwritten(record: Record, inputs: list[Seen]) -> bool:
    trait = record.trait
    if trait.name in UNDEFINED or trait.name == "new":
        return True
    writes_some = record.context is not None and record.context.num_targets > 0
    passes_on = writes_some or trait.type in _PASS_ON or trait in (ALIAS, IDENTITY, UPDATED)
    return passes_on and any(i.is_unwritten for i in inputs)


class Suspect(NamedTuple):
    """An op, and the gradient that is not finite: of one of its inputs where the op made it, else its own."""

    op: Op
    target: int  # negative: a parameter
    origin: Origin


class BackwardSearch:
    """One walk through the ops, from the last to the first."""

    def __init__(self, history: ModelHistory) -> None:
        self._history = history
        self._ops = [Op(history, index) for index in range(len(history._tape.records))]
        self._grads: dict[int, Tensor] = {}  # plain, by op; negative: of a parameter
        self._finite: dict[int, bool] = {}
        self._readers: defaultdict[int, list[int]] = defaultdict(list)
        for op in self._ops:
            for parent in dict.fromkeys(op._record.parents):
                self._readers[parent].append(op.index)
        found: list[tuple[int, Any]] = [(op.index, op.grad_contents) for op in self._ops]
        by_address = history.param_grads
        found += [(-i, by_address.get(address)) for i, (address, _) in enumerate(history._tape.params, 1)]
        for index, grad in found:
            plain = as_plain(grad)
            if plain is not None:
                self._grads[index] = plain
                self._finite[index] = is_finite(plain)

    def run(self) -> list[Fault]:
        """All that made a gradient which is not finite, in the order in which they were made."""
        if all(self._finite.values()):
            return []
        sure: list[Suspect] = []
        unsure: dict[int, Suspect] = {}  # by target, the first of each
        for op in reversed(self._ops):
            if not self._finite.get(op.index, True):
                origin = self._origin_without_children(op.index)
                sure += [] if origin is None else [Suspect(op, op.index, origin)]
                continue
            faulty = [p for p in dict.fromkeys(op._record.parents) if not self._finite.get(p, True)]
            for target in faulty:
                made = self._makes_it(op, target)
                is_alone = op.index in self._grads and len(self._readers[target]) == 1
                if made or (made is None and is_alone):
                    sure.append(Suspect(op, target, "op"))
                elif made is None:
                    unsure.setdefault(target, Suspect(op, target, "op"))
        explained = {suspect.target for suspect in sure}
        # Gradients that are not finite though those of all readers are, from the end of the pass.
        bad = sorted((index for index, finite in self._finite.items() if not finite), reverse=True)
        begun = [one for one in bad if all(self._finite.get(r, True) for r in self._readers[one])]
        rest = [target for target in begun if target not in explained]
        doubtful = [unsure[target] for target in rest if target in unsure]
        return [self._fault(one) for one in sure + doubtful + self._unexplained(set(rest) - unsure.keys())]

    def _origin_without_children(self, index: int) -> Origin | None:
        """Where a gradient came from that no op in sight can have given; None where one can."""
        children = self._history._structure.children[index]
        if any(child in self._grads for child in children):
            return None
        return "unseen" if any(self._ops[child].requires_grad for child in children) else "loss"

    def _makes_it(self, op: Op, target: int) -> bool | None:
        """Run the backward of one op again; None where that cannot be done."""
        given = self._grads.get(op.index)
        if given is None:
            return None
        try:
            made = _gradient_again(self._history, op, target, given)
        except Exception:  # whatever a function that is called by itself may raise: it was only a question
            return None
        return None if made is None else not is_finite(made)

    def _unexplained(self, targets: set[int]) -> list[Suspect]:
        """No op made them: they were added from outside, by a loss on an inner layer or by a hook."""
        found = []
        for target in sorted(targets, reverse=True):
            if target >= 0:
                has_readers = any(reader in self._grads for reader in self._readers[target])
                found.append(Suspect(self._ops[target], target, "between" if has_readers else "loss"))
            elif self._readers[target]:
                found.append(Suspect(self._ops[self._readers[target][-1]], target, "op"))
        return found

    def _reaches_a_leaf(self, start: int) -> bool:
        """Whether some of it, or what came of it, is in the gradient of a parameter or of an input."""
        tainted = {start}
        for index in range(start, -1, -1):
            record = self._ops[index]._record
            if index not in tainted:
                continue
            if not record.parents:
                return True
            # Not finite, or not kept. Of parameters every gradient is kept.
            tainted.update(
                parent
                for parent in record.parents
                if not self._finite.get(parent, parent < 0 or not self._ops[parent].requires_grad)
            )
        return any(index < 0 for index in tainted)

    def _fault(self, suspect: Suspect) -> Fault:
        op, target, origin = suspect
        history, grad = self._history, self._grads[target]
        seen = seen_in(grad)
        holder = history._tape.params[-target - 1][0] if target < 0 else history._label(target)
        inputs: tuple[Range, ...] = ()
        if origin == "op":
            given = range_of(f"gradient of {op.layer_label}", self._grads.get(op.index), op.tensor_shape)
            inputs = (given, *input_ranges(history, op))
        return Fault(
            op=op,
            phase="backward",
            origin=origin,
            name=f"gradient of {holder}",
            num_nan=seen.num_nan,
            num_inf=seen.num_inf,
            num_values=grad.numel(),
            inputs=inputs,
            reaches_output=self._reaches_a_leaf(target),
        )


def _gradient_again(history: ModelHistory, op: Op, target: int, given: Tensor) -> Tensor | None:
    """The gradient that one op alone hands to one of its inputs."""
    leaves: dict[int, Tensor] = {}
    record = op._record
    for parent in record.parents:
        value = param_value(history, parent) if parent < 0 else kept_value(history, parent)
        if value is None:
            return None
        leaves[parent] = value.detach().clone().requires_grad_(parent == target)
    # A copy each: an op that writes in place must not write into a leaf.
    copies = {parent: leaf.clone() for parent, leaf in leaves.items()}
    tensors = [copies[parent] for parent in record.parents]
    args, kwargs = op._call_with(tensors)
    with torch.enable_grad(), as_recorded(record.context or Context()) as more:
        out = record.trait.func(*args, **kwargs | more)
        outputs = [tensor for _, tensor in tensors_in(out)] or tensors[:1]
        (made,) = torch.autograd.grad(
            outputs[record.position], [leaves[target]], given.to(outputs[record.position].dtype)
        )
    return made

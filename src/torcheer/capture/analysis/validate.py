"""Check a pass against torch itself: a plain forward, each op replayed, each parent disturbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from torcheer.capture.analysis.plain_values import as_plain
from torcheer.capture.analysis.replay import SlotValues, Values, is_same_call, replay, why_not_replayable
from torcheer.capture.forward_pass import as_before_the_pass
from torcheer.capture.inputs import tensors_in
from torcheer.capture.model_state import computing_alike, same_model_after, same_random_state_after
from torcheer.capture.tape import NOT_CALLS, OUTPUT, OWN_TRAITS, UPDATED, Record
from torcheer.errors import InputError

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One op, and what was found of it."""

    layer: str
    why: str

    def __str__(self) -> str:
        return f"{self.layer}: {self.why}"


@dataclass(slots=True, kw_only=True)
class ValidationReport:
    """What was checked. True when nothing failed."""

    num_ops: int = 0
    num_replayed: int = 0
    num_disturbed: int = 0
    num_inexact: int = 0  # replayed alike to rounding, not bitwise
    failures: list[Finding] = field(default_factory=list)
    exemptions: list[Finding] = field(default_factory=list)  # not checked, or unmoved, and why that is right
    forward_checked: bool = False  # a plain forward was run
    num_outputs: int = 0  # tensors that it gave, to compare

    def __bool__(self) -> bool:
        return not self.failures

    def fail(self, layer: str, why: str) -> None:
        self.failures.append(Finding(layer=layer, why=why))

    def exempt(self, layer: str, why: str) -> None:
        self.exemptions.append(Finding(layer=layer, why=why))

    def __str__(self) -> str:
        verdict = "valid" if self else f"{len(self.failures)} failures"
        forward = "no plain forward was run"
        if self.forward_checked:
            equal, none = "the output equals a plain forward", "the output has no tensors to compare"
            forward = equal if self.num_outputs else none
        lines = [
            f"{verdict}: {self.num_replayed} of {self.num_ops} ops replayed, "
            f"{self.num_disturbed} parents disturbed; {forward if self else 'see below'}."
        ]
        lines += [f"\tFAILED {finding}" for finding in self.failures]
        lines += [f"\texempt {finding}" for finding in self.exemptions]
        return "\n".join(lines)


class IdleMode(TorchFunctionMode):
    """Does nothing. Some modules take another path while any mode is on: a fair comparison has one too."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def validate_history(history: ModelHistory) -> ValidationReport:
    if history._tape.was_loaded:
        raise InputError(
            f"this history was loaded from {history._tape.file.path}, which has no functions and no "  # type: ignore[attr-defined]
            "parameters: its ops cannot be run again. Validate a history before it is saved."
        )
    if history._facts.has_treated_values:
        raise InputError(
            "this pass kept changed values (activation_postfunc or output_device), which cannot be replayed: "
            "capture again without them to validate."
        )
    if history.is_shape_only:
        raise InputError(
            "this pass is shape-only: it ran on meta or fake tensors, and has no values to check."
        )
    saved, total = history.num_tensors_saved, history.num_tensors_total
    calls = [op for op, record in enumerate(history._tape.records) if id(record.trait) not in NOT_CALLS]
    if not saved or (saved < total and all(_missing_values(history, op, op + 1) for op in calls)):
        raise InputError(
            f"there is nothing to check: {saved} of {total} values were saved, and no op together with its "
            "inputs. Capture with layers_to_save='all'."
        )
    report = ValidationReport(num_ops=len(calls))
    for (address, param), version in zip(history._tape.params, history._tape.param_versions, strict=True):
        if version is not None and param._version != version:
            why = "it has changed since the pass (a training step?): what used it cannot be replayed"
            report.fail(f"parameter {address}", why)
    _check_forward(history, report)
    with same_random_state_after(), computing_alike(history._tape.modes):
        _check_ops(history, report)
    return report


def _check_forward(history: ModelHistory, report: ValidationReport) -> None:
    model = None if history._model is None else history._model()
    facts = history._facts
    why = ""
    if model is None:
        why = "the model is gone"
    elif history._tape.edits:
        why = "the pass was edited: the model itself gives something else"
    elif facts.stopped_at is not None or facts.error:
        why = "the pass did not run to its end"
    elif history._tape.start is None:
        why = "the input was not kept, since not every layer was saved"
    if why or model is None:
        report.exempt("plain forward", f"not run: {why}")
        return
    saved = [history._saved_value(op) for op in history._structure.outputs]
    with as_before_the_pass(history, model) as call, IdleMode():
        result = model(*call.args, **call.kwargs)
    plain = [tensor for _, tensor in tensors_in(result, into_objects=True)]
    report.forward_checked, report.num_outputs = True, len(plain)
    if len(plain) != len(saved):
        report.fail("plain forward", f"a plain forward gives {len(plain)} tensors, the pass {len(saved)}")
        return
    for op, ours, theirs in zip(history._structure.outputs, saved, plain, strict=True):
        if isinstance(ours, Tensor) and not alike(ours, theirs.detach(), exact=True):
            report.fail(history._label(op), "a plain forward gives another value")


def _check_ops(history: ModelHistory, report: ValidationReport) -> None:
    records = history._tape.records
    dtype = torch.get_default_dtype()
    op = 0
    while op < len(records):
        end = op + 1
        while end < len(records) and is_same_call(records[end - 1], records[end]):
            end += 1
        try:
            _check_call(history, report, op, end)
        finally:
            torch.set_default_dtype(dtype)
        op = end


def _check_call(history: ModelHistory, report: ValidationReport, op: int, end: int) -> None:
    record, label = history._tape.records[op], history._label(op)
    if record.trait is OUTPUT or (id(record.trait) in NOT_CALLS and record.context is None):
        return
    why = why_not_replayable(history._tape, record) or _missing_values(history, op, end)
    if why:
        report.exempt(label, why)
        return
    try:
        now = _replay_as_recorded(history, op)
    except Exception as error:
        report.fail(label, f"replaying it raised {type(error).__name__}: {error}")
        return
    report.num_replayed += end - op
    matches = [_check_output(history, report, one, now) for one in range(op, end)]
    if not all(matches):
        return
    report.num_disturbed += len(set(record.parents))
    for parent, reason in unmoved_parents(record, partial(history._value_of, reader=op), now):
        name = history._tape.params[-parent - 1][0] if parent < 0 else history._label(parent)
        note = report.exempt if reason else report.fail
        note(label, f"disturbing {name} does not change it: {reason or 'no reason known'}")


def _replay_as_recorded(history: ModelHistory, op: int) -> list[Tensor]:
    """The outputs. Where forward had set another default type for a while, it is set again and stays set."""
    record, values = history._tape.records[op], partial(history._value_of, reader=op)
    now = replay(record, values)
    saved = history._tape.unedited.get(op, history._tape.values[op])
    position = 0 if record.trait in OWN_TRAITS else record.position
    if saved is None or position >= len(now) or saved.dtype not in _DEFAULT_TYPES:
        return now
    if now[position].dtype == torch.get_default_dtype() != saved.dtype:
        torch.set_default_dtype(saved.dtype)
        now = replay(record, values)
    return now


_DEFAULT_TYPES = frozenset(
    (torch.float16, torch.bfloat16, torch.float32, torch.float64)
)  # torch takes no other


def _missing_values(history: ModelHistory, op: int, end: int) -> str:
    tape = history._tape
    record = tape.records[op]
    if any(tape.values[one] is None for one in range(op, end)):
        return "its output was not saved"
    if not all(tape.has_value(one) for one in range(op, end)):
        return "it ran on fake tensors, which have no values"
    if any(op in tape.edited_at and op not in tape.unedited for op in range(op, end)):
        return "its output was edited, and what it gave itself was not kept"
    if any(history._value_of(parent, op) is None for parent in record.parents):
        return "not all of its parents were saved"
    if record.trait.name.startswith("as_strided") and record.parents[0] in history._tape.private:
        return "it reads the memory of its argument, of which only the elements were copied"
    return ""


def _check_output(history: ModelHistory, report: ValidationReport, op: int, now: list[Tensor]) -> bool:
    record, tape = history._tape.records[op], history._tape
    saved = tape.unedited.get(op, tape.values[op])  # an edit is no part of the op
    position = 0 if record.trait in OWN_TRAITS else record.position
    assert saved is not None
    if position >= len(now):
        report.fail(history._label(op), "replaying it gave fewer outputs")
        return False
    if alike(now[position], saved, exact=True):
        return True
    if alike(now[position], saved, exact=False):
        report.num_inexact += 1
        return True
    if record.context is not None and record.context.reads_what_it_writes:
        why = "another argument shares memory that it writes: the order of writing counts, and is torch's own"
        report.exempt(history._label(op), why)
    else:
        report.fail(history._label(op), _difference(now[position], saved))
    return False


def _difference(now: Tensor, saved: Tensor) -> str:
    if not now.is_nested and (now.shape != saved.shape or now.dtype != saved.dtype):
        return (
            f"replayed from its saved parents it gives {tuple(now.shape)} {now.dtype}, "
            f"saved is {tuple(saved.shape)} {saved.dtype}"
        )
    worst = ""
    if now.is_floating_point() and now.layout == torch.strided:
        worst = f" (largest difference {float((now - saved.detach()).abs().max()):.3g})"
    return f"replayed from its saved parents it gives another value than was saved{worst}"


def validate_saved_activations(
    model: nn.Module,
    input_args: Any,
    input_kwargs: Mapping[str, Any] | None = None,
    *,
    random_seed: int | None = None,
) -> ValidationReport:
    """Capture a pass and check it, as `ModelHistory.validate` does.

    The model and the random generators are left as they were.
    """
    from torcheer.capture.forward_pass import log_forward_pass

    with same_model_after(model), same_random_state_after():
        history = log_forward_pass(
            model, input_args, input_kwargs, layers_to_save="all", random_seed=random_seed
        )
        return history.validate()


_SHAPE_ONLY = frozenset(
    (
        "zeros_like ones_like full_like empty_like rand_like randn_like randint_like new_zeros new_ones "
        "new_full new_empty new_tensor expand_as view_as reshape_as type_as broadcast_tensors "
        "broadcast_to is_same_size resize_as_ to type new_empty_strided meshgrid"
    ).split()
)


def unmoved_parents(record: Record, values: Values, outputs: list[Tensor]) -> list[tuple[int, str]]:
    """Parents whose disturbance leaves every output as it was, each with the reason, if one is known."""
    unmoved: list[tuple[int, str]] = []
    for parent in dict.fromkeys(record.parents):
        value = values(parent)
        if value is None or value.is_meta:
            continue
        slots = [slot for slot, one in enumerate(record.parents) if one == parent]
        others = (dict.fromkeys(slots, other) for other in disturbances(value))
        if not any(_gives_other(record, values, outputs, instead) for instead in others):
            still = _Still(record, values, outputs, parent, value)
            unmoved.append((parent, next((reason for holds, reason in _REASONS if holds(still)), "")))
    return unmoved


def _gives_other(record: Record, values: Values, outputs: list[Tensor], instead: SlotValues) -> bool:
    try:
        now = replay(record, values, instead)
        return len(now) != len(outputs) or any(
            not alike(a, b, exact=True) for a, b in zip(now, outputs, strict=True)
        )
    except Exception:
        return True  # it looked at the value, and did not like it


class _Still(NamedTuple):
    """A call whose output did not move when one of its parents was disturbed."""

    record: Record
    values: Values
    outputs: list[Tensor]
    parent: int
    value: Tensor

    @property
    def num_targets(self) -> int:
        return 0 if self.record.context is None else self.record.context.num_targets


def _is_written_over(still: _Still) -> bool:
    is_first, has_out = still.parent in still.record.parents[:1], "out" in (still.record.kwargs or {})
    overwrites = is_first and still.record.trait.name not in _ARITHMETIC
    return still.record.trait is UPDATED or bool(still.num_targets and (overwrites or has_out))


_ARITHMETIC = frozenset("add_ sub_ mul_ div_ pow_ addcmul_ addcdiv_ lerp_ floor_divide_ remainder_".split())


def _writes_nothing(still: _Still) -> bool:
    target = still.values(still.record.parents[0])
    return bool(still.num_targets) and target is not None and alike(still.outputs[-1], target, exact=True)


def _has_one_key(still: _Still) -> bool:
    key = still.values(still.record.parents[1]) if len(still.record.parents) > 1 else None
    is_attention = still.record.trait.name == "scaled_dot_product_attention"
    return is_attention and key is not None and key.dim() > 1 and key.shape[-2] == 1


# The first that holds is the reason; the costly one comes late.
_REASONS: tuple[tuple[Callable[[_Still], bool], str], ...] = (
    (lambda s: not s.value.numel() or not any(out.numel() for out in s.outputs), "there is nothing in it"),
    (lambda s: s.record.trait.name in _SHAPE_ONLY, "only its shape, type or device is used"),
    (_is_written_over, "its old value is written over"),
    (_writes_nothing, "nothing is written"),
    (_has_one_key, "attention over a single key is that key's value"),
    (  # given beside query, key and value: only mask_mod counts uncompiled
        lambda s: s.record.trait.name == "flex_attention" and s.parent not in s.record.parents[:3],
        "the blocks of a mask only say what a compiled kernel may leave out",
    ),
    (lambda s: _hidden_by_others(s), "the values of its other arguments hide it"),
    (
        lambda s: bool(s.record.trait.side_writes),
        "it is a running statistic, which training updates but does not read",
    ),
    (lambda s: all(map(_is_constant, s.outputs)), "its output is one constant"),
    (lambda s: bool(s.num_targets), "its old value drowns in what is written"),
)


def _hidden_by_others(still: _Still) -> bool:
    """Whether the parent does move the output once every other argument has some other value."""
    record, values, _, parent, value = still
    slots = [slot for slot, one in enumerate(record.parents) if one == parent]
    others = [slot for slot, one in enumerate(record.parents) if one != parent]
    for turn in range(5):
        instead = {slot: _turned(values(record.parents[slot]), turn + slot) for slot in others}
        try:
            before = replay(record, values, instead)
        except Exception:
            continue
        for other in disturbances(value):
            if _gives_other(record, values, before, {**instead, **dict.fromkeys(slots, other)}):
                return True
    return False


def _turned(value: Tensor | None, turn: int) -> Tensor:
    assert value is not None
    choices = list(disturbances(value))
    return choices[turn % len(choices)] if choices else value


def _is_constant(tensor: Tensor) -> bool:
    plain = as_plain(tensor)
    return plain is None or not plain.numel() or bool((plain == plain.flatten()[0]).all())


def disturbances(value: Tensor) -> Iterator[Tensor]:
    """Other values of the same shape and type, from mild to harsh."""
    real = value.detach()
    if real.layout != torch.strided or real.is_quantized or real.is_nested:
        yield from _odd_disturbances(real)
        return
    wide = as_plain(real)
    if wide is not None and wide.dtype != real.dtype:  # torch hardly computes with such a type
        yield from (other.to(real.dtype) for other in disturbances(wide))
        return
    generator = torch.Generator().manual_seed(12345)
    if real.dtype == torch.bool:
        yield ~real
        yield torch.rand(real.shape, generator=generator).to(real.device) < 0.5
        yield torch.zeros_like(real)
        yield torch.ones_like(real)
    elif real.is_floating_point() or real.is_complex():
        noise = torch.randn(real.shape, generator=generator).to(real)
        finite = torch.nan_to_num(real, 0.0, 1.0, -1.0)
        yield finite + noise * (finite.abs().mean() + 1)
        yield noise
        yield -finite * 3 + 1
        yield noise * 1000
        yield torch.zeros_like(real)
    else:
        low, high = (int(real.min()), int(real.max())) if real.numel() else (0, 0)
        yield real.flip(0) if real.dim() else real * 0
        yield torch.randint(low, high + 1, real.shape, generator=generator).to(real)
        yield torch.full_like(real, low)
        yield real + 1
        yield torch.zeros_like(real)
        yield -1 - real
        yield real + 1000


def _odd_disturbances(value: Tensor) -> Iterator[Tensor]:
    for factor in (3, 0):
        try:
            if value.is_quantized:
                numbers = (value.dequantize().flip(0) * factor).clamp(-1, 1)
                yield torch.quantize_per_tensor(numbers, value.q_scale(), value.q_zero_point(), value.dtype)
            else:
                yield value * factor
        except Exception:
            return


def alike(a: Tensor, b: Tensor, *, exact: bool) -> bool:
    """Whether two tensors hold the same numbers; NaN is like NaN."""
    if a.dtype != b.dtype or a.is_nested != b.is_nested or (not a.is_nested and a.shape != b.shape):
        return False
    plain_a, plain_b = as_plain(a), as_plain(b)
    if plain_a is None or plain_b is None:
        return a.is_meta
    a, b = plain_a, plain_b
    if a.shape != b.shape:
        return False
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
    if not a.is_floating_point():
        return a.equal(b)
    loose = a.element_size() <= 2
    size = float(b.nan_to_num(0, 0, 0).abs().max()) if b.numel() and not exact else 0.0
    rtol, atol = (0.0, 0.0) if exact else (1e-2 if loose else 1e-4, size * (1e-2 if loose else 1e-5))
    return torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)

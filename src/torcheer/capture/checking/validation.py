"""Check a pass against torch itself: a plain forward, each op replayed, each parent disturbed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from torcheer.capture.checking.disturbing import alike, unmoved_parents
from torcheer.capture.checking.replay import replay, why_not_replayable
from torcheer.capture.inputs import Call
from torcheer.capture.model_state import same_model_after
from torcheer.capture.pytree import tensors_in
from torcheer.capture.session import as_before_the_pass
from torcheer.capture.tape import NOT_CALLS, OUTPUT, OWN_TRAITS
from torcheer.capture.torch_state import computing_alike, default_dtype, same_random_state_after
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
    forward_checked: bool = False

    def __bool__(self) -> bool:
        return not self.failures

    def __str__(self) -> str:
        verdict = "valid" if self else f"{len(self.failures)} failures"
        forward = "the output equals a plain forward" if self.forward_checked else "no plain forward was run"
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
    if history._facts.has_treated_values:
        raise InputError(
            "this pass kept changed values (activation_postfunc or output_device), which cannot be replayed: "
            "capture again without them to validate."
        )
    if history.is_shape_only:
        raise InputError(
            "this pass is shape-only: it ran on meta or fake tensors, and has no values to check."
        )
    report = ValidationReport(num_ops=sum(id(r.trait) not in NOT_CALLS for r in history._tape.records))
    saved, total = history.num_tensors_saved, history.num_tensors_total
    if not saved or (saved < total and not any(_can_be_checked(history, op) for op in range(total))):
        raise InputError(
            f"there is nothing to check: {saved} of {total} values were saved, and no op together with its "
            "inputs. Capture with layers_to_save='all'."
        )
    _check_parameters(history, report)
    _check_forward(history, report)
    with same_random_state_after(), computing_alike(history._facts.modes):
        _check_ops(history, report)
    return report


def _can_be_checked(history: ModelHistory, op: int) -> bool:
    return id(history._tape.records[op].trait) not in NOT_CALLS and not _missing_values(history, op, op + 1)


def _check_parameters(history: ModelHistory, report: ValidationReport) -> None:
    for (address, param), version in zip(history._tape.params, history._tape.param_versions, strict=True):
        if version is not None and param._version != version:
            why = "it has changed since the pass (a training step?): what used it cannot be replayed"
            report.failures.append(Finding(layer=f"parameter {address}", why=why))


# --- a plain forward ---------------------------------------------------------------------


def _check_forward(history: ModelHistory, report: ValidationReport) -> None:
    model = None if history._model is None else history._model()
    facts = history._facts
    why = ""
    if model is None:
        why = "the model is gone"
    elif facts.edits:
        why = "the pass was edited: the model itself gives something else"
    elif facts.stopped_at is not None or facts.error:
        why = "the pass did not run to its end"
    elif facts.start is None:
        why = "the input was not kept, since not every layer was saved"
    if why or model is None:
        report.exemptions.append(Finding(layer="plain forward", why=f"not run: {why}"))
        return
    saved = [history._saved_value(op) for op in history._structure.outputs]
    with as_before_the_pass(history, model) as call:
        result = plain_forward(model, call)
    plain = [tensor for _, tensor in tensors_in(result, into_objects=True)]
    report.forward_checked = True
    if len(plain) != len(saved):
        why = f"a plain forward gives {len(plain)} tensors, the pass {len(saved)}"
        report.failures.append(Finding(layer="plain forward", why=why))
        return
    for op, ours, theirs in zip(history._structure.outputs, saved, plain, strict=True):
        if isinstance(ours, Tensor) and not alike(ours, theirs.detach(), exact=True):
            report.failures.append(
                Finding(layer=history._label(op), why="a plain forward gives another value")
            )


def plain_forward(model: nn.Module, call: Call) -> Any:
    """The model's own forward, with a mode that does nothing, so that it takes the same path."""
    with IdleMode():
        return model(*call.args, **call.kwargs)


# --- each op --------------------------------------------------------------------------------


def _check_ops(history: ModelHistory, report: ValidationReport) -> None:
    records = history._tape.records
    op = 0
    while op < len(records):
        end = op + 1
        while end < len(records) and _same_call(records[op], records[end], end - op):
            end += 1
        _check_call(history, report, op, end)
        op = end


def _same_call(first: Any, other: Any, distance: int) -> bool:
    return (
        first.trait not in OWN_TRAITS
        and other.position == first.position + distance
        and other.args is first.args
        and other.trait is first.trait
        and other.site is first.site
        and other.seconds == first.seconds
    )


def _check_call(history: ModelHistory, report: ValidationReport, op: int, end: int) -> None:
    record, label = history._tape.records[op], history._label(op)
    if record.trait is OUTPUT or (id(record.trait) in NOT_CALLS and record.context is None):
        return
    why = why_not_replayable(history._tape, record) or _missing_values(history, op, end)
    if why:
        report.exemptions.append(Finding(layer=label, why=why))
        return
    try:
        now = replay(record, partial(history._value_of, reader=op))
    except Exception as error:
        report.failures.append(
            Finding(layer=label, why=f"replaying it raised {type(error).__name__}: {error}")
        )
        return
    dtype = _type_of_the_moment(history, op, now)
    if dtype is None:
        _check_made(history, report, op, end, now)
        return
    with default_dtype(dtype):
        _check_made(history, report, op, end, replay(record, partial(history._value_of, reader=op)))


def _type_of_the_moment(history: ModelHistory, op: int, now: list[Tensor]) -> torch.dtype | None:
    """The default type that forward had set for a while, where an op takes another one now."""
    record, saved = history._tape.records[op], history._tape.unedited.get(op, history._tape.values[op])
    position = 0 if record.trait in OWN_TRAITS else record.position
    if saved is None or position >= len(now) or not saved.is_floating_point():
        return None
    return saved.dtype if now[position].dtype == torch.get_default_dtype() != saved.dtype else None


def _check_made(
    history: ModelHistory, report: ValidationReport, op: int, end: int, now: list[Tensor]
) -> None:
    report.num_replayed += end - op
    matches = True
    for one in range(op, end):
        matches &= _check_output(history, report, one, now)
    if matches:
        _check_parents(history, report, op, now)


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
        report.failures.append(Finding(layer=history._label(op), why="replaying it gave fewer outputs"))
        return False
    if alike(now[position], saved, exact=True):
        return True
    if alike(now[position], saved, exact=False):
        report.num_inexact += 1
        return True
    if record.context is not None and record.context.reads_what_it_writes:
        why = "another argument shares memory that it writes: the order of writing counts, and is torch's own"
        report.exemptions.append(Finding(layer=history._label(op), why=why))
    else:
        report.failures.append(Finding(layer=history._label(op), why=_difference(now[position], saved)))
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


def _check_parents(history: ModelHistory, report: ValidationReport, op: int, now: list[Tensor]) -> None:
    record = history._tape.records[op]
    report.num_disturbed += len(set(record.parents))
    for parent, reason in unmoved_parents(record, partial(history._value_of, reader=op), now):
        name = history._tape.params[-parent - 1][0] if parent < 0 else history._label(parent)
        finding = Finding(
            layer=history._label(op),
            why=f"disturbing {name} does not change it: {reason or 'no reason known'}",
        )
        (report.exemptions if reason else report.failures).append(finding)


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
    from torcheer.capture.api import log_forward_pass

    with same_model_after(model), same_random_state_after():
        history = log_forward_pass(
            model, input_args, input_kwargs, layers_to_save="all", random_seed=random_seed
        )
        return history.validate()

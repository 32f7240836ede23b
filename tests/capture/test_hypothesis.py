"""Laws that hold for every pass, tried on random programs with views and in-place ops."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from torch import Tensor

import torcheer as tl
from tests.capture.programs import FILE, FIRST_LINE, Loop, Program, loops, programs
from tests.many import examples

# Some of what is drawn torch finds odd, and says so.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

_NO_CALL = ("updated", "alias")  # torcheer's own words for memory that changed under a tensor

tried = settings(
    max_examples=examples(100),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def capture(program: Program, layers_to_save: object = "all") -> tl.ModelHistory:
    return tl.log_forward_pass(
        program.make_model(), list(program.make_inputs()), layers_to_save=layers_to_save
    )


def calls_by_line(history: tl.ModelHistory) -> dict[int, list[tl.Op]]:
    calls: dict[int, list[tl.Op]] = {}
    for op in history:
        line = next((one.line for one in op.func_call_stack if one.file == FILE), None)
        if line is not None and op.layer_type not in _NO_CALL:
            calls.setdefault(line - FIRST_LINE, []).append(op)
    return calls


def same(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


@tried
@given(programs())
def test_the_result_is_that_of_a_plain_forward(program: Program) -> None:
    plain = program.make_model()(*program.make_inputs())

    history = capture(program)

    outputs = [history[label].tensor_contents for label in history.output_layers]
    assert len(outputs) == len(plain)
    assert all(same(ours, theirs) for ours, theirs in zip(outputs, plain, strict=True))


@tried
@given(programs())
def test_saved_values_are_those_of_their_moment(program: Program) -> None:
    expected = program.run_with_clones()

    calls = calls_by_line(capture(program))

    for number, values in enumerate(expected):
        ops = calls.get(number, [])[-len(values) :] if values else []
        assert len(ops) == len(values), program.steps[number].line
        for op, value in zip(ops, values, strict=True):
            assert same(op.tensor_contents, value), f"{op.layer_label} of `{program.steps[number].line}`"


@tried
@given(programs())
def test_inputs_are_saved_as_they_came(program: Program) -> None:
    history = capture(program)

    for label, value in zip(history.input_layers, program.make_inputs(), strict=True):
        assert same(history[label].tensor_contents, value)


@tried
@given(programs())
def test_every_op_can_be_replayed(program: Program) -> None:
    model = program.make_model()  # validation runs it once more, so it must live
    report = tl.log_forward_pass(model, list(program.make_inputs())).validate()

    note(str(report))
    assert report
    assert report.forward_checked


@tried
@given(programs())
def test_straight_code_is_no_loop(program: Program) -> None:
    history = capture(program)

    note("\n".join(f"{op.layer_label} <- {op.parent_layers}" for op in history))
    assert all(op.layer_passes_total == 1 for op in history)
    assert not history.model_is_recurrent


@tried
@given(programs(), st.integers(0, 10**6))
def test_one_layer_saved_alone_is_the_same(program: Program, which: int) -> None:
    everything = capture(program)
    wanted = everything[which % len(everything)]

    alone = capture(program, layers_to_save=[wanted.layer_label])

    assert alone.layer_labels == everything.layer_labels
    assert [op.layer_label for op in alone if op.has_saved_activations] == [wanted.layer_label]
    assert same(alone[wanted.layer_label].tensor_contents, wanted.tensor_contents)


@tried
@given(loops())
def test_each_line_of_a_loop_is_one_layer(loop: Loop) -> None:
    history = tl.log_forward_pass(loop.make_model(), torch.rand(3))

    note("\n".join(f"{op.layer_label} <- {op.parent_layers}" for op in history))
    calls = calls_by_line(history)
    assert {line: len(ops) for line, ops in calls.items()} == loop.runs_by_line
    assert all(len({op.layer_label_no_pass for op in ops}) == 1 for ops in calls.values())


@tried
@given(loops())
def test_labels_of_a_loop_do_not_depend_on_what_is_saved(loop: Loop) -> None:
    full = tl.log_forward_pass(loop.make_model(), torch.rand(3))
    last = full.layer_labels[-2]

    alone = tl.log_forward_pass(loop.make_model(), torch.rand(3), layers_to_save=[last])

    assert alone.layer_labels == full.layer_labels
    assert [op.layer_label for op in alone if op.has_saved_activations] == [last]

"""Each small model: its result unchanged, valid by replay, and drawn as a person would draw it."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn
from torch.nn.modules import module as torch_module

from tests.capture.models import MODELS, SmallModel, each_model, some_models
from tests.capture.models.inplace import UNDEFINED
from tests.capture.outcomes import Outcome, capture, name_of, run, same

pytestmark = [
    # torch's own: on nested and sparse tensors, and on compiling while hooks are there.
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:.*jit.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def test_there_are_enough_of_them_and_each_says_what_it_is() -> None:
    names = [small.name for small in MODELS]

    assert len(names) == len(set(names)) >= 60
    assert all(small.make.__doc__ for small in MODELS)


@each_model
def test_a_captured_forward_is_a_plain_forward(small: SmallModel) -> None:
    with small.around():
        plain, ours = run(small, captured=False), run(small, captured=True)

    assert len(ours.outputs) == len(plain.outputs)
    assert all(same(a, b) for a, b in zip(ours.outputs, plain.outputs, strict=True))
    assert ours.random_state == plain.random_state
    assert all(same(a, b) for a, b in zip(ours.inputs, plain.inputs, strict=True))
    assert_same_model(ours.model, plain.model)
    assert_nothing_on_tensors(ours, plain)
    assert not torch_module._global_forward_hooks
    assert not torch_module._global_forward_pre_hooks
    assert not torch.overrides._get_current_function_mode_stack()  # outside `around`
    assert threading.getprofile() is None
    with small.around():
        assert_same_gradients(ours, plain)


def assert_same_model(ours: nn.Module, plain: nn.Module) -> None:
    for (name, a), (_, b) in zip(ours.named_buffers(), plain.named_buffers(), strict=True):
        assert same(a, b), name
    for (name, a), (_, b) in zip(ours.named_parameters(), plain.named_parameters(), strict=True):
        assert same(a, b), name
        assert a.requires_grad == b.requires_grad, name
        assert a.grad is None, name
    for (name, a), (_, b) in zip(ours.named_modules(), plain.named_modules(), strict=True):
        assert a.training == b.training, name
        assert len(a._forward_hooks) == len(b._forward_hooks), name
        assert len(a._forward_pre_hooks) == len(b._forward_pre_hooks), name
        assert len(a._backward_hooks) == len(b._backward_hooks), name
        assert set(vars(a)) <= set(vars(b)), name


def assert_nothing_on_tensors(ours: Outcome, plain: Outcome) -> None:
    kept = [*ours.model.parameters(), *ours.model.buffers(), *ours.inputs, *ours.outputs]
    usual = [*plain.model.parameters(), *plain.model.buffers(), *plain.inputs, *plain.outputs]
    for a, b in zip(kept, usual, strict=True):
        assert set(vars(a)) <= set(vars(b))  # torch.compile itself leaves a mark in a plain forward
        assert len(a._backward_hooks or ()) == len(b._backward_hooks or ())


def assert_same_gradients(ours: Outcome, plain: Outcome) -> None:
    if not any(output.requires_grad for output in plain.outputs):
        return
    for outcome in (plain, ours):
        sum(output.abs().sum() for output in outcome.outputs if output.requires_grad).backward()
    for (name, a), (_, b) in zip(ours.model.named_parameters(), plain.model.named_parameters(), strict=True):
        assert (a.grad is None) == (b.grad is None), name
        assert a.grad is None or torch.equal(a.grad, b.grad), name


@each_model
def test_the_graph_is_as_a_person_would_draw_it_and_valid_by_replay(small: SmallModel) -> None:
    with small.around():
        outcome = run(small, captured=True)  # holds the model, which a history does not
        history = outcome.history
        report = history.validate()

    names = {op.layer_label: name_of(op) for op in history}
    up = {(parent, op.layer_label) for op in history for parent in op.parent_layers}
    assert {(names[parent], names[child]) for parent, child in up} == small.edges()
    assert {(op.layer_label, child) for op in history for child in op.child_layers} == up
    assert set(names.values()) == small.nodes()
    assert history.model_max_recurrent_loops == small.loops
    assert history.model_is_recurrent == (small.loops > 1)
    assert report, report
    assert report.forward_checked
    found = {(name_of(history[finding.layer]), finding.why) for finding in report.exemptions}
    unexplained = {(layer, why) for layer, why in found if small.exempt.get(layer, "\0") not in why}
    assert not unexplained
    assert set(small.exempt) == {layer for layer, _ in found}, "an exemption that is no longer needed"


@some_models
def test_it_is_the_same_graph_when_nothing_is_saved(small: SmallModel) -> None:
    with small.around():
        full, bare = capture(small), capture(small, layers_to_save="none")

    assert bare.num_tensors_saved == 0
    assert all(op.tensor_contents is None for op in bare)
    assert bare.layer_labels == full.layer_labels
    assert [op.parent_layers for op in bare] == [op.parent_layers for op in full]
    assert [op.tensor_shape for op in bare] == [op.tensor_shape for op in full]


@some_models
def test_one_layer_saved_alone_is_the_same(small: SmallModel) -> None:
    with small.around():
        full = capture(small)
        defined = [op for op in full if small.exempt.get(name_of(op)) != UNDEFINED]
        wanted = defined[len(defined) // 2]
        alone = capture(small, layers_to_save=[wanted.layer_label])

    assert [op.layer_label for op in alone if op.has_saved_activations] == [wanted.layer_label]
    assert same(alone[wanted.layer_label].tensor_contents, wanted.tensor_contents)

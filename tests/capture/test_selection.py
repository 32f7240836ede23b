"""Which values are kept, in what form, and for how long."""

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl


class Net(nn.Module):
    """Two layers, an in-place op and a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)
        self.second = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.first(x))
        x = self.act(self.second(x))
        for _ in range(3):
            x = torch.tanh(x)
        return x


@pytest.fixture
def net() -> Net:
    return Net()


def saved(history: tl.ModelHistory) -> list[str]:
    return [op.layer_label for op in history if op.has_saved_activations]


@pytest.mark.parametrize(
    ("wanted", "labels"),
    [
        ("none", []),
        ([], []),
        (None, []),
        (["linear_2"], ["linear_2_3"]),
        (["linear_2_3", "relu_1"], ["relu_1_2", "linear_2_3"]),
        (["first"], ["linear_1_1"]),
        (["act:2"], ["relu_2_4"]),
        (["act"], ["relu_1_2", "relu_2_4"]),
        ([0, 3], ["input_1_0", "linear_2_3"]),
        ([-1], ["output_1_6"]),
        ([-2, 1], ["linear_1_1", "tanh_1_5:3", "output_1_6"]),
        (["tanh_1:2"], ["tanh_1_5:2"]),
        (["tanh_1"], ["tanh_1_5:1", "tanh_1_5:2", "tanh_1_5:3"]),
        (["linear"], ["linear_1_1", "linear_2_3"]),
        ("linear_1", ["linear_1_1"]),
    ],
)
def test_layers_are_chosen_by_any_key(net: Net, wanted: Any, labels: list[str]) -> None:
    x = torch.randn(2, 4)
    everything = tl.log_forward_pass(net, x)

    history = tl.log_forward_pass(net, x, layers_to_save=wanted)

    assert saved(history) == labels
    assert history.layer_labels == everything.layer_labels
    for label in labels:
        assert torch.equal(history[label].tensor_contents, everything[label].tensor_contents)


def test_layers_are_chosen_by_a_function_of_the_op(net: Net) -> None:
    history = tl.log_forward_pass(
        net,
        torch.randn(2, 4),
        layers_to_save=lambda op: op.layer_type == "relu" and op.tensor_shape == (2, 4),
    )

    assert saved(history) == ["relu_1_2", "relu_2_4"]


def test_a_key_that_no_layer_answers_to_is_an_error_that_names_the_nearest(net: Net) -> None:
    with pytest.raises(tl.LayerNotFoundError, match="the last linear is 'linear_2_3'"):
        tl.log_forward_pass(net, torch.randn(2, 4), layers_to_save=["linear_7"])
    with pytest.raises(tl.LayerNotFoundError, match="there is no op 99"):
        tl.log_forward_pass(net, torch.randn(2, 4), layers_to_save=[99])
    with pytest.raises(tl.InputError, match="layers_to_save"):
        tl.log_forward_pass(net, torch.randn(2, 4), layers_to_save=3.5)


def test_a_later_write_does_not_change_what_was_saved(net: Net) -> None:
    x = torch.randn(2, 4)
    history = tl.log_forward_pass(net, x, layers_to_save=["linear_1"])

    assert torch.equal(history["linear_1"].tensor_contents, net.first(x))
    assert (history["linear_1"].tensor_contents < 0).any()


def test_nothing_but_the_chosen_is_kept_alive() -> None:
    refs: list[weakref.ref[Tensor]] = []

    class Watched(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(4):
                x = torch.sin(x)
                refs.append(weakref.ref(x))
            return x.sum()

    history = tl.log_forward_pass(Watched(), torch.randn(3), layers_to_save=["sin_1:2"])
    gc.collect()

    assert [ref() for ref in refs] == [None] * 4
    assert history.num_tensors_saved == 1


def test_a_history_is_freed_as_soon_as_nobody_holds_it(net: Net) -> None:
    gc.disable()
    try:
        history = tl.log_forward_pass(net, torch.randn(2, 4))
        history.layer_labels
        ref = weakref.ref(history["linear_1"].tensor_contents)
        del history
        assert ref() is None
    finally:
        gc.enable()


def test_a_history_does_not_hold_the_model() -> None:
    model: nn.Module = nn.ReLU()
    ref = weakref.ref(model)
    history = tl.log_forward_pass(model, torch.randn(3))
    del model
    gc.collect()

    assert ref() is None
    assert history.layer_labels == ["input_1_0", "relu_1_1", "output_1_2"]


def test_a_postfunc_is_applied_before_keeping(net: Net) -> None:
    x = torch.randn(2, 4)
    everything = tl.log_forward_pass(net, x)

    history = tl.log_forward_pass(net, x, activation_postfunc=lambda t: t.mean())

    for ours, theirs in zip(history, everything, strict=True):
        assert torch.equal(ours.tensor_contents, theirs.tensor_contents.mean())
        assert ours.tensor_shape == theirs.tensor_shape
    with pytest.raises(tl.InputError, match="activation_postfunc"):
        history.validate()


def test_a_postfunc_that_gives_a_view_is_safe_from_later_writes(net: Net) -> None:
    x = torch.randn(2, 4)

    history = tl.log_forward_pass(net, x, activation_postfunc=lambda t: t[:1])

    assert torch.equal(history["linear_1"].tensor_contents, net.first(x)[:1])


def test_saved_values_stay_on_the_graph_unless_detached(net: Net) -> None:
    x = torch.randn(2, 4)

    attached = tl.log_forward_pass(net, x)
    detached = tl.log_forward_pass(net, x, detach_saved_tensors=True)

    attached["linear_1"].tensor_contents.sum().backward()
    assert net.first.weight.grad is not None
    assert not any(op.tensor_contents.requires_grad for op in detached)
    assert torch.equal(attached["linear_1"].tensor_contents, detached["linear_1"].tensor_contents)


def test_values_go_to_another_device(net: Net) -> None:
    history = tl.log_forward_pass(net, torch.randn(2, 4), output_device="meta")

    assert {op.tensor_contents.device.type for op in history} == {"meta"}
    assert {op.tensor_device.type for op in history} == {"cpu"}


def test_unsaved_layers_can_be_left_out_of_the_listing(net: Net) -> None:
    history = tl.log_forward_pass(
        net, torch.randn(2, 4), layers_to_save=["linear_1", "relu_2"], keep_unsaved_layers=False
    )

    assert history.layer_labels == ["linear_1_1", "relu_2_4"]
    assert len(history) == 2
    assert history[1].layer_label == "relu_2_4"


def test_the_arguments_of_a_saved_op_can_be_kept(net: Net) -> None:
    x = torch.randn(2, 4)

    history = tl.log_forward_pass(net, x, layers_to_save=["linear_2"], save_function_args=True)

    inputs, weight, bias = history["linear_2"].creation_args
    assert torch.equal(inputs, torch.relu(net.first(x)))
    assert weight is net.second.weight
    assert bias is net.second.bias
    assert saved(history) == ["linear_2_3"]
    plain = tl.log_forward_pass(net, x, layers_to_save=["linear_2"])
    with pytest.raises(tl.InputError, match="save_function_args"):
        plain["linear_2"].creation_args


@pytest.mark.parametrize(
    ("stop", "last"),
    [("linear_1", "linear_1_1"), ("second", "linear_2_3"), (2, "relu_1_2"), ("tanh_1:2", "tanh_1_5:2")],
)
def test_the_pass_ends_once_the_wanted_layer_is_there(net: Net, stop: Any, last: str) -> None:
    x = torch.randn(2, 4)
    everything = tl.log_forward_pass(net, x)

    history = tl.log_forward_pass(net, x, layers_to_save="none", stop_after=stop)

    value = history[history.stopped_after or ""].tensor_contents
    assert everything[last].layer_label_short == history[history.stopped_after or ""].layer_label_short
    assert torch.equal(value, everything[last].tensor_contents)
    assert history.output_layers == []
    assert len(history) < len(everything)
    assert torch.equal(net(x), everything["output_1"].tensor_contents)


def test_a_stopped_pass_runs_nothing_more() -> None:
    ran: list[str] = []

    class Late(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            try:
                y = torch.sin(x)
            except Exception:
                ran.append("except")
            ran.append("after")
            return y

    tl.log_forward_pass(Late(), torch.randn(2), stop_after="sin_1")

    assert ran == []


def test_the_seed_can_be_fixed() -> None:
    model = nn.Dropout(0.5)
    x = torch.ones(100)

    first = tl.log_forward_pass(model, x, random_seed=7)
    second = tl.log_forward_pass(model, x, random_seed=7)

    assert torch.equal(first["dropout_1"].tensor_contents, second["dropout_1"].tensor_contents)
    assert first.random_seed_used == 7


def test_a_postfunc_that_writes_does_not_reach_the_model(net: Net) -> None:
    x = torch.randn(2, 4)
    before, plain = x.clone(), net(x)

    history = tl.log_forward_pass(net, x, activation_postfunc=lambda t: t.detach().mul_(0))

    assert torch.equal(x, before)
    assert torch.equal(net(x), plain)
    assert not history["linear_1"].tensor_contents.any()


def test_an_error_of_a_postfunc_says_whose_it_is(net: Net) -> None:
    with pytest.raises(AttributeError) as caught:
        tl.log_forward_pass(net, torch.randn(2, 4), activation_postfunc=lambda t: t.nonsense())

    assert any("activation_postfunc" in note for note in caught.value.__notes__)


def test_there_must_be_something_to_validate(net: Net) -> None:
    with pytest.raises(tl.InputError, match="layers_to_save='all'"):
        tl.log_forward_pass(net, torch.randn(2, 4), layers_to_save=["relu_1"]).validate()


@pytest.mark.parametrize(
    "options",
    [{"input_kwargs": [1]}, {"random_seed": "a"}, {"activation_postfunc": "mean"}, {"output_device": "gpu"}],
)
def test_a_wrong_option_is_refused_before_the_model_runs(net: Net, options: dict[str, Any]) -> None:
    with pytest.raises(tl.InputError, match=next(iter(options))):
        tl.log_forward_pass(net, torch.randn(2, 4), **options)

"""What an edit must leave alone: the user's own modules, the model's state, other ops and other threads."""

import threading
from types import MappingProxyType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import torcheer as tl
from tests.capture.models.registry import module_with
from tests.capture.outcomes import Does

EVEN = {"relu_1": lambda tensor: tensor * 2}


def test_a_module_may_be_the_function_of_an_edit_and_is_no_part_of_the_pass() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(2, 3)
    probe = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
    plain = tl.log_forward_pass(model, x)

    for key in ("1", "relu_1", lambda op: op.layer_type == "relu"):
        history = tl.log_forward_pass(model, x, edit={key: probe})

        assert history.layer_labels == plain.layer_labels
        assert torch.equal(history.output, model[2](probe(model[:2](x))))


def test_modules_of_a_postfunc_and_of_a_predicate_are_not_recorded() -> None:
    model, other, x = nn.Sequential(nn.Linear(3, 3), nn.ReLU()), nn.Linear(3, 3), torch.randn(2, 3)
    plain = tl.log_forward_pass(model, x)

    treated = tl.log_forward_pass(model, x, activation_postfunc=other)
    chosen = tl.log_forward_pass(model, x, layers_to_save=lambda op: bool(other(torch.ones(3)).sum() > -1e9))

    assert treated.layer_labels == chosen.layer_labels == plain.layer_labels


@pytest.mark.parametrize("write", [lambda t: t.zero_().add_(5), lambda t: (t.data.fill_(5), t)[1]])
def test_a_write_that_torch_does_not_count_is_an_edit(write: Any) -> None:
    with torch.inference_mode():
        history = tl.log_forward_pass(nn.Linear(3, 3), torch.randn(2, 3), edit={"linear_1": write})

    assert torch.equal(history.output, torch.full((2, 3), 5.0))


def test_an_input_that_is_written_may_come_from_another_net() -> None:
    start = torch.randn(3, requires_grad=True)

    history = tl.log_forward_pass(Does(lambda x: F.relu(x.add_(1))), start * 2, edit=EVEN)

    assert torch.equal(history.output, F.relu(start * 2 + 1) * 2)


def test_the_name_of_an_input_means_the_input_alone() -> None:
    class Letters(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.exp().softmax(-1).max()

    edited = tl.log_forward_pass(Letters(), torch.zeros(3), edit={"x": lambda t: t + 1})
    saved = tl.log_forward_pass(Letters(), torch.zeros(3), layers_to_save=["x"])

    assert [edit.layer for edit in edited.edits] == ["input_1_0"]
    assert [op.layer_label for op in saved if op.has_saved_activations] == ["input_1_0"]
    with pytest.raises(tl.InputError):
        tl.log_forward_pass(Letters(), torch.zeros(3), edit={"": torch.zeros_like})


def test_edits_reach_the_model_while_another_thread_works() -> None:
    @module_with(lambda: {"inner": nn.Linear(2, 2)})
    def threaded(self, x: Tensor) -> Tensor:
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                self.inner(torch.ones(2))

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(20):
            a, b = x.chunk(2)
            x = torch.cat([a, b])
        stop.set()
        thread.join()
        return x

    history = tl.log_forward_pass(
        threaded(), torch.zeros(4), edit={lambda op: op.layer_type == "chunk": lambda t: t + 1}
    )

    assert torch.equal(history.output, torch.full((4,), 20.0))


class HandingOut(nn.Module):
    def forward(self, y: Tensor) -> Tensor:
        y.sum()
        return y


@module_with(lambda: {"inner": HandingOut()})
def around(self, x: Tensor) -> Tensor:
    y = x.relu()
    return (self.inner(y) + y).tanh()


def test_an_added_identity_shifts_no_other_key(tmp_path: Any) -> None:
    x, more = torch.ones(3), lambda t: t + 5
    plain = tl.log_forward_pass(around(), x)
    edited = tl.log_forward_pass(around(), x, edit={"inner": torch.zeros_like})
    plain.save(tmp_path / "pass")
    loaded = tl.load_history(tmp_path / "pass")
    expected = torch.tanh(x) + 5

    keys = ("tanh_1", "tanh_1_4", plain["tanh_1"], edited["tanh_1"], loaded["tanh_1"], plain["tanh_1"].index)
    for key in keys:
        history = tl.log_forward_pass(around(), x, edit={"inner": torch.zeros_like, key: more})
        assert torch.equal(history.output, expected), key


def test_a_tensor_is_an_edit_and_a_patch_may_be_of_a_part() -> None:
    model, x = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(2, 4, 3)
    value, source = torch.rand(2, 4, 3), tl.log_forward_pass(model, torch.randn(2, 4, 3))
    mixed = model[:2](x).detach().clone()
    mixed[:, 1] = source["relu_1"].tensor_contents[:, 1]

    whole = tl.log_forward_pass(model, x, edit={"relu_1": value})
    part = tl.log_forward_pass(
        model, x, edit={"relu_1": tl.patch_from(source, "relu_1", at=(slice(None), 1))}
    )

    assert torch.equal(whole.output, model[2](value))
    assert torch.equal(part.output, model[2](mixed))


def test_a_layer_that_runs_more_often_than_its_source_is_not_made_up() -> None:
    class Loop(nn.Module):
        def forward(self, x: Tensor, times: int) -> Tensor:
            for _ in range(times):
                x = torch.tanh(x)
            return x

    source = tl.log_forward_pass(Loop(), [torch.ones(2), 2])

    with pytest.raises(tl.InputError, match="has 2 values"):
        tl.log_forward_pass(Loop(), [torch.ones(2), 3], edit={"tanh_1": tl.patch_from(source, "tanh_1")})


def test_a_predicate_that_answers_to_nothing_is_noted() -> None:
    history = tl.log_forward_pass(
        nn.Linear(2, 2), torch.ones(1, 2), edit={lambda op: False: torch.zeros_like}
    )

    assert any("nothing was edited" in note for note in history.notes)


def test_a_module_may_return_what_cannot_be_changed() -> None:
    class Frozen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Module()
            self.inner.forward = lambda x: MappingProxyType({"y": x * 1})

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x)["y"]

    history = tl.log_forward_pass(Frozen(), torch.ones(2), edit={"inner": lambda t: t + 1})

    assert torch.equal(history.output, torch.full((2,), 2.0))


def test_a_pass_that_is_run_twice_edits_its_input_once_and_hands_on_gradients() -> None:
    class Secretive(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x + 0
            z = y * 2
            with torch._C.DisableTorchFunction(), torch.no_grad():
                y.add_(100)
            return z + y

    x = torch.zeros(3, requires_grad=True)
    edited = tl.log_forward_pass(Secretive(), x.detach(), edit={0: lambda t: t + 1})
    followed = tl.log_forward_pass(Secretive(), x, save_gradients=True)
    followed.output.sum().backward()

    assert torch.equal(edited.output, Secretive()(x.detach() + 1))
    assert torch.equal(x.grad, torch.full((3,), 3.0))

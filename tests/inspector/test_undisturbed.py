"""Nothing of it is noticed: the training, its models and whoever else looks at them stay as they are."""

import copy
import io
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW
from torch.utils.flop_counter import FlopCounterMode

import torcheer as tl
from tests.inspector.fake_child import Pretended
from tests.inspector.oracle import MODELS, cnn, hooks_of, train_step


@pytest.mark.parametrize("kind", ["cnn", "lstm", "transformer", "bfloat16"])
def test_a_watched_training_computes_exactly_what_it_would_compute_anyway(kind: str) -> None:
    ends = []
    for is_watched in (False, True):
        torch.manual_seed(3)
        model, x = MODELS[kind]()
        optimizer = AdamW(model.parameters(), 0.01)
        watched = Pretended(model, optimizer) if is_watched else None
        for _ in range(4):
            train_step(model, optimizer, x)
        if watched is not None:
            watched.close()
        ends.append([parameter.detach().clone() for parameter in model.parameters()])

    for plain, seen in zip(*ends, strict=True):
        assert torch.equal(plain, seen)


def test_in_a_step_that_is_not_watched_there_is_no_hook_on_the_model() -> None:
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer, every=3)
    found = []
    for _ in range(7):
        found.append(hooks_of(model) > 0)
        train_step(model, optimizer, x)
    watched.close()

    assert found == [True, False, False, True, False, False, True]
    assert hooks_of(model, optimizer) == 0


def test_gradients_are_seen_without_backward_hooks_on_modules() -> None:
    """Which alone slow down small layers to nearly half their speed."""
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer)
    model(x).sum().backward()
    assert not any(module._backward_hooks or module._backward_pre_hooks for module in model.modules())
    optimizer.step()
    watched.close()

    assert watched.seen[0].has("0.Grad")


@pytest.mark.parametrize("has_optimizer", [True, False])
def test_closing_in_the_middle_of_a_step_leaves_no_hook(has_optimizer: bool) -> None:
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer if has_optimizer else None)
    model(x)
    watched.close()

    assert hooks_of(model, optimizer) == 0


def test_switched_off_it_leaves_the_model_alone_and_switched_on_it_goes_on() -> None:
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer)
    train_step(model, optimizer, x)
    watched.watcher.enabled = False
    assert hooks_of(model) == 0
    for _ in range(3):
        train_step(model, optimizer, x)
    watched.watcher.enabled = True
    for _ in range(3):
        train_step(model, optimizer, x)
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 5, 6]


def test_switched_off_and_on_between_two_steps_it_misses_none() -> None:
    """As around a validation: its passes are not looked at, and the step after it is."""
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer)
    for _ in range(3):
        train_step(model, optimizer, x)
        watched.watcher.enabled = False
        model(x)
        watched.watcher.enabled = True
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 1, 2]


def test_an_error_of_the_model_stays_what_it_is_and_the_next_step_is_seen() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    with pytest.raises(RuntimeError, match="shapes"):
        model(torch.randn(3, 7))
    train_step(model, optimizer, torch.randn(3, 4))
    train_step(model, optimizer, torch.randn(3, 4))
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 1]


@pytest.mark.parametrize("has_optimizer", [True, False])
def test_copies_of_the_model_work_and_are_not_watched(has_optimizer: bool) -> None:
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer if has_optimizer else None)
    twin = copy.deepcopy(model)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    for other in (twin, loaded):
        other(x).sum().backward()
    assert watched.seen == []
    watched.close()


def test_a_pass_that_is_captured_meanwhile_has_no_operations_of_ours() -> None:
    model, x = cnn()
    model.eval()
    plain = tl.log_forward_pass(model, x, layers_to_save="all")
    watched = Pretended(model, SGD(model.parameters(), 0.1))
    captured = tl.log_forward_pass(model, x, layers_to_save="all")
    watched.close()

    assert captured.layer_labels == plain.layer_labels


def test_a_layer_that_cannot_be_looked_at_is_told_once_and_the_training_goes_on() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    look = watched.watcher._parts[0].look
    assert look is not None

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("this tensor is strange")

    look.writer.put = broken  # type: ignore[method-assign]

    def train() -> None:
        for _ in range(3):
            train_step(model, optimizer, torch.randn(3, 4))

    with pytest.warns(tl.InspectorWarning, match="1.Act cannot be watched: .*this tensor is strange") as told:
        train()
    assert len(told) == 2  # once for each layer
    watched.close()


def test_a_trace_an_export_and_a_transform_have_nothing_of_ours() -> None:
    model, x = cnn()
    model.eval()
    watched = Pretended(model, SGD(model.parameters(), 0.1))
    traced = torch.jit.trace(model, x)
    exported = torch.export.export(model, (x,))
    mapped = torch.func.vmap(lambda one: model(one[None]))(x)
    with FlopCounterMode(display=False) as counted:
        model(x)
    watched.close()

    assert "as_strided" not in str(traced.inlined_graph)
    assert "as_strided" not in str(exported.graph)
    assert mapped.shape == (6, 1, 10)
    with FlopCounterMode(display=False) as plain:
        model(x)
    assert counted.get_flop_counts() == plain.get_flop_counts()


def test_two_who_watch_at_the_same_time_leave_the_compiler_as_it_was() -> None:
    torch._dynamo.reset()
    graphs = []

    def backend(graph: torch.fx.GraphModule, _inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    model, x = cnn()
    compiled: Any = torch.compile(model, backend=backend)
    optimizer = SGD(model.parameters(), 0.01)
    one, other = Pretended(compiled, optimizer), Pretended(compiled, optimizer, every=2)
    for _ in range(4):
        train_step(compiled, optimizer, x)
    other.close()
    one.close()

    assert len(graphs) == 0
    train_step(compiled, optimizer, x)
    assert len(graphs) > 0


def test_an_optimizer_with_a_state_of_its_own_kind_leaves_no_hook_and_no_stance() -> None:
    class Strange(SGD):
        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for parameter in group["params"]:
                    self.state[parameter] = torch.zeros(3)  # type: ignore[assignment]

    model, x = cnn()
    optimizer = Strange(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    for _ in range(3):
        train_step(model, optimizer, x)
    assert max(len(module._forward_hooks) for module in model.modules()) == 1
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 1, 2]
    assert hooks_of(model, optimizer) == 0

"""What is seen of a training is what it was: torch itself, asked the long way, is the oracle."""

import copy
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD, Adam, Optimizer
from torch.utils.checkpoint import checkpoint

import torcheer as tl
from tests.inspector.fake_child import Pretended
from tests.inspector.oracle import MODELS, Oracle, as_numbers, check, cnn, train_step
from torcheer.inspector.watched_share import Room


@pytest.mark.parametrize("kind", MODELS)
def test_all_that_is_seen_of_a_step_is_what_it_was(kind: str) -> None:
    model, x = MODELS[kind]()
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    watched = Pretended(model, optimizer)
    oracle = Oracle(model)
    for _ in range(2):  # the optimizer's own tensors are there from the second on
        train_step(model, optimizer, x)
    with oracle.watching():
        train_step(model, optimizer, x)
    watched.close()

    seen = watched.seen[-1]
    assert seen.step == 2
    wanted = [name for name in oracle.values if name in seen.names]
    assert set(wanted) == {name for name in seen.names if seen.has(name) and "momentum" not in name}
    for name in wanted:
        if not name.endswith(".Delta"):
            check(seen, name, oracle.values[name])
        else:
            change = seen.sample(name)
            if len(change) == oracle.values[name].numel():
                assert numpy.allclose(change, as_numbers(oracle.values[name]).reshape(-1), atol=1e-7)
    for name, parameter in model.named_parameters():
        check(seen, f"{name}.momentum_buffer", optimizer.state[parameter]["momentum_buffer"])


def test_an_excerpt_keeps_the_shape_and_the_values_bit_by_bit() -> None:
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer, room=Room(tensors="sample", excerpt_elements=100))
    oracle = Oracle(model)
    with oracle.watching():
        train_step(model, optimizer, x)

    seen = watched.seen[0]
    for name in ("0.Act", "3.weight", "3.weight.Grad", "6.Grad", "6.weight", "6.bias", "6.weight.Delta"):
        row, excerpt = seen.row(name), seen.excerpt(name)
        assert excerpt is not None
        assert excerpt.size <= 100
        steps = row["excerpt_steps"][: row["num_excerpt_dims"]].tolist()
        whole = oracle.values[name].numpy()
        assert numpy.allclose(excerpt, whole[tuple(slice(None, None, step) for step in steps)], atol=1e-9)
    watched.close()


def test_whole_tensors_come_whole_as_soon_as_their_sizes_are_known() -> None:
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer, room=Room(tensors="whole", ring_bytes=64 << 20))
    oracle = Oracle(model)
    train_step(model, optimizer, x)
    with oracle.watching():
        train_step(model, optimizer, x)

    seen = watched.seen[1]
    for name in seen.names:
        if name in oracle.values and not name.endswith(".Delta"):
            assert numpy.array_equal(seen.excerpt(name), oracle.values[name].numpy()), name  # type: ignore[arg-type]
    watched.close()


@pytest.mark.parametrize("observe", ["weight", "update", "state", ["weight", "update"], "weight_gradient"])
def test_what_is_observed_alone_is_seen_alone(observe: Any) -> None:
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer, observe=observe)
    for _ in range(4):
        train_step(model, optimizer, x)
    watched.close()

    assert [seen.step for seen in watched.seen][-3:] == [1, 2, 3]
    ending = {"weight": "", "update": ".Delta", "state": ".exp_avg", "weight_gradient": ".Grad"}
    for role in [observe] if isinstance(observe, str) else observe:
        assert watched.seen[-1].has(f"6.weight{ending[role]}")


def test_until_sizes_are_known_there_is_no_piece_that_could_be_taken_for_the_whole() -> None:
    model, _ = cnn()
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer, room=Room(tensors="whole", ring_bytes=64 << 20))
    for size in (2, 6, 3, 12, 12):
        train_step(model, optimizer, torch.randn(size, 3, 16, 16))
    watched.close()

    for seen, size in zip(watched.seen, (2, 6, 3, 12, 12), strict=True):
        excerpt = seen.excerpt("0.Act")
        assert excerpt is None or excerpt.shape == (size, 16, 16, 16)
        assert seen.excerpt("6.weight") is not None
    assert watched.seen[2].excerpt("0.Act") is not None
    assert watched.seen[4].excerpt("0.Act") is not None


def test_where_whole_tensors_do_not_fit_the_largest_are_cut_and_the_rest_is_whole() -> None:
    model = nn.Sequential(nn.Linear(2000, 500), nn.Linear(500, 4))
    room = Room(tensors="whole", ring_bytes=4 << 20, most_bytes=4 << 20)
    with pytest.warns(tl.InspectorWarning, match="of 0.weight.* only a piece is kept"):
        watched = Pretended(model, SGD(model.parameters(), 0.1), room=room)

    plan = watched.child.plans[-1]
    sizes = {row.name: row.excerpt_bytes for row in plan.rows}
    assert sizes["0.weight"] < 4 * 2000 * 500
    assert sizes["1.weight"] == 4 * 500 * 4
    assert watched.child.ring is not None
    assert plan.num_slots * len(watched.child.ring.slot(0)) <= 4 << 20
    watched.close()


def test_what_is_changed_in_place_afterwards_is_seen_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True))
    x = torch.randn(4, 8)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    wanted = F.linear(x, model[0].weight, model[0].bias).detach()

    output = model(x)
    output.sum().backward()
    with torch.no_grad():
        output.mul_(100)
    optimizer.step()

    seen = watched.seen[0]
    assert numpy.array_equal(seen.sample("0.Act"), wanted.numpy().reshape(-1))
    assert numpy.array_equal(seen.sample("1.Act"), wanted.relu().numpy().reshape(-1))
    watched.close()


def test_of_a_layer_that_is_called_twice_value_and_gradient_are_of_the_same_call() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            self.last: Tensor = self.layer(self.layer(x) * 3)
            self.last.retain_grad()  # type: ignore[no-untyped-call]
            return self.last * 2

    model = Twice()
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    model(torch.randn(3, 4)).square().sum().backward()
    last, gradient = model.last.detach().clone(), model.last.grad
    optimizer.step()

    check(watched.seen[0], "layer.Act", last)
    assert gradient is not None
    check(watched.seen[0], "layer.Grad", gradient)
    watched.close()


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpoint_hides_nothing(use_reentrant: bool) -> None:
    inner = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6))
    model = nn.ModuleDict({"first": nn.Linear(6, 6), "inner": inner})
    x = torch.randn(5, 6)

    def step(optimizer: Optimizer, *, with_checkpoint: bool) -> None:
        optimizer.zero_grad()
        h = model["first"](x)
        out = checkpoint(inner, h, use_reentrant=use_reentrant) if with_checkpoint else inner(h)
        out.square().sum().backward()
        optimizer.step()

    weights = copy.deepcopy(model.state_dict())
    seen = []
    for with_checkpoint in (False, True):
        model.load_state_dict(weights)
        optimizer = SGD(model.parameters(), 0.1)
        watched = Pretended(model, optimizer)
        step(optimizer, with_checkpoint=with_checkpoint)
        watched.close()
        seen.append(watched.seen[0])

    for name in ("first.Act", "inner.0.Act", "inner.2.Act", "inner.0.Grad", "inner.2.Grad", "inner.1.Grad"):
        assert numpy.array_equal(seen[0].sample(name), seen[1].sample(name)), name


def test_passes_without_gradients_are_no_part_of_a_step() -> None:
    model, x = cnn()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer)
    oracle = Oracle(model)
    with oracle.watching():
        train_step(model, optimizer, x)
    train_step(model, optimizer, x)
    with torch.no_grad():
        model(100 * x)
    assert len(watched.seen) == 2
    check(watched.seen[0], "0.Act", oracle.values["0.Act"])
    watched.close()


def test_of_several_small_batches_in_a_step_the_last_is_seen_and_all_of_the_gradient() -> None:
    model = nn.Linear(5, 3)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    batches = torch.randn(4, 2, 5)
    for batch in batches:
        model(batch).square().sum().backward()
    last, gradient = model(batches[-1]).detach(), model.weight.grad
    assert gradient is not None
    gradient = gradient.clone()
    optimizer.step()

    assert len(watched.seen) == 1
    check(watched.seen[0], "Act", last)
    check(watched.seen[0], "weight.Grad", gradient)
    watched.close()


def test_autocast_is_seen_in_its_own_numbers() -> None:
    model, x = cnn()
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    oracle = Oracle(model)
    with oracle.watching():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()

    seen = watched.seen[0]
    assert seen.dtype("0.Act") == "bfloat16"
    for name in ("0.Act", "0.Grad", "6.Act", "6.Grad", "6.weight", "6.weight.Grad"):
        check(seen, name, oracle.values[name])
    watched.close()


def test_sparse_gradients_are_seen_by_their_values() -> None:
    model = nn.Embedding(1000, 4, sparse=True)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    model(torch.tensor([1, 5, 5])).sum().backward()
    optimizer.step()

    assert watched.seen[0].sample("weight.Grad").tolist() == [1.0] * 4 + [2.0] * 4
    watched.close()


@pytest.mark.parametrize("how", ["wrapped", "in place"])
def test_a_compiled_model_is_seen_layer_by_layer_and_stays_compiled(how: str) -> None:
    class Wrapped(nn.Module):  # torch compiles no bare Sequential in place
        def __init__(self) -> None:
            super().__init__()
            self.inner = cnn()[0]

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.inner(x)
            return out

    model, x = Wrapped(), cnn()[1]
    graphs = []

    def backend(graph: torch.fx.GraphModule, _inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled: Any = model
    if how == "wrapped":
        compiled = torch.compile(model, backend=backend)
    else:
        model.compile(backend=backend)
    optimizer = SGD(model.parameters(), 0.01)
    watched = Pretended(compiled, optimizer, every=3)
    oracle = Oracle(model)
    seen_compiled = []
    for step in range(7):
        if step == 3:
            with oracle.watching():
                train_step(compiled, optimizer, x)
        else:
            train_step(compiled, optimizer, x)
        seen_compiled.append(len(graphs))
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 3, 6]
    for name in ("inner.0.Act", "inner.3.Act", "inner.3.Grad", "inner.6.weight.Grad"):
        check(watched.seen[1], name, oracle.values[name])
    assert seen_compiled[1] > 0
    assert seen_compiled[-1] == seen_compiled[1], "it was compiled anew"


@pytest.mark.parametrize("has_optimizer", [True, False])
def test_a_function_that_is_compiled_whole_runs_and_is_seen(has_optimizer: bool) -> None:
    model, x = cnn()
    optimizer = SGD(model.parameters(), 0.01)
    torch._dynamo.reset()

    @torch.compile(backend="eager", fullgraph=True)
    def loss_of(x: Tensor) -> Tensor:
        loss: Tensor = model(x).square().mean()
        return loss

    watched = Pretended(model, optimizer if has_optimizer else None, every=2)
    for _ in range(5):
        optimizer.zero_grad()
        loss_of(x).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    watched.close()

    if has_optimizer:
        assert [seen.step for seen in watched.seen] == [0, 2, 4]
        assert all(seen.has("3.Grad") for seen in watched.seen)


def test_of_a_scripted_module_the_parameters_are_seen() -> None:
    inner = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    model = nn.Sequential(inner, nn.Linear(4, 2))
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    train_step(model, optimizer, torch.randn(3, 4))
    watched.close()

    assert watched.seen[0].has("1.Act")
    assert watched.seen[0].has("0.0.weight.Grad")
    assert not watched.seen[0].has("0.0.Act")


def test_without_an_optimizer_a_step_is_a_forward_pass() -> None:
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))
    watched = Pretended(model)
    oracle = Oracle(model)
    for step in range(3):
        x = torch.randn(3, 5)
        model.zero_grad()
        if step == 1:
            with oracle.watching():
                model(x).square().sum().backward()
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter -= 0.1 * parameter.grad  # type: ignore[operator]
        else:
            model(x).square().sum().backward()
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 1, 2]
    for name in ("0.Act", "0.Grad", "2.Act", "2.weight.Grad", "0.bias.Grad", "0.weight"):
        check(watched.seen[1], name, oracle.values[name])
    assert numpy.allclose(
        watched.seen[1].sample("0.weight.Delta"),
        oracle.values["0.weight.Delta"].numpy().reshape(-1),
        atol=1e-7,
    )


def test_a_weight_that_is_shared_keeps_its_first_name_in_every_step() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shared = nn.Embedding(7, 4)  # never called itself
            self.inner = nn.Embedding(7, 4)
            self.inner.weight = self.shared.weight
            self.scale = nn.Parameter(torch.full((4,), 5.0))

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.inner(x) * self.scale
            return out

    model = Tied()
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer)
    for _ in range(5):
        train_step(model, optimizer, torch.randint(0, 7, (3,)))
    watched.close()

    weights = {name for seen in watched.seen for name in seen.names if "weight" in name or "scale" in name}
    of_each = ("", ".Grad", ".Delta", ".exp_avg", ".exp_avg_sq")
    assert weights == {f"{name}{of}" for name in ("shared.weight", "scale") for of in of_each}
    assert len(watched.child.plans) == 2
    check(watched.seen[-1], "scale", model.scale.detach())


def test_layers_that_are_called_by_themselves_make_steps_too() -> None:
    model = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 2))
    watched = Pretended(model)
    for _ in range(3):
        model[1](model[0](torch.randn(3, 5))).sum().backward()
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 1, 2]
    assert watched.seen[1].has("0.Act")
    assert watched.seen[1].has("1.Grad")


def test_a_tensor_by_itself_is_seen_with_its_gradient() -> None:
    weight = torch.randn(3, 4, requires_grad=True)
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True, tensors={"prompt": weight})
    (model(weight) * 3).sum().backward()
    watched.close()

    check(watched.seen[0], "prompt", weight.detach())
    assert watched.seen[0].sample("prompt.Grad").tolist() == [3.0] * 12


def test_gradients_that_the_optimizer_computes_in_its_step_are_those_of_this_step() -> None:
    model = nn.Linear(1, 1, bias=False)
    optimizer = SGD(model.parameters(), 0.0)
    watched = Pretended(model, optimizer)
    for factor in (1.0, 2.0, 3.0):

        def closure(factor: float = factor) -> Tensor:
            optimizer.zero_grad()
            loss: Tensor = model(torch.full((1, 1), factor)).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        optimizer.step(closure)  # type: ignore[arg-type]
    watched.close()

    assert [seen.sample("weight.Grad").item() for seen in watched.seen] == [1.0, 2.0, 3.0]


def test_what_an_optimizer_keeps_for_weights_that_are_trained_later_is_seen_then() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)
    optimizer = Adam(model.parameters())
    watched = Pretended(model, optimizer)
    for _ in range(4):
        train_step(model, optimizer, torch.randn(3, 4))
    for parameter in model[0].parameters():
        parameter.requires_grad_(True)
    for _ in range(4):
        train_step(model, optimizer, torch.randn(3, 4))
    watched.close()

    assert "0.weight.exp_avg" not in watched.seen[2].names
    assert watched.seen[-1].has("0.weight.exp_avg")

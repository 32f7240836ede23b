"""What is seen of a training is what it was: torch itself, asked the long way, is the oracle."""

import copy
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.utils.checkpoint import checkpoint

import torcheer as tl
from tests.inspector.pretending import Pretended, Seen
from torcheer.inspector.frames import IS_EXACT, ROW_TYPE
from torcheer.inspector.looking import first_tensor
from torcheer.inspector.planning import Room

SAMPLE = 1024


class Oracle:
    """Keeps all of one step: outputs of layers and their gradients, and parameters before and after."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.values: dict[str, Tensor] = {}

    def _named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        for name, parameter in self.model.named_parameters():
            yield name if "." in name else f"model.{name}", parameter

    @contextmanager
    def watching(self) -> Iterator[None]:
        handles = [
            module.register_forward_hook(self._keeping(name or "model"))
            for name, module in self.model.named_modules()
        ]
        before = {name: parameter.detach().clone() for name, parameter in self._named_parameters()}
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
        for name, parameter in self._named_parameters():
            self.values[name] = parameter.detach().clone()
            self.values[f"{name}.Delta"] = parameter.detach() - before[name]
            if parameter.grad is not None:
                self.values[f"{name}.Grad"] = parameter.grad.clone()

    def _keeping(self, name: str) -> Callable[..., None]:
        # Not retain_grad, which follows a tensor that is changed in place: this is the gradient of the output.
        def keep_gradient(gradient: Tensor) -> None:
            self.values[f"{name}.Grad"] = gradient.clone()

        def keep(_module: nn.Module, _args: Any, output: Any) -> None:
            tensor = first_tensor(output)
            if tensor is not None:
                self.values[f"{name}.Act"] = tensor.detach().clone()
                if tensor.requires_grad:
                    tensor.register_hook(keep_gradient)  # type: ignore[no-untyped-call]

        return keep


def as_numbers(tensor: Tensor) -> NDArray[numpy.float64]:
    tensor = tensor.coalesce().values() if tensor.is_sparse else tensor
    tensor = tensor.abs() if tensor.is_complex() else tensor
    return tensor.detach().double().numpy()


def check(seen: Seen, name: str, tensor: Tensor) -> None:
    row, numbers = seen.row(name), as_numbers(tensor)
    assert row["num_elements"] == numbers.size
    assert seen.shape(name) == numbers.shape
    assert seen.dtype(name) == str(tensor.dtype).removeprefix("torch.")
    sample = seen.sample(name)
    if numbers.size <= SAMPLE:
        assert numpy.array_equal(sample, numbers.astype(numpy.float32).reshape(-1), equal_nan=True), name
    else:
        assert len(sample) == SAMPLE
        assert numpy.isin(sample, numbers.astype(numpy.float32)).all()
    if row["flags"] & IS_EXACT:
        scale = numpy.abs(numbers).sum()
        assert row["total"] == pytest.approx(numbers.sum(), abs=1e-5 * scale)
        assert row["squares"] == pytest.approx((numbers**2).sum(), rel=1e-4)
        assert (row["low"], row["high"]) == (numbers.min(), numbers.max())


def cnn() -> tuple[nn.Module, Tensor]:
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(inplace=True),
        nn.Conv2d(16, 8, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 7 * 7, 10),
    )
    return model, torch.randn(6, 3, 16, 16)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(5, 70, batch_first=True)
        self.head = nn.Linear(70, 3)

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.lstm(x)
        head: Tensor = self.head(outputs[:, -1])
        return head


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 32, sparse=False)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 50)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.encoder(self.embedding(x)))
        return out


MODELS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "cnn": cnn,
    "cnn in channels last": lambda: (
        cnn()[0].to(memory_format=torch.channels_last),  # type: ignore[call-overload]
        cnn()[1].contiguous(memory_format=torch.channels_last),
    ),
    "double": lambda: (cnn()[0].double(), cnn()[1].double()),
    "bfloat16": lambda: (cnn()[0].bfloat16(), cnn()[1].bfloat16()),
    "lstm": lambda: (Recurrent(), torch.randn(4, 9, 5)),
    "transformer": lambda: (Attending(), torch.randint(0, 50, (3, 12))),
    "one linear layer": lambda: (nn.Linear(300, 40), torch.randn(7, 300)),
    "complex": lambda: (nn.Linear(60, 40, dtype=torch.complex64), torch.randn(7, 60, dtype=torch.complex64)),
}


def train_step(model: nn.Module, optimizer: Optimizer, x: Tensor) -> None:
    optimizer.zero_grad()
    output = model(x)
    (output.abs() if output.is_complex() else output).float().square().mean().backward()
    optimizer.step()


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
        name = name if "." in name else f"model.{name}"
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
        assert excerpt is not None and excerpt.size <= 100
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


def test_where_whole_tensors_do_not_fit_the_largest_are_cut_and_the_rest_is_whole() -> None:
    model = nn.Sequential(nn.Linear(2000, 500), nn.Linear(500, 4))
    watched = Pretended(model, SGD(model.parameters(), 0.1), room=Room(tensors="whole", ring_bytes=4 << 20))

    plan = watched.child.plans[-1]
    sizes = {row.name: row.excerpt_bytes for row in plan.rows}
    assert sizes["0.weight"] < 4 * 2000 * 500
    assert sizes["1.weight"] == 4 * 500 * 4
    assert watched.child.ring is not None
    assert plan.num_slots * watched.child.ring.slot_bytes <= 4 << 20
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
    check(watched.seen[0], "model.Act", last)
    check(watched.seen[0], "model.weight.Grad", gradient)
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

    assert watched.seen[0].sample("model.weight.Grad").tolist() == [1.0] * 4 + [2.0] * 4
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


def test_layers_that_are_called_by_themselves_make_steps_too() -> None:
    model = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 2))
    watched = Pretended(model)
    for _ in range(3):
        model[1](model[0](torch.randn(3, 5))).sum().backward()
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 1, 2]
    assert watched.seen[1].has("0.Act") and watched.seen[1].has("1.Grad")


def test_a_tensor_by_itself_is_seen_with_its_gradient() -> None:
    weight = torch.randn(3, 4, requires_grad=True)
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True, tensors={"prompt": weight})
    (model(weight) * 3).sum().backward()
    watched.close()

    check(watched.seen[0], "prompt", weight.detach())
    assert watched.seen[0].sample("prompt.Grad").tolist() == [3.0] * 12


# --- and nothing of it is noticed ---------------------------------------------------------------------


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


def hooks_of(model: nn.Module, optimizer: Optimizer | None = None) -> int:
    count = sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) + len(module._backward_hooks)
        for module in model.modules()
    )
    for parameter in model.parameters():
        count += len(getattr(parameter, "_backward_hooks", None) or ())
        count += len(getattr(parameter, "_post_accumulate_grad_hooks", None) or ())
    if optimizer is not None:
        count += len(optimizer._optimizer_step_pre_hooks) + len(optimizer._optimizer_step_post_hooks)
    return count


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
    with pytest.warns(tl.InspectorWarning, match="this tensor is strange") as told:
        train_step(model, optimizer, torch.randn(3, 4))
    assert len(told) == 1
    watched.close()


# --- units, and what is not finite ---------------------------------------------------------------------


def test_dead_units_are_those_that_are_0_for_the_whole_batch() -> None:
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU())
    with torch.no_grad():
        model[0].bias[[1, 4]] = -100  # type: ignore[index]
    optimizer = SGD(model.parameters(), 0.0)
    watched = Pretended(model, optimizer)
    train_step(model, optimizer, torch.randn(5, 1, 12, 12))

    assert watched.seen[0].units("1.Act").tolist() == [1, 0, 1, 1, 0, 1]
    watched.close()


@pytest.mark.parametrize("size", [100, 5000, 3_000_000])
def test_not_one_nan_is_missed_and_the_figures_are_of_the_others(size: int) -> None:
    model = nn.Identity()
    x = torch.randn(size, requires_grad=True)
    with torch.no_grad():
        x[size // 3] = torch.nan
        x[size // 2] = torch.inf
        x[size // 2 + 1] = -torch.inf
    watched = Pretended(model, layers=lambda name, module: True)
    model(x)
    watched.close()

    row = watched.seen[0].row("model.Act")
    if size <= SAMPLE:
        assert numpy.isnan(watched.seen[0].sample("model.Act")).sum() == 1
        return
    finite = x.detach()[x.detach().isfinite()].double()
    assert (row["num_nan"], row["num_inf"]) == (1, 2)
    assert row["total"] == pytest.approx(finite.sum().item(), abs=1e-3)
    assert row["squares"] == pytest.approx(finite.square().sum().item(), rel=1e-6)
    assert (row["low"], row["high"]) == (finite.min().item(), finite.max().item())


def test_squares_too_large_for_a_float_are_no_infinities() -> None:
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True)
    model(torch.full((5000,), 1e30))
    watched.close()

    row = watched.seen[0].row("model.Act")
    assert row["squares"] == pytest.approx(5000 * 1e60, rel=1e-5)
    assert row["num_inf"] == 0


def test_the_head_of_a_row_is_read_as_it_was_written() -> None:
    assert ROW_TYPE.itemsize == 264

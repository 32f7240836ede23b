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
from torch.utils.flop_counter import FlopCounterMode

import torcheer as tl
from tests.inspector.pretending import Pretended, Seen
from torcheer.inspector.frames import IS_EXACT, ROW_TYPE
from torcheer.inspector.looking import first_tensor
from torcheer.inspector.pieces import PART_RUN, Outline, pieces_of
from torcheer.inspector.planning import Room

SAMPLE = 1024


class Oracle:
    """Keeps all of one step: outputs of layers and their gradients, and parameters before and after."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.values: dict[str, Tensor] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        handles = [
            module.register_forward_hook(self._keeping(f"{name}." if name else ""))
            for name, module in self.model.named_modules()
        ]
        before = {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
        for name, parameter in self.model.named_parameters():
            self.values[name] = parameter.detach().clone()
            self.values[f"{name}.Delta"] = parameter.detach() - before[name]
            if parameter.grad is not None:
                self.values[f"{name}.Grad"] = parameter.grad.clone()

    def _keeping(self, prefix: str) -> Callable[..., None]:
        # Not retain_grad, which follows a tensor that is changed in place: it is the gradient of the output.
        def keep_gradient(gradient: Tensor) -> None:
            self.values[f"{prefix}Grad"] = gradient.clone()

        def keep(_module: nn.Module, _args: Any, output: Any) -> None:
            tensor = first_tensor(output)
            if tensor is not None:
                self.values[f"{prefix}Act"] = tensor.detach().clone()
                if tensor.requires_grad:
                    tensor.register_hook(keep_gradient)  # type: ignore[no-untyped-call]

        return keep


def as_numbers(tensor: Tensor) -> NDArray[numpy.float64]:
    tensor = tensor.coalesce().values() if tensor.is_sparse else tensor
    tensor = tensor.abs() if tensor.is_complex() else tensor
    return tensor.detach().double().numpy()


def is_read_whole(name: str, tensor: Tensor) -> bool:
    """The gradients of weights, and numbers for which float32 is too short."""
    return name.endswith(("weight.Grad", "bias.Grad")) or tensor.dtype == torch.float64 or tensor.is_complex()


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
    if row["flags"] & IS_EXACT and numbers.size > 128 * PART_RUN and not is_read_whole(name, tensor):
        # A part stands for the whole: right but for chance.
        chance = 6 * numbers.std() / numpy.sqrt(128 * PART_RUN) + 1e-6 * numpy.abs(numbers).max()
        if "Act" in name and numbers.ndim < 3:
            assert abs(row["total"] / numbers.size - numbers.mean()) < 3 * chance
        assert numbers.min() <= row["low"] <= row["high"] <= numbers.max()
        assert row["high"] in numbers
    elif row["flags"] & IS_EXACT:
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
    watched = Pretended(model, SGD(model.parameters(), 0.1), room=room)

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


STRIDED: dict[str, Callable[[Tensor], Tensor]] = {
    "a channel": lambda x: x[..., 0],
    "every second": lambda x: x[:, ::2],
    "turned": lambda x: x.transpose(0, 2),
    "a turned slice": lambda x: x.transpose(0, 1)[::3],
    "one for all": lambda x: x[:1, :1, :1].expand(20, 30, 7),
    "one for each": lambda x: x[:, :, :1].expand(60, 40, 7),
    "overlapping": lambda x: x.reshape(-1).unfold(0, 40, 1),
}


@pytest.mark.parametrize("size", [(6, 4, 3), (60, 40, 7)])
@pytest.mark.parametrize("how", STRIDED)
def test_however_a_tensor_lies_in_memory_only_its_own_values_are_seen(
    how: str, size: tuple[int, ...]
) -> None:
    class Sliced(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return STRIDED[how](x)

    if how in ("one for all", "one for each", "overlapping") and size == (6, 4, 3):
        size = (60, 40, 7)
    model = nn.Sequential(Sliced())
    x = torch.randn(size)
    watched = Pretended(model, room=Room(tensors="whole", ring_bytes=16 << 20))
    for _ in range(2):
        wanted = model(x)
    watched.close()

    check(watched.seen[1], "0.Act", wanted)
    assert numpy.array_equal(watched.seen[1].excerpt("0.Act"), wanted.numpy())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "shape",
    [
        (1024, 256),
        (256, 1024),
        (512, 512, 3, 3),
        (64, 512),
        (32, 64, 56, 56),
        (8, 128, 768),
        (4096, 4096),
        (100_003,),
    ],
)
@pytest.mark.parametrize("is_channels_last", [False, True])
def test_a_sample_comes_from_everywhere(shape: tuple[int, ...], is_channels_last: bool) -> None:
    if is_channels_last and len(shape) != 4:
        return
    stride = torch.empty(shape, device="meta").stride()
    if is_channels_last:
        stride = torch.empty(shape, device="meta").to(memory_format=torch.channels_last).stride()
    size = int(numpy.prod(shape))
    outline = Outline(shape=shape, stride=stride, dtype="float32", item_bytes=4)
    pieces = pieces_of(outline, "weight", SAMPLE, 0)
    starts = numpy.arange(pieces.run_shape[0]) * pieces.run_stride[0]
    places = (starts[:, None] + numpy.arange(pieces.run_shape[1])).reshape(-1)

    assert places.max() + pieces.room - 1 < size
    assert places.max() > 0.89 * size
    for dim_size, dim_stride in zip(shape, stride, strict=True):
        assert len(set(places // dim_stride % dim_size)) >= min(60, 0.8 * dim_size)


def test_the_gradient_of_a_sum_is_seen() -> None:
    model = nn.Linear(16, 200)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    model(torch.randn(32, 16)).sum().backward()
    optimizer.step()
    watched.close()

    row = watched.seen[0].row("Grad")
    assert (row["total"], row["low"], row["high"]) == (32 * 200, 1, 1)


def test_a_tensor_of_nine_dimensions_has_figures_and_no_excerpt() -> None:
    class Deep(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.view(2, 2, 2, 2, 2, 1, 1, 1, 1)

    model = nn.Sequential(Deep())
    watched = Pretended(model)
    model(torch.arange(32.0))
    watched.close()

    assert watched.seen[0].sample("0.Act").tolist() == list(range(32))
    assert watched.seen[0].excerpt("0.Act") is None


def test_small_tensors_of_wide_numbers_have_exact_figures() -> None:
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True)
    model(torch.tensor([1e40, -3.0, 1e-50], dtype=torch.float64))
    watched.close()

    row = watched.seen[0].row("Act")
    assert row["flags"] & IS_EXACT
    assert (row["high"], row["num_inf"]) == (1e40, 0)


def test_an_empty_batch_is_no_trouble() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    watched = Pretended(model)
    model(torch.randn(0, 4))
    watched.close()

    assert watched.seen[0].shape("1.Act") == (0, 4)


def test_shapes_that_never_come_again_are_forgotten() -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    watched = Pretended(model)
    for size in range(1, 200):
        model(torch.randn(size, 4))
    look = watched.watcher._parts[0].look
    watched.close()

    assert look is not None
    assert max(map(len, look.writer._pieces)) <= 8


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


@pytest.mark.parametrize("size", [100, 5000, 600_000])
def test_not_one_nan_of_a_gradient_is_missed_and_the_figures_are_of_the_others(size: int) -> None:
    model = nn.Linear(size // 10, 10, bias=False)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    gradient = torch.randn(10, size // 10)
    gradient.view(-1)[size // 3] = torch.nan
    gradient.view(-1)[size // 2] = torch.inf
    gradient.view(-1)[size // 2 + 1] = -torch.inf
    model.weight.grad = gradient
    optimizer.step()
    watched.close()

    row = watched.seen[0].row("weight.Grad")
    if size <= SAMPLE:
        assert numpy.isnan(watched.seen[0].sample("weight.Grad")).sum() == 1
        return
    finite = gradient[gradient.isfinite()].double()
    assert (row["num_nan"], row["num_inf"]) == (1, 2)
    assert row["total"] == pytest.approx(finite.sum().item(), abs=1e-3)
    assert row["squares"] == pytest.approx(finite.square().sum().item(), rel=1e-6)
    assert (row["low"], row["high"]) == (finite.min().item(), finite.max().item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_large_activation_is_known_by_a_part_from_all_over_it(dtype: torch.dtype) -> None:
    model = nn.Identity()
    x = (3 + 2 * torch.randn(64, 128, 40)).to(dtype)
    x[20:40] = torch.nan
    watched = Pretended(model, layers=lambda name, module: True)
    for _ in range(3):
        model(x)
    watched.close()

    finite = x[x.isfinite()].double()
    for seen in watched.seen:
        row = seen.row("Act")
        num_finite = row["num_elements"] - row["num_nan"]
        assert row["num_nan"] == pytest.approx(20 * 128 * 40, rel=0.1)
        assert row["total"] / num_finite == pytest.approx(finite.mean().item(), abs=0.15)
        assert (row["squares"] / num_finite) ** 0.5 == pytest.approx(13**0.5, rel=0.05)
        assert finite.min() <= row["low"] < -2
        assert 8 < row["high"] <= finite.max()


def test_squares_too_large_for_a_float_are_no_infinities() -> None:
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True)
    model(torch.full((5000,), 1e30))
    watched.close()

    row = watched.seen[0].row("Act")
    assert row["squares"] == pytest.approx(5000 * 1e60, rel=1e-5)
    assert row["num_inf"] == 0


def test_the_head_of_a_row_is_read_as_it_was_written() -> None:
    assert ROW_TYPE.itemsize == 264

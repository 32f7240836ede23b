"""Each op's gradient is the one that torch gives, for small models, random programs and real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import torcheer as tl
from tests.capture.models import MODELS, SmallModel
from tests.capture.models.registry import module_with
from tests.capture.outcomes import capture, name_of, run, same, seed_all, tensors_in
from tests.capture.programs import Program, programs
from tests.capture.test_hypothesis import calls_by_line
from tests.many import examples, some
from torcheer.capture.inputs import map_leaves

pytestmark = [
    # torch's own: on nested and sparse tensors, on scripts, and on views that a random program makes.
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:.*jit.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
SCRIPTS = ("scripted", "traced", "scripts_inside", "calls_scripted_function")
some_models = pytest.mark.parametrize(
    "differentiable", some([m.name for m in MODELS], one_in=5), indirect=True
)


@pytest.fixture
def differentiable(request: pytest.FixtureRequest) -> SmallModel:
    """A model with inputs that need gradients, if torch itself can differentiate it."""
    found = _differentiable(request.param)
    if found is None:
        pytest.skip("torch gives no gradients")
    return found


@cache
def _differentiable(name: str) -> SmallModel | None:
    small = next(model for model in MODELS if model.name == name)
    for one in (replace(small, inputs=lambda: map_leaves(small.inputs(), needing_grad)), small):
        try:
            with one.around():
                outcome = run(one, captured=False)
                loss = loss_of(outcome.outputs)
                if loss is not None:
                    needed = [t for t in (*outcome.inputs, *outcome.model.parameters()) if t.requires_grad]
                    torch.autograd.grad(loss, needed, allow_unused=True)
                    return one
        except (RuntimeError, AssertionError):  # it does what autograd does not allow: `out=`, `numpy()`…
            continue
    return None


def needing_grad(leaf: Any) -> Any:
    """No leaf of autograd's graph: a model may write into what it is given."""
    is_plain = isinstance(leaf, Tensor) and leaf.is_floating_point() and leaf.layout == torch.strided
    return leaf.requires_grad_() * 1 if is_plain and not leaf.is_nested else leaf


def loss_of(output: Any) -> Tensor | None:
    """A number in which each output counts with other weights; None where no gradient flows."""
    generator = torch.Generator().manual_seed(3)
    parts = [real_parts(tensor) for tensor in tensors_in(output) if tensor.requires_grad]
    terms = [(part * torch.rand(part.shape, generator=generator)).sum().double() for part in parts]
    return sum(terms[1:], terms[0]) if terms else None


def real_parts(tensor: Tensor) -> Tensor:
    if tensor.is_nested:
        return torch.cat([part.flatten() for part in tensor.unbind()])
    if tensor.layout != torch.strided:
        return tensor.to_dense()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def agrees(ours: Tensor | None, theirs: Tensor | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return same(ours, theirs)


def last_grads(history: tl.ModelHistory) -> dict[str, Tensor | None]:
    number = len(history.backward_passes)
    return {op.layer_label: op.grads.get(number) for op in history}


def is_copy(op: tl.Op) -> bool:
    """Of a value that was written over later: what is kept is not on the way to the loss."""
    copied_from = op.tensor_contents.grad_fn
    if op.layer_type == "clone" and copied_from is not None:
        copied_from = copied_from.next_functions[0][0]
    return copied_from is not None and copied_from.name() == "CloneBackward0"


# --- small models ---------------------------------------------------------------------------------


@some_models
def test_the_gradients_of_a_small_model_are_those_that_torch_gives(differentiable: SmallModel) -> None:
    if differentiable.name in ("invalidated_view", "returns_its_input"):
        pytest.skip("torch refuses to ask for them, or there is no node of the pass")
    with differentiable.around():
        history = capture(differentiable, save_gradients=True)
        loss = loss_of(history.output)
        ops = [op for op in history if op.tensor_contents.requires_grad]
        expected = torch.autograd.grad(
            loss, [op.tensor_contents for op in ops], retain_graph=True, allow_unused=True
        )
        loss.backward()

    grads = last_grads(history)
    compared = [(op, grad) for op, grad in zip(ops, expected, strict=True) if not is_copy(op)]
    assert any(grad is not None for grad in grads.values())
    for op, grad in compared:
        assert agrees(grads[op.layer_label], grad), op.layer_label


@some_models
@pytest.mark.parametrize("layers_to_save", ["all", "none"])
def test_the_parameters_gradients_are_those_of_a_plain_model(
    differentiable: SmallModel, layers_to_save: str
) -> None:
    with differentiable.around():
        plain = run(differentiable, captured=False)
        ours = run(differentiable, captured=True, save_gradients=True, layers_to_save=layers_to_save)
        loss_of(plain.outputs).backward()
        loss_of(ours.history.output).backward()

    kept = ours.history.param_grads
    for (name, param), theirs in zip(ours.model.named_parameters(), plain.model.parameters(), strict=True):
        assert agrees(param.grad, theirs.grad), name
        if differentiable.name != "distributed_data_parallel":  # it writes over the gradients
            assert agrees(kept.get(name.removeprefix("module.").removeprefix("_orig_mod.")), theirs.grad), (
                name
            )


@some_models
@pytest.mark.parametrize(
    "options", [{"layers_to_save": "none"}, {"detach_saved_tensors": True}], ids=["none saved", "detached"]
)
def test_the_gradients_are_the_same_whatever_is_saved(
    differentiable: SmallModel, options: dict[str, Any]
) -> None:
    if differentiable.name in SCRIPTS:
        pytest.skip("inside scripts, nodes are only found on values that are kept")
    with differentiable.around():
        full = capture(differentiable, save_gradients=True)
        other = capture(differentiable, save_gradients=True, **options)
        for history in (full, other):
            loss_of(history.output).backward()

    grads = last_grads(other)
    for label, grad in last_grads(full).items():
        assert agrees(grads[label], grad), label


# --- in place, views, several outputs ---------------------------------------------------------------


class Moment:
    """What a line of a program made: where its gradient arrives, now and, if nothing writes to it, later."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.value, self.edge = tensor, tensor.detach().clone(), edge_of(tensor)

    def edges(self) -> list[Any]:
        # torch gives a view a new node when its base is written, also where the view itself is not;
        # whether the old view or an `updated` one has the gradient is then a matter of drawing.
        if self.edge is None:
            return []
        return [self.edge, edge_of(self.tensor)] if same(self.tensor, self.value) else [self.edge]


def edge_of(tensor: Tensor) -> Any:
    return torch.autograd.graph.get_gradient_edge(tensor) if tensor.requires_grad else None


def gradients_by_edge(program: Program, name: str) -> list[list[list[Tensor | None]]]:
    """The oracle, without any capture: by line and variable, the gradients at torch's own edges."""
    x, y = program.make_inputs()
    variables: dict[str, Any] = {"torch": torch, "F": nn.functional, "x": x, "y": y}
    moments: list[list[Moment]] = []
    for step in program.steps:
        exec(step.line, variables)
        moments.append([Moment(variables[made]) for made in step.made])
    if variables[name].grad_fn is None:
        return []  # the output is an input: no backward flows through the pass
    edges = [edge for made in moments for moment in made for edge in moment.edges()]
    grads = iter(torch.autograd.grad(loss_of(variables[name]), [*edges, x, y], allow_unused=True))
    return [[[next(grads) for _ in moment.edges()] for moment in made] for made in moments]


@settings(
    max_examples=examples(150),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(programs(), st.integers(0, 10**6))
def test_views_and_writes_have_the_gradients_of_their_moment(program: Program, which: int) -> None:
    name = program.returned[-1 - which % len(program.returned)]
    try:
        expected = gradients_by_edge(program, name)
    except RuntimeError:  # torch refuses: a value that backward needs was written over
        expected = []
    assume(any(grad is not None for made in expected for grads in made for grad in grads))
    for layers_to_save in ("all", "none"):
        history = tl.log_forward_pass(
            program.make_model(),
            list(program.make_inputs()),
            save_gradients=True,
            layers_to_save=layers_to_save,
        )
        loss_of(history.output[program.returned.index(name)]).backward()

        calls = calls_by_line(history)
        for number, made in enumerate(expected):
            ops = calls.get(number, [])[-len(made) :] if made else []
            for op, grads in zip(ops, made, strict=True):
                ours, where = op.grad_contents, f"{op.layer_label} of `{program.steps[number].line}`"
                assert any(agrees(ours, grad) for grad in grads or [None]), where


@module_with(lambda: {"linear": nn.Linear(4, 6)})
def writes_everywhere(self, x: Tensor) -> Tensor:
    """Each way to write in place, on values that need gradients."""
    y = self.linear(x)
    y.relu_()
    z = y * 0.5
    z += 1
    z[0] = y[1] * 2
    z[:, 2:4].mul_(3)
    first, *others = z.sin().split(2, dim=-1)
    left, right = torch.stack([first, others[1]]).unbind()
    return left * right.exp()


def test_a_chain_of_writes_has_the_gradients_of_the_same_steps_without_writes() -> None:
    torch.manual_seed(0)
    model, x = writes_everywhere(), torch.randn(3, 4)
    history = tl.log_forward_pass(model, x, save_gradients=True)
    history.output.sum().backward()

    linear = model.linear(x)
    relu = linear.relu()
    halved = relu * 0.5
    added = halved + 1
    assigned = torch.cat([relu[1:2] * 2, added[1:]])
    scaled = torch.cat([assigned[:, :2], assigned[:, 2:4] * 3, assigned[:, 4:]], dim=1)
    sine = scaled.sin()
    first, _, third = sine.split(2, dim=-1)
    output = first * third.exp()
    names = {"linear_1": linear, "relu_1": relu, "mul_1": halved, "add_1": added, "setitem_1": assigned}
    names |= {"sin_1": sine, "split_1": first, "split_3": third, "output_1": output}
    for name, grad in zip(names, torch.autograd.grad(output.sum(), list(names.values())), strict=True):
        assert torch.allclose(history[name].grad_contents, grad), name
    assert history["split_2"].grad_contents is None


def test_a_write_under_no_grad_leaves_each_gradient_with_its_op() -> None:
    @module_with(lambda: {"linear": nn.Linear(4, 4)})
    def shifted(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        with torch.no_grad():
            y.add_(1)
        return y.sin()

    history = tl.log_forward_pass(shifted(), torch.randn(3, 4), save_gradients=True)
    history.output.sum().backward()

    expected = (history["linear_1"].tensor_contents + 1).cos()
    assert torch.equal(history["linear_1"].grad_contents, expected)
    assert {node.name: node.layer for node in history.backward_graph}["AddmmBackward0"] == "linear_1_1"


# --- loops, several inputs and outputs, kinds of numbers ----------------------------------------------


@module_with(lambda: {"step": nn.Linear(3, 3)})
def recurrent(self, x: Tensor) -> Tensor:
    for _ in range(4):
        x = torch.tanh(self.step(x))
    return x


def test_each_pass_of_a_layer_has_its_own_gradient() -> None:
    torch.manual_seed(0)
    model, x = recurrent(), torch.randn(2, 3)
    plain: list[Tensor] = []
    h = x
    for _ in range(4):
        plain.append(model.step(h))
        h = torch.tanh(plain[-1])
    expected = torch.autograd.grad(h.sum(), plain)

    history = tl.log_forward_pass(model, x, save_gradients=True)
    history.output.sum().backward()

    passes = history.passes("linear_1")
    assert len(passes) == 4
    for op, grad in zip(passes, expected, strict=True):
        assert torch.equal(op.grad_contents, grad)
    assert torch.equal(history.param_grads["step.weight"], model.step.weight.grad)


class Mixed(nn.Module):
    """Integers, numbers without a gradient, no_grad, detach, an empty and a 0-dim tensor, complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.frozen, self.linear = nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.frozen.requires_grad_(False)

    def forward(self, words: Tensor, x: Tensor) -> dict[str, Tensor]:
        e = self.embed(words)
        with torch.no_grad():
            gate = self.linear(x).sigmoid()
        y = self.linear(self.frozen(e) * gate) + e.detach()
        spectrum = torch.fft.fft(y)
        return {"power": spectrum.abs(), "empty": y[:0], "mean": y.mean(), "largest": y.argmax(), "y": y}


def test_what_has_no_gradient_has_none_and_the_rest_is_right() -> None:
    torch.manual_seed(0)
    model = Mixed()
    history = tl.log_forward_pass(model, [torch.tensor([1, 2, 2]), torch.randn(3, 4)], save_gradients=True)
    out = history.output
    loss = out["power"].sum() + out["empty"].sum() + out["mean"]
    ops = [op for op in history if op.tensor_contents.requires_grad]
    expected = torch.autograd.grad(
        loss, [op.tensor_contents for op in ops], retain_graph=True, allow_unused=True
    )
    loss.backward()

    grads = last_grads(history)
    for op, grad in zip(ops, expected, strict=True):
        assert agrees(grads[op.layer_label], grad), op.layer_label
    assert history["fftfft_1"].grad_contents.is_complex()
    assert history["mean_1"].grad_contents.shape == ()
    for name in ("input_1", "sigmoid_1", "detach_1", "argmax_1"):
        assert not history[name].has_saved_grad, name
    assert set(history.param_grads) == {"embed.weight", "linear.weight", "linear.bias"}


def test_gradients_under_autocast_are_those_of_a_plain_model() -> None:
    def forward_and_backward(forward: Callable[[nn.Module, Tensor], Any]) -> tuple[nn.Module, Any]:
        seed_all(0)
        model, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(4, 8)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            made = forward(model, x)
        output = made.output if isinstance(made, tl.ModelHistory) else made
        output.float().sum().backward()
        return model, made

    plain, _ = forward_and_backward(lambda model, x: model(x))
    ours, history = forward_and_backward(lambda m, x: tl.log_forward_pass(m, x, save_gradients=True))

    assert history["relu_1"].grad_contents.dtype == torch.bfloat16
    for (name, mine), theirs in zip(ours.named_parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad)
        assert torch.equal(history.param_grads[name], theirs.grad)


def test_sparse_gradients_are_kept_and_added_up() -> None:
    model = nn.Embedding(5, 3, sparse=True)
    history = tl.log_forward_pass(model, torch.tensor([1, 2, 1]), save_gradients=True)
    loss = history.output.square().sum()
    loss.backward(retain_graph=True)
    once = model.weight.grad.to_dense().clone()
    loss.backward()

    assert history.param_grads["weight"].is_sparse
    assert torch.equal(history.param_grads["weight"].to_dense(), 2 * once)
    assert torch.equal(history.backward_passes[0].param_grads["weight"].to_dense(), once)


# --- functions with a backward of their own, checkpoints ----------------------------------------------


class Tripled(torch.autograd.Function):
    """Gives the double, and says that its gradient is the triple: a wrong edge would show."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 3


class TripledInPlace(Tripled):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)


class LargestAndPlace(torch.autograd.Function):
    """Two outputs, the second of which has no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        values, places = x.max(dim=-1)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        ctx.size = x.shape[-1]
        return values, places

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _nothing: Any) -> Tensor:
        (places,) = ctx.saved_tensors
        return nn.functional.one_hot(places, ctx.size) * grad[..., None] * 5


class WithFunction(nn.Module):
    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.linear, self.function = nn.Linear(4, 4), function

    def forward(self, x: Tensor) -> Tensor:
        made = self.function(self.linear(x))
        return (made[0] if isinstance(made, tuple) else made).sin()


@pytest.mark.parametrize("layers_to_save", ["all", "none"])
@pytest.mark.parametrize(
    ("function", "factor", "made_by"),
    [(Tripled.apply, 3, "mul_1"), (TripledInPlace.apply, 3, "mul_1"), (LargestAndPlace.apply, 5, "max_1")],
    ids=["one output", "in place", "two outputs"],
)
def test_the_backward_of_a_custom_function_lies_between_its_output_and_its_input(
    function: Any, factor: int, made_by: str, layers_to_save: str
) -> None:
    torch.manual_seed(0)
    model, x = WithFunction(function), torch.randn(3, 4)
    with torch.no_grad():
        made = function(model.linear(x))
        expected = (made[0] if isinstance(made, tuple) else made).cos()

    history = tl.log_forward_pass(model, x, save_gradients=True, layers_to_save=layers_to_save)
    history.output.sum().backward()

    assert torch.equal(history[made_by].grad_contents, expected)
    received = history["linear_1"].grad_contents
    assert torch.allclose(received.sum(), factor * expected.sum())
    node = next(node for node in history.backward_graph if node.name.startswith(("Tripled", "Largest")))
    assert history[node.layer].layer_label_short == made_by
    if made_by == "max_1":
        assert not history["max_2"].has_saved_grad


class Blocks(nn.Module):
    def __init__(self, call: Callable[..., Any]) -> None:
        super().__init__()
        self.first, self.second, self.call = nn.Linear(4, 4), nn.Linear(4, 4), call

    def forward(self, x: Tensor) -> Tensor:
        x = torch.sin(x)
        for _ in range(2):
            x = self.call(self.outside, x)
        return x * 2

    def outside(self, x: Tensor) -> Tensor:
        return self.call(self.inside, x.exp()) + self.first(x)

    def inside(self, x: Tensor) -> Tensor:
        x = self.first(x).mul_(0.5)
        return self.second(nn.functional.dropout(torch.tanh(x), 0.5))


def in_checkpoint(use_reentrant: bool) -> Callable[..., Any]:
    return lambda inside, x: checkpoint(inside, x, use_reentrant=use_reentrant)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradients_inside_a_checkpoint_are_those_without_it_or_a_note_says_so(use_reentrant: bool) -> None:
    def history_of(call: Callable[..., Any]) -> tl.ModelHistory:
        torch.manual_seed(0)
        model, x = Blocks(call), torch.randn(3, 4, requires_grad=True)
        models.append(model)
        history = tl.log_forward_pass(model, x, save_gradients=True)
        history.output.square().sum().backward()
        return history

    models: list[nn.Module] = []
    plain = history_of(lambda inside, x: inside(x))
    ours = history_of(in_checkpoint(use_reentrant))

    for name, param in models[1].named_parameters():
        assert torch.allclose(ours.param_grads[name], param.grad), name
        assert torch.allclose(ours.param_grads[name], plain.param_grads[name]), name
    if use_reentrant:
        assert "use_reentrant=False has them" in ours.notes[-1]
        return
    expected = {name_of(op): op.grad_contents for op in plain}
    assert {name_of(op) for op in ours} >= set(expected)
    for op in ours:
        assert torch.allclose(op.grad_contents, expected.get(name_of(op), op.grad_contents)), op.layer_label
    assert len(ours.backward_passes) == 1


# --- real models ---------------------------------------------------------------------------------------


def gradients_by_module(model: nn.Module) -> dict[str, Tensor]:
    """The oracle: a hook on each tensor that a leaf module returns, set before anything writes over it."""
    grads: dict[str, Tensor] = {}

    def watch(address: str) -> Callable[..., None]:
        calls: Iterator[int] = iter(range(1, 10**6))

        def after(_module: nn.Module, _args: Any, output: Any) -> None:
            number = next(calls)
            output = next(tensors_in(output))
            if output.requires_grad:
                output.register_hook(lambda grad: grads.__setitem__(f"{address}:{number}", grad))

        return after

    for address, module in model.named_modules():
        if not any(module.children()) and address:
            module.register_forward_hook(watch(address))
    return grads


def resnet() -> tuple[nn.Module, list[Any]]:
    from tests.vision import torchvision

    return torchvision.models.resnet18(weights=None, num_classes=5), [torch.randn(2, 3, 32, 32)]


def gpt2() -> tuple[nn.Module, list[Any]]:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=50, n_positions=16)
    return GPT2LMHeadModel(config), [torch.randint(0, 50, (2, 7))]


class Sequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.attention = nn.LSTM(4, 8, 2, batch_first=True), nn.MultiheadAttention(8, 2)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.lstm(x)
        z, _ = self.attention(y, y, y, need_weights=False)
        return self.head(z)


def sequence() -> tuple[nn.Module, list[Any]]:
    return Sequence(), [torch.randn(2, 5, 4)]


@pytest.mark.parametrize("make", [resnet, gpt2, sequence])
def test_a_real_model_has_the_gradients_of_a_plain_one(
    make: Callable[[], tuple[nn.Module, list[Any]]],
) -> None:
    seed_all(0)
    plain, inputs = make()
    expected = gradients_by_module(plain)
    seed_all(1)
    loss_of(plain(*inputs)).backward()
    seed_all(0)
    model, inputs = make()
    seed_all(1)
    history = tl.log_forward_pass(model, inputs, save_gradients=True)
    loss_of(history.output).backward()

    assert len(expected) >= 1
    for address, grad in expected.items():
        assert torch.equal(history[address].grad_contents, grad), address
    params = dict(plain.named_parameters())
    assert set(history.param_grads) == {name for name, param in params.items() if param.grad is not None}
    for name, grad in history.param_grads.items():
        assert torch.equal(grad, params[name].grad), name
    saved = [op for op in history if op.requires_grad and op.is_output_ancestor]
    assert all(op.has_saved_grad for op in saved if not is_written_view(op))


def is_written_view(op: tl.Op) -> bool:
    return op.tensor_contents is not None and not op.tensor_contents.requires_grad


def test_training_is_the_same_to_the_last_bit() -> None:
    def weights_after_three_steps(forward: Callable[[nn.Module, Tensor], Tensor]) -> list[Tensor]:
        seed_all(0)
        model = nn.Sequential(
            nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Linear(8, 2)
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            forward(model, torch.randn(5, 6)).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
        return [*model.parameters(), *model.buffers()]

    kept: list[tl.ModelHistory] = []

    def captured(model: nn.Module, x: Tensor, **options: Any) -> Tensor:
        kept.append(tl.log_forward_pass(model, x, save_gradients=True, **options))
        return kept[-1].output

    plain = weights_after_three_steps(lambda model, x: model(x))
    for options in ({}, {"level": "aten"}, {"layers_to_save": "none"}):
        ours = weights_after_three_steps(lambda model, x, options=options: captured(model, x, **options))
        assert all(torch.equal(a, b) for a, b in zip(ours, plain, strict=True)), options
    assert all(history.backward_passes for history in kept)

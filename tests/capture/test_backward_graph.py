"""The backward graph, backward passes told apart, parameters' gradients, and nothing left behind."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections.abc import Callable
from time import perf_counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils.checkpoint import checkpoint

import torcheer as tl
from tests.capture.models.registry import module_with
from torcheer.capture.backward import grad_log

# torch's own: on TF32, and on the cycle that create_graph makes.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x)))


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def x() -> Tensor:
    return torch.randn(5, 4)


def captured(net: nn.Module, x: Tensor, **options: Any) -> tl.ModelHistory:
    return tl.log_forward_pass(net, x, save_gradients=True, **options)


# --- the graph ------------------------------------------------------------------------------------


def test_nodes_are_linked_to_the_op_that_they_came_from_and_to_each_other(net: Net, x: Tensor) -> None:
    graph = captured(net, x).backward_graph

    of = {
        (node.name, node.layer or node.param): [graph[i].name for i in node.next_nodes]
        for node in graph
        if node.name != "AccumulateGrad"
    }
    assert of == {
        ("AddmmBackward0", "linear_2_3"): ["AccumulateGrad", "TanhBackward0", "TBackward0"],
        ("TBackward0", "linear_2_3"): ["AccumulateGrad"],
        ("TanhBackward0", "tanh_1_2"): ["AddmmBackward0"],
        ("AddmmBackward0", "linear_1_1"): ["AccumulateGrad", "TBackward0"],
        ("TBackward0", "linear_1_1"): ["AccumulateGrad"],
    }
    assert {n.param for n in graph if n.name == "AccumulateGrad"} == set(dict(net.named_parameters()))
    assert [node.index for node in graph] == list(range(len(graph)))


def test_nodes_stand_in_the_order_they_ran_with_the_shapes_of_their_gradients(net: Net, x: Tensor) -> None:
    order: list[str] = []
    loss = net(x).square().sum()
    queue, seen = [loss.grad_fn], set()
    while queue:  # the oracle: a hook of our own on each node of a plain run
        node = queue.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        shapes = functools.partial(lambda node, made, given: order.append(_as_run(node, made, given)), node)
        node.register_hook(shapes)
        queue.extend(following for following, _ in node.next_functions)
    loss.backward()
    expected = list(order)
    net.zero_grad()

    history = captured(net, x)
    one = history.log_backward(history.output.square().sum())

    assert [(run.name, run.grad_output_shapes, run.grad_input_shapes) for run in one] == expected
    assert all(run.seconds > 0 for run in one)
    assert one.elapsed_seconds >= sum(run.seconds for run in one)
    assert [run.layer for run in one][:2] == ["", ""]  # the loss


def _as_run(node: Any, made: Any, given: Any) -> Any:
    shapes = [tuple(None if g is None else tuple(g.shape) for g in grads) for grads in (given, made)]
    return (node.name().removeprefix("torch::autograd::"), *shapes)


def test_without_log_backward_the_nodes_of_the_pass_are_seen_and_the_loss_is_not(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    history.output.square().sum().backward()

    (one,) = history.backward_passes
    assert len(one) == len(history.backward_graph) == 9
    assert {run.layer or run.node.param for run in one} == {
        *("linear_2_3", "tanh_1_2", "linear_1_1"),
        *dict(net.named_parameters()),
    }


def test_an_op_that_is_many_nodes_owns_them_all() -> None:
    model = nn.LSTM(3, 4)
    with torch.backends.mkldnn.flags(enabled=False):  # it is one node there
        history = captured(model, torch.randn(6, 2, 3))
    history.output[0].sum().backward()

    nodes = [node for node in history.backward_graph if node.name != "AccumulateGrad"]
    assert len(nodes) > 20
    assert {history[node.layer].layer_type for node in nodes} == {"lstm"}
    assert set(history.param_grads) == {name for name, _ in model.named_parameters()}


def test_what_is_saved_for_backward_is_what_torch_packed(net: Net, x: Tensor) -> None:
    packed: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        packed.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        net(x)
    history = captured(net, x)

    saved = [tensor for node in history.backward_graph for tensor in node.saved]
    outline = sorted((tuple(t.shape), t.numel() * t.element_size()) for t in packed)
    assert sorted((tensor.shape, tensor.num_bytes) for tensor in saved) == outline
    assert {tensor.param for tensor in saved if tensor.param} == {"second.weight"}
    params = {param.untyped_storage().data_ptr() for param in net.parameters()}
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in packed}
    assert history.saved_for_backward_bytes == sum(size for at, size in storages.items() if at not in params)


def test_views_on_one_memory_count_as_that_memory_once() -> None:
    @module_with(lambda: {"linear": nn.Linear(4, 12)})
    def gates(self, x: Tensor) -> Tensor:
        a, b, c = self.linear(x).chunk(3, dim=-1)
        return a.exp() * b * c

    history = captured(gates(), torch.randn(3, 4))

    x, exp, linear, product = 48, 48, 144, 48
    assert history.saved_for_backward_bytes == x + exp + linear + product


def test_a_hook_on_saved_tensors_is_not_called_by_looking(net: Net, x: Tensor) -> None:
    unpacked: list[Tensor] = []

    def unpack(tensor: Tensor) -> Tensor:
        unpacked.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        history = captured(net, x)

    assert history.backward_graph
    assert not unpacked


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpoint_saves_its_inputs_only_and_says_so(use_reentrant: bool) -> None:
    class Half(Net):
        def forward(self, x: Tensor) -> Tensor:
            hidden = checkpoint(lambda v: torch.tanh(self.first(v)), x, use_reentrant=use_reentrant)
            return self.second(hidden).exp()

    history = captured(Half(), torch.randn(5, 4, requires_grad=True))

    inside = [node for node in history.backward_graph if node.layer.startswith(("tanh", "linear_1"))]
    assert inside
    assert all(node.recomputes for node in inside if node.name != "AccumulateGrad")
    assert [tensor.shape for node in inside for tensor in node.saved] == [(5, 4)]
    exp = next(node for node in history.backward_graph if node.name == "ExpBackward0")
    assert exp.saved
    assert not exp.recomputes


# --- passes told apart -------------------------------------------------------------------------------


def test_backward_passes_are_numbered_kept_apart_and_added_up(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    out = history.output
    hidden = history["tanh_1"].tensor_contents
    expected = [
        torch.autograd.grad(loss, hidden, retain_graph=True)[0] for loss in (out.sum(), out.square().sum())
    ]
    num_before = len(history.backward_passes)
    out.sum().backward(retain_graph=True)
    out.square().sum().backward()

    passes = history.backward_passes[num_before:]
    grads = history["tanh_1"].grads
    assert [one.kind for one in history.backward_passes] == ["grad", "grad", "backward", "backward"]
    for one, grad in zip(passes, expected, strict=True):
        assert torch.equal(grads[one.number], grad)
        assert torch.equal(one.grads["tanh_1_2"], grad)
    assert torch.equal(history["tanh_1"].grad_contents, expected[0] + expected[1])
    for name, param in net.named_parameters():
        assert torch.equal(history.param_grads[name], param.grad)


def test_autograd_grad_counts_only_where_there_was_no_backward(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    asked = list(net.parameters())
    given = torch.autograd.grad(history.output.sum(), asked, retain_graph=True)
    hidden = history["tanh_1"]
    first = hidden.grad_contents
    history.output.square().sum().backward()

    assert torch.equal(first, hidden.grads[1])
    assert torch.equal(hidden.grad_contents, hidden.grads[2])
    assert torch.equal(history.param_grads["first.weight"], net.first.weight.grad)
    assert all(grad is not None for grad in given)


def test_backward_to_some_inputs_only_is_a_backward(net: Net, x: Tensor) -> None:
    history = captured(net, x)

    history.output.sum().backward(inputs=[net.second.weight])

    assert [one.kind for one in history.backward_passes] == ["backward"]
    assert set(history.backward_passes[0].param_grads) == {"second.weight"}
    assert history["linear_1"].grad_contents is None


def test_log_backward_to_an_inner_tensor_ends_there(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    hidden = history["tanh_1"].tensor_contents
    one = history.log_backward(history.output.sum(), inputs=[hidden])

    assert one.kind == "backward"
    assert torch.equal(history["tanh_1"].grad_contents, hidden.grad)
    assert history["linear_1"].grad_contents is None
    assert one.param_grads == {}


def test_the_same_loss_can_be_logged_twice(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    loss = history.output.sum()

    first = history.log_backward(loss, retain_graph=True)
    second = history.log_backward(loss)

    assert [run.name for run in first] == [run.name for run in second]
    assert (first.number, second.number) == (1, 2)
    assert torch.equal(history["tanh_1"].grad_contents, 2 * history["tanh_1"].grads[1])


def test_log_backward_works_without_save_gradients_and_takes_a_gradient(net: Net, x: Tensor) -> None:
    history = tl.log_forward_pass(net, x)
    weights = torch.rand(5, 3)

    one = history.log_backward(history.output, weights)

    assert torch.equal(history["output_1"].grad_contents, weights)
    assert torch.equal(one.param_grads["second.bias"], weights.sum(0))


@pytest.mark.parametrize("in_one_call", [False, True])
def test_a_gradient_penalty_flows_through_the_pass_twice(net: Net, x: Tensor, in_one_call: bool) -> None:
    def penalty_of(output: Tensor, leaf: Tensor) -> Tensor:
        (grad,) = torch.autograd.grad(output.sum(), leaf, create_graph=True)
        return (grad.norm(dim=-1) - 1).square().sum()

    leaf = x.clone().requires_grad_()
    hidden = net.first(leaf)
    expected = torch.autograd.grad(
        penalty_of(net.second(torch.tanh(hidden)), leaf), [hidden, net.first.weight, net.second.weight]
    )

    leaf = x.clone().requires_grad_()
    history = captured(net, leaf)
    penalty = penalty_of(history.output, leaf)
    if in_one_call:
        history.log_backward(penalty)
    else:
        penalty.backward()

    assert [one.kind for one in history.backward_passes] == ["grad", "backward"]
    assert torch.allclose(history["linear_1"].grad_contents, expected[0])
    assert torch.allclose(history.param_grads["first.weight"], expected[1])
    assert torch.allclose(history.param_grads["second.weight"], expected[2])


def test_gradients_with_a_graph_of_their_own_can_be_differentiated(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    history.log_backward(history.output.square().sum(), create_graph=True)
    grad = history["tanh_1"].grad_contents

    assert grad.requires_grad
    assert torch.autograd.grad(grad.sum(), net.second.weight)[0].abs().sum() > 0
    for param in net.parameters():
        param.grad = None  # torch's own cycle


def test_many_gradients_at_once_are_no_gradient_of_an_op(net: Net, x: Tensor) -> None:
    leaf = x.clone().requires_grad_()
    history = captured(net, leaf)
    rows = torch.eye(15).view(15, 5, 3)
    torch.autograd.grad(history.output, leaf, rows, is_grads_batched=True, retain_graph=True)
    readable = [str(op.grad_contents) for op in history]
    history.output.sum().backward()

    assert len(readable) == len(history)
    expected = torch.autograd.grad(net(x).sum(), net.second.bias)[0]
    assert torch.equal(history.param_grads["second.bias"], expected)
    assert torch.equal(history["output_1"].grad_contents, torch.ones(5, 3))


def test_the_users_own_hooks_come_first(net: Net, x: Tensor) -> None:
    net.first.weight.register_hook(lambda grad: grad * 10)

    class Clipped(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            hidden = net.first(x)
            if hidden.requires_grad:
                hidden.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
            return net.second(hidden)

    history = captured(Clipped(), x)
    history.output.sum().backward()

    assert history["linear_1"].grad_contents.abs().max() <= 0.1
    assert torch.allclose(history["linear_1"].grad_contents.T @ x * 10, net.first.weight.grad)


# --- parameters' gradients -----------------------------------------------------------------------------


def test_a_parameters_gradient_is_kept_without_a_copy(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    history.output.sum().backward()

    for name, param in net.named_parameters():
        assert history.param_grads[name].data_ptr() == param.grad.data_ptr(), name


def unscale(net: nn.Module) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(torch.ones(()))
    scaler.unscale_(torch.optim.SGD(net.parameters(), lr=0.1))


def clamp_data(net: nn.Module) -> None:
    for param in net.parameters():
        param.grad.data.clamp_(-1e-3, 1e-3)


def scale_in_numpy(net: nn.Module) -> None:
    for param in net.parameters():
        array = param.grad.numpy()
        array *= 2


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda net: net.zero_grad(set_to_none=False), id="zeroed"),
        pytest.param(lambda net: nn.utils.clip_grad_norm_(net.parameters(), 1e-3), id="clipped by norm"),
        pytest.param(lambda net: nn.utils.clip_grad_value_(net.parameters(), 1e-3), id="clipped by value"),
        # torch counts none of these three.
        pytest.param(unscale, id="unscaled"),
        pytest.param(clamp_data, id="clamped through data"),
        pytest.param(scale_in_numpy, id="scaled in NumPy"),
    ],
)
def test_a_gradient_that_was_written_over_is_gone_and_never_wrong(
    net: Net, x: Tensor, write: Callable[[nn.Module], Any]
) -> None:
    history = captured(net, x)
    loss = history.output.sum()
    loss.backward(retain_graph=True)
    hidden = history["tanh_1"].grad_contents.clone()
    write(net)

    assert history.param_grads == {}
    notes = [note for note in history.notes if "were written in place" in note]
    assert len(notes) == 1
    assert "first.weight" in notes[0]
    assert torch.equal(history["tanh_1"].grad_contents, hidden)

    loss.backward()
    assert history.param_grads == {}  # a part of the sum is gone
    assert set(history.backward_passes[1].param_grads) == {name for name, _ in net.named_parameters()}


def test_gradients_added_up_over_two_captures_are_each_captures_own(net: Net, x: Tensor) -> None:
    histories = [captured(net, x), captured(net, 2 * x)]
    for history in histories:
        history.output.sum().backward()

    plain = [
        torch.autograd.grad(net(inputs).sum(), list(net.parameters()), allow_unused=True)
        for inputs in (x, 2 * x)
    ]
    for (name, param), first, second in zip(net.named_parameters(), *plain, strict=True):
        assert torch.equal(histories[0].param_grads[name], first)
        assert torch.equal(histories[1].param_grads[name], second)
        assert torch.equal(param.grad, first + second)
    assert [len(history.backward_passes) for history in histories] == [1, 1]


def test_a_parameter_seen_through_a_view_keeps_the_gradient_of_each_pass() -> None:
    @module_with(lambda: {"weight": nn.Parameter(torch.randn(16))})
    def flat(self, x: Tensor) -> Tensor:
        return x @ self.weight.view(4, 4)

    history = captured(flat(), torch.randn(3, 4))
    loss = history.output.square().sum()
    loss.backward(retain_graph=True)
    once = history["view_1"].grad_contents.clone()
    loss.backward()

    assert torch.equal(history["view_1"].grads[1], once)
    assert torch.allclose(history["view_1"].grad_contents, 2 * once)


def test_one_loss_of_two_captures_shows_in_both(net: Net, x: Tensor) -> None:
    histories = [captured(net, x), captured(net, 2 * x)]
    (histories[0].output.sum() + 3 * histories[1].output.sum()).backward()

    for history, factor in zip(histories, (1, 3), strict=True):
        assert torch.equal(history["output_1"].grad_contents, factor * torch.ones(5, 3))
        assert torch.equal(history.param_grads["second.bias"], net.second.bias.grad)


def test_a_capture_on_the_output_of_another_hands_its_gradient_on(net: Net, x: Tensor) -> None:
    first = captured(net, x)
    head = nn.Linear(3, 2)
    second = captured(head, first.output)
    second.output.sum().backward()

    assert torch.equal(second["input_1"].grad_contents, first["output_1"].grad_contents)
    assert torch.equal(second["input_1"].grad_contents, head.weight.sum(0).expand(5, 3))
    assert {node.layer for node in second.backward_graph if not node.param} == {"input_1_0", "linear_1_1"}
    assert set(second.param_grads) == {"weight", "bias"}
    assert set(first.param_grads) == set(dict(net.named_parameters()))


def test_a_backward_elsewhere_is_none_of_ours(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    net(x).sum().backward()

    assert history.backward_passes == []
    assert history.param_grads == {}
    started = perf_counter()
    history.output.sum().backward()
    assert history.backward_passes[0].elapsed_seconds <= perf_counter() - started
    assert torch.equal(2 * history.param_grads["first.weight"], net.first.weight.grad)


# --- what may be asked for ------------------------------------------------------------------------------


def test_only_the_gradients_that_were_asked_for_are_kept(net: Net, x: Tensor) -> None:
    for wanted in (["tanh_1"], lambda op: op.layer_type == "tanh"):
        history = tl.log_forward_pass(net, x, save_gradients=wanted)
        history.output.sum().backward()
        assert [op.layer_label for op in history if op.has_saved_grad] == ["tanh_1_2"]
    by_module = tl.log_forward_pass(net, x, save_gradients=["first"])
    by_module.output.sum().backward()
    assert [op.layer_label for op in by_module if op.has_saved_grad] == ["linear_1_1"]
    with pytest.raises(tl.LayerNotFoundError):
        tl.log_forward_pass(net, x, save_gradients=["relu_9"])


@pytest.mark.parametrize(
    "options",
    [
        {"layers_to_save": ["tanh_1"]},
        {"activation_postfunc": torch.mean},
        {"detach_saved_tensors": True},
        {"layers_to_save": ["tanh_1"], "keep_unsaved_layers": False},
        {"save_function_args": True},
    ],
)
def test_gradients_do_not_hang_on_what_is_saved(net: Net, x: Tensor, options: dict[str, Any]) -> None:
    full, other = captured(net, x), captured(net, x, **options)
    for history in (full, other):
        history.output.sum().backward()

    ops = [op for op in other if not op.is_input_layer]
    assert ops
    for op in ops:
        assert torch.equal(op.grad_contents, full[op.layer_label].grad_contents), op.layer_label


def test_gradients_go_to_the_device_that_was_asked_for(net: Net, x: Tensor) -> None:
    history = captured(net, x, output_device="meta")
    history.output.sum().backward()

    assert history["tanh_1"].grad_contents.device.type == "meta"
    assert {grad.device.type for grad in history.param_grads.values()} == {"meta"}
    assert net.first.weight.grad.device.type == "cpu"


def test_a_pass_that_was_stopped_has_gradients_too(net: Net, x: Tensor) -> None:
    history = captured(net, x, stop_after="tanh_1")
    history["tanh_1"].tensor_contents.sum().backward()

    expected = 1 - history["tanh_1"].tensor_contents.square()
    assert torch.allclose(history["linear_1"].grad_contents, expected)


# --- what goes wrong --------------------------------------------------------------------------------------


def test_a_loss_that_cannot_be_logged_is_refused_with_the_reason(net: Net, x: Tensor) -> None:
    leaf = x.clone().requires_grad_()
    history = captured(net, leaf)
    with pytest.raises(tl.InputError, match="does not hang on this pass"):
        history.log_backward(net(x).sum())
    with pytest.raises(tl.InputError, match="does not hang on this pass"):
        history.log_backward((leaf * 2).sum())
    with pytest.raises(tl.InputError, match="hangs on nothing"):
        history.log_backward(history.output.detach().sum())
    with pytest.raises(tl.InputError, match="must be a tensor"):
        history.log_backward([history.output])
    with torch.no_grad():
        blind = captured(net, x)
    with pytest.raises(tl.InputError, match="no_grad"):
        blind.log_backward(net(x).sum())
    assert history.backward_passes == []


class Faulty(torch.autograd.Function):
    """Raises as often as it is told to."""

    errors: list[Exception]

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        if Faulty.errors:
            raise Faulty.errors.pop()
        return grad * 2


@pytest.mark.parametrize("level", ["op", "aten"])
@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("mine")], ids=["ValueError", "KeyError"])
def test_a_backward_that_raises_leaves_nothing_and_the_next_one_works(
    x: Tensor, level: str, error: Exception
) -> None:
    class Risky(Net):
        def forward(self, x: Tensor) -> Tensor:
            return self.second(Faulty.apply(self.first(x)))

    Faulty.errors = [error, error]
    net = Risky()
    history = captured(net, x, level=level)
    with pytest.raises(type(error), match="mine"):
        history.output.sum().backward(retain_graph=True)
    with pytest.raises(type(error), match="mine"):
        history.log_backward(history.output.sum(), retain_graph=True)
    assert not _get_current_dispatch_mode_stack()
    net.zero_grad()

    started = perf_counter()
    one = history.log_backward(history.output.sum())

    assert one.elapsed_seconds <= perf_counter() - started
    assert torch.equal(one.grads["mul_1_2"] * 2, one.grads["linear_1_1"])
    assert torch.equal(one.param_grads["first.weight"], net.first.weight.grad)


# --- threads and lifetimes ----------------------------------------------------------------------------------


def test_backward_may_run_in_other_threads(net: Net, x: Tensor) -> None:
    histories = [captured(net, x * number, level="aten") for number in range(1, 4)]
    expected = [
        torch.autograd.grad(net(x * number).square().sum(), net.first.weight)[0] for number in range(1, 4)
    ]
    threads = [
        threading.Thread(target=lambda h=history: h.output.square().sum().backward()) for history in histories
    ]
    for thread in threads:
        thread.start()
        thread.join()

    for history, grad in zip(histories, expected, strict=True):
        assert torch.equal(history.param_grads["first.weight"], grad)


def hooks_alive() -> int:
    ours = (grad_log._start, grad_log._ran)
    return sum(type(o) is functools.partial and o.func in ours for o in gc.get_objects())


@pytest.mark.parametrize("ran", [False, True], ids=["before backward", "after backward"])
def test_a_history_is_freed_at_once_and_takes_its_hooks_with_it(net: Net, x: Tensor, ran: bool) -> None:
    nodes = [torch.autograd.graph.get_gradient_edge(param).node for param in net.parameters()]
    gc.collect()
    before = hooks_alive()
    history = captured(net, x)
    if ran:
        history.output.sum().backward()
    assert hooks_alive() > before
    gone = weakref.ref(history)
    gc.disable()
    try:
        del history
        assert gone() is None
    finally:
        gc.enable()

    assert hooks_alive() == before
    assert len(nodes) == 4  # the parameters' own nodes are alive, without our hooks


def test_a_loss_outlives_its_history(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    gone, loss = weakref.ref(history), history.output.sum()
    del history

    assert gone() is None
    loss.backward()
    assert torch.equal(net.first.weight.grad, torch.autograd.grad(net(x).sum(), net.first.weight)[0])


def test_a_model_on_the_meta_device_has_gradients_without_numbers() -> None:
    with torch.device("meta"):
        net, x = Net(), torch.randn(5, 4)
    history = captured(net, x)
    one = history.log_backward(history.output.sum())

    assert history["tanh_1"].grad_contents.shape == (5, 8)
    assert set(one.param_grads) == {name for name, _ in net.named_parameters()}


def test_a_backward_pass_reads_as_a_table(net: Net, x: Tensor) -> None:
    history = captured(net, x)
    text = str(history.log_backward(history.output.sum()))

    lines = text.splitlines()
    assert lines[0].startswith("Backward pass 1 (backward): 10 autograd nodes in ")
    assert any(line.split()[:2] == ["TanhBackward0", "tanh_1_2"] and "5×8" in line for line in lines)
    assert any(line.split()[:2] == ["AccumulateGrad", "first.weight"] for line in lines)

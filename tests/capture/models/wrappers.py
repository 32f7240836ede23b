"""What stands around a model, or between Python and the kernels: transforms, scripts, hooks, threads."""

import copy
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from tests.capture.models.inplace import OVER, matrix, vector
from tests.capture.models.memory import SHAPE_ONLY
from tests.capture.models.registry import small
from tests.capture.models.structure import Plain

PLAIN = "input_1 -> linear_1 -> relu_1 -> add_1 -> output_1"
# Below TorchScript there are only ATen's ops.
PLAIN_IN_ATEN = """
    t_1, input_1 -> addmm_1 -> relu_1 -> add_1 -> output_1
    """


@contextmanager
def process_group() -> Iterator[None]:
    """A group of this one process."""
    with tempfile.TemporaryDirectory() as folder:
        where = f"file://{Path(folder) / 'meeting'}"
        torch.distributed.init_process_group("gloo", init_method=where, rank=0, world_size=1)
        try:
            yield
        finally:
            torch.distributed.destroy_process_group()


# --- around the model -----------------------------------------------------------------


@small(matrix, PLAIN)
def compiled() -> nn.Module:
    """torch.compile: run eagerly for the capture."""
    return torch.compile(Plain(), backend="eager")


@small(
    matrix,
    "input_1 -> linear_1 -> relu_1 -> add_1 -> sin_1 -> output_1",
)
class CompiledInside(nn.Module):
    """A part of the model is compiled, and a function, too."""

    def __init__(self) -> None:
        super().__init__()
        self.part = torch.compile(Plain(), backend="eager")
        self.sine = torch.compile(torch.sin, backend="eager")

    def forward(self, x: Tensor) -> Tensor:
        return self.sine(self.part(x))


@small(matrix, PLAIN)
def data_parallel() -> nn.Module:
    """DataParallel."""
    return nn.DataParallel(Plain())


@small(matrix, PLAIN, around=process_group)
def distributed_data_parallel() -> nn.Module:
    """DistributedDataParallel, in a group of one."""
    return nn.parallel.DistributedDataParallel(Plain())


@small(matrix, PLAIN, around=torch.no_grad)
def under_no_grad() -> nn.Module:
    """Called under no_grad."""
    return Plain()


@small(matrix, "input_1 -> linear_1 -> relu_1 -> linear_2 -> output_1", around=torch.inference_mode)
def under_inference_mode() -> nn.Module:
    """Called under inference_mode, where tensors have no versions."""
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4))


@small(matrix, PLAIN, around=lambda: torch.autocast("cpu", dtype=torch.bfloat16))
def under_autocast() -> nn.Module:
    """Called under autocast."""
    return Plain()


@small(matrix, parts=lambda: {"linear": nn.Linear(4, 4)})
def autocast_inside(self, x: Tensor) -> Tensor:
    """Part of the model runs in another precision.

    input_1 -> linear_1:1 -> float_1
    input_1 -> linear_1:2
    float_1, linear_1:2 -> add_1 -> output_1
    """
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = self.linear(x)
    return y.float() + self.linear(x)


@small(matrix, parts=lambda: {"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
def grad_modes_inside(self, x: Tensor) -> Tensor:
    """One branch without gradients, one in inference mode.

    input_1 -> linear_1 -> relu_1
    input_1 -> linear_2 -> clone_1
    relu_1, clone_1 -> add_1 -> output_1
    """
    with torch.no_grad():
        left = self.a(x).relu_()
    with torch.inference_mode():
        right = self.b(x)
    return left + right.clone()


# --- scripts ----------------------------------------------------------------------------


@small(matrix, PLAIN_IN_ATEN)
def scripted() -> nn.Module:
    """torch.jit.script: its ops run outside Python."""
    return torch.jit.script(Plain())


@small(matrix, PLAIN_IN_ATEN)
def traced() -> nn.Module:
    """torch.jit.trace."""
    return torch.jit.trace(Plain(), torch.randn(3, 4))


@small(
    matrix,
    parts=lambda: {
        "scripted": torch.jit.script(Plain()),
        "traced": torch.jit.trace(Plain(), torch.randn(3, 4)),
    },
)
def scripts_inside(self, x: Tensor) -> Tensor:
    """A scripted and a traced module among ordinary ops.

    t_1, input_1 -> addmm_1 -> relu_1 -> add_1 -> mul_1
    t_2, mul_1 -> addmm_2 -> relu_2 -> add_2 -> output_1
    """
    return self.traced(self.scripted(x) * 2)


@torch.jit.script
def scripted_function(x: Tensor) -> Tensor:
    return torch.tanh(torch.tanh(x)) * 2


@small(vector, "input_1 -> add_1 -> tanh_1 -> tanh_2 -> mul_1 -> sub_1 -> output_1")
def calls_scripted_function(self, x: Tensor) -> Tensor:
    """A scripted function, called from Python."""
    return scripted_function(x + 1) - 1


# --- transforms and autograd --------------------------------------------------------------


@small(matrix, "input_1 -> mul_1 -> sum_1 -> output_1")
def vmapped(self, x: Tensor) -> Tensor:
    """A function of one row, mapped over all."""
    return torch.vmap(lambda row: (row * 2).sum())(x)


class Squared(torch.autograd.Function):
    """Computes with torch, and has its own gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class GradientReversed(torch.autograd.Function):
    """Gives back its input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return -grad


class SumAndProduct(torch.autograd.Function):
    """Gives two results."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(a, b)
        return a + b, a * b

    @staticmethod
    def backward(ctx: Any, grad_sum: Tensor, grad_product: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_tensors
        return grad_sum + grad_product * b, grad_sum + grad_product * a


class AddedInPlace(torch.autograd.Function):
    """Writes into its input, and says so."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


@small(matrix, "input_1 -> linear_1 -> mul_1 -> sin_1 -> output_1", parts=lambda: {"linear": nn.Linear(4, 4)})
def custom_function(self, x: Tensor) -> Tensor:
    """An autograd.Function: its ops are seen."""
    return Squared.apply(self.linear(x)).sin()


@small(
    matrix, "input_1 -> linear_1 -> viewas_1 -> sin_1 -> output_1", parts=lambda: {"linear": nn.Linear(4, 4)}
)
def custom_function_of_nothing(self, x: Tensor) -> Tensor:
    """An autograd.Function that returns its input: torch makes a view of it, and we draw that."""
    return GradientReversed.apply(self.linear(x)).sin()


@small(matrix, parts=lambda: {"linear": nn.Linear(4, 4)})
def custom_function_of_two(self, x: Tensor) -> Tensor:
    """An autograd.Function with two arguments and two results.

    input_1 -> linear_1
    linear_1, input_1 -> add_1
    linear_1, input_1 -> mul_1
    add_1, mul_1 -> sub_1 -> output_1
    """
    a, b = SumAndProduct.apply(self.linear(x), x)
    return a - b


@small(matrix, "input_1 -> linear_1 -> add_1 -> sin_1 -> output_1", parts=lambda: {"linear": nn.Linear(4, 4)})
def custom_function_in_place(self, x: Tensor) -> Tensor:
    """An autograd.Function that writes into its input."""
    y = self.linear(x)
    AddedInPlace.apply(y)
    return y.sin()


@small(
    lambda: torch.randn(3, 4, requires_grad=True), parts=lambda: {"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)}
)
def checkpointed(self, x: Tensor) -> Tensor:
    """Activations that are computed again in the backward pass, in both of torch's ways.

    input_1 -> linear_1 -> relu_1 -> linear_2 -> relu_2 -> output_1
    """
    y = checkpoint(lambda v: self.a(v).relu(), x, use_reentrant=False)
    return checkpoint(lambda v: self.b(v).relu(), y, use_reentrant=True)


@torch.library.custom_op("torcheer_tests::scale_into", mutates_args={"target"})
def scale_into(factor: Tensor, target: Tensor) -> None:
    target.mul_(factor)


@torch.library.custom_op("torcheer_tests::doubled", mutates_args=())
def doubled(x: Tensor) -> Tensor:
    return x * 2


@small(vector)
def custom_operators(self, x: Tensor) -> Tensor:
    """Operators from torch.library; one of them writes into its second argument and returns nothing.

    input_1 -> add_1
    input_1, add_1 -> scaleinto_1 -> doubled_1 -> output_1
    """
    y = x + 1
    scale_into(x, y)
    return doubled(y)


# --- weights that are computed, hooks, threads ----------------------------------------------


class Symmetric(nn.Module):
    """For a square weight."""

    def forward(self, weight: Tensor) -> Tensor:
        return weight + weight.T


@small(matrix)
def parametrized() -> nn.Module:
    """A weight that is computed from another each time it is read.

    t_1 -> add_1
    input_1, add_1 -> linear_1 -> output_1
    """
    linear = nn.Linear(4, 4)
    parametrize.register_parametrization(linear, "weight", Symmetric())
    return linear


@small(matrix, "input_1, weightnorm_1 -> linear_1 -> output_1")
def weight_normalised() -> nn.Module:
    """weight_norm."""
    return parametrizations.weight_norm(nn.Linear(4, 2))


@small(
    matrix,
    """
    flatten_1, buffer_1 -> mv_1 -> linalgvectornorm_1 -> clampmin_1
    clampmin_1, mv_1 -> expandas_1
    mv_1, expandas_1, buffer_2 -> div_1
    flatten_1 -> h_1
    h_1, div_1 -> mv_2 -> linalgvectornorm_2 -> clampmin_2
    clampmin_2, mv_2 -> expandas_2
    mv_2, expandas_2, buffer_1 -> div_2
    div_1 -> clone_1
    div_2 -> clone_2
    flatten_1, clone_2 -> mv_3
    flatten_1 -> div_3
    clone_1, mv_3 -> vdot_1 -> div_3
    input_1, div_3 -> linear_1 -> output_1
    """,
    exempt={"expandas_1": SHAPE_ONLY, "expandas_2": SHAPE_ONLY, "div_1": OVER, "div_2": OVER},
)
def spectrally_normalised() -> nn.Module:
    """spectral_norm in training: one step of a power iteration, written into buffers with `out=`.

    There is nothing to flatten in a matrix, so `flatten` gives back the weight itself, which is then divided.
    """
    return parametrizations.spectral_norm(nn.Linear(4, 2))


@small(
    matrix,
    "input_1 -> add_1 -> linear_1 -> mul_1 -> relu_1 -> add_2 -> output_1",
)
def hooked() -> nn.Module:
    """The user's own hooks change what goes into a layer and what comes out."""
    model = Plain()
    model.linear.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    model.linear.register_forward_hook(lambda module, args, output: output * 2)
    return model


@small(vector)
def thread_in_forward(self, x: Tensor) -> Tensor:
    """Part of the work is done in a thread that forward starts.

    input_1 -> relu_1 -> mul_1
    mul_1, input_1 -> add_1 -> output_1
    """
    results: list[Tensor] = []
    thread = threading.Thread(target=lambda: results.append(x.relu() * 2))
    thread.start()
    thread.join()
    return results[0] + x


@small(matrix, parts=lambda: {"linear": nn.Linear(4, 2)})
def functional_call(self, x: Tensor) -> Tensor:
    """A module runs with other weights than its own.

    input_1, ones_1, zeros_1 -> linear_1 -> output_1
    """
    weights = {"weight": torch.ones(2, 4), "bias": torch.zeros(2)}
    return torch.func.functional_call(self.linear, weights, (x,))


@small(vector, exempt={"grad_1": "autograd graph"})
def gradient_transform(self, x: Tensor) -> Tensor:
    """torch.func.grad, inside the model.

    input_1 -> requiresgrad_1 -> pow_1 -> sum_1
    sum_1, requiresgrad_1 -> grad_1 -> output_1
    """
    return torch.func.grad(lambda v: (v**3).sum())(x)


@small(matrix, "input_1 -> linear_1 -> viewas_1 -> relu_1 -> add_1 -> output_1")
def hooked_for_backward() -> nn.Module:
    """A full backward hook: torch puts a function that returns its input behind the layer."""
    model = Plain()
    model.linear.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    return model


@small(matrix, parts=lambda: {"linear": nn.Linear(4, 4)})
def copied_in_forward(self, x: Tensor) -> Tensor:
    """A layer is copied in forward, and both run.

    data_1 -> clone_1
    data_2 -> clone_2
    input_1, clone_1, clone_2 -> linear_1
    input_1 -> linear_2
    linear_1, linear_2 -> sub_1 -> output_1
    """
    return copy.deepcopy(self.linear)(x) - self.linear(x)


@small(matrix, "input_1 -> linear_1 -> relu_1 -> add_1 -> output_1", parts=lambda: {"part": Plain()})
def forward_called_directly(self, x: Tensor) -> Tensor:
    """`module.forward(x)`: no hook sees that call, its ops are seen all the same."""
    return self.part.forward(x)


@small(
    vector,
    "input_1, zeros_1 -> add_1 -> output_1",
)
class OtherModeInside(nn.Module):
    """Another function mode is on for a while: `torch.device` as a context is one."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.device("cpu"):
            zeros = torch.zeros(3)
        return x + zeros


@small(vector, "input_1, zeros_1 -> add_1 -> output_1", around=lambda: torch.device("cpu"))
def under_another_mode() -> nn.Module:
    """Another function mode is on around the whole pass."""
    return OtherModeInside()


@small(matrix, "input_1 -> linear_1 -> output_1", parts=lambda: {"linear": nn.Linear(4, 2)})
def vmapped_module(self, x: Tensor) -> Tensor:
    """A module that has parameters is mapped over rows."""
    return torch.vmap(self.linear)(x)


@small(matrix, "input_1 -> linear_1 -> relu_1 -> add_1 -> output_1", parts=lambda: {"part": Plain()})
def counted_inside(self, x: Tensor) -> Tensor:
    """The model counts its own FLOPs, with a dispatch mode."""
    with FlopCounterMode(display=False):
        return self.part(x)


@small(
    vector,
    exempt={
        "oneslike_1": SHAPE_ONLY,
        **dict.fromkeys(["makedual_1", "unpackdual_1"], "torch.func transform"),
    },
)
def forward_mode_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """torch.func.jvp, inside the model.

    input_1 -> oneslike_1
    input_1, oneslike_1 -> makedual_1 -> sin_1 -> unpackdual_1, unpackdual_2
    unpackdual_1 -> output_1
    unpackdual_2 -> output_2
    """
    return torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))

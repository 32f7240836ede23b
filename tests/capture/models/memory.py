"""Where tensors come from and what they are: buffers, constants, NumPy, odd sizes, types and layouts."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.capture.models.inplace import OVER, matrix, vector
from tests.capture.models.registry import small

EMPTY = "nothing in it"
SHAPE_ONLY = "only its shape"
STATISTIC = "running statistic"


class WithBuffer(nn.Module):
    """A base for models with one buffer, `state`."""

    state: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(3))


@small(matrix)
class BufferInPlace(nn.Module):
    """A buffer is updated in place, and then read.

    input_1 -> mean_1
    buffer_1 -> mul_1
    mul_1, mean_1 -> add_1 -> sum_1
    input_1, sum_1 -> sub_1 -> output_1
    """

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        self.mean.mul_(0.9)
        self.mean += x.mean(0)
        return x - self.mean.sum()


@small(vector)
class BufferReplaced(WithBuffer):
    """A buffer is replaced by a new tensor.

    buffer_1, input_1 -> add_1 -> mul_1 -> output_1
    """

    def forward(self, x: Tensor) -> Tensor:
        self.state = self.state + x
        return self.state * 2


@small(vector)
class BufferCounted(WithBuffer):
    """A buffer is written and never read: its update leads nowhere.

    buffer_1 -> add_1
    input_1 -> sin_1 -> output_1
    """

    def forward(self, x: Tensor) -> Tensor:
        self.state.add_(1)
        return x.sin()


@small(vector, exempt={"setitem_1": OVER})
class BufferHistory(WithBuffer):
    """The old value of a buffer is used after the buffer was written.

    buffer_1, input_1 -> setitem_1
    buffer_1 -> clone_1
    clone_1, setitem_1 -> sub_1 -> output_1
    """

    def forward(self, x: Tensor) -> Tensor:
        before = self.state.clone()
        self.state[:] = x
        return before - self.state


@small(
    lambda: torch.randn(4, 3),
    exempt={"batchnorm_1": STATISTIC},
    parts=lambda: {"layers": nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU())},
)
def batch_norm_in_training(self, x: Tensor) -> Tensor:
    """Running statistics are updated on the side.

    input_1 -> linear_1
    buffer_1 -> add_1
    linear_1, buffer_2, buffer_3 -> batchnorm_1 -> relu_1 -> output_1
    """
    return self.layers(x)


@small(
    lambda: torch.randn(4, 3),
    "input_1, buffer_1, buffer_2 -> batchnorm_1 -> output_1",
    eval=True,
)
class BatchNormInEvaluation(nn.Module):
    """The running statistics are read, and the counter is left alone."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.norm.running_mean = torch.tensor([0.1, 0.2, 0.3])

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


@small(
    lambda: torch.randn(4, 3),
    loops=2,
    exempt={
        **dict.fromkeys(["batchnorm_1:1", "batchnorm_1:2"], STATISTIC),
        **dict.fromkeys(["buffer_2:2", "buffer_3:2", "buffer_2:3"], "updated on the side"),
    },
    parts=lambda: {"norm": nn.BatchNorm1d(3)},
)
def batch_norm_twice(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """The second use of a norm sees the statistics that the first one left.

    buffer_1 -> add_1:1 -> add_1:2
    input_1, buffer_2:1, buffer_3:1 -> batchnorm_1:1
    batchnorm_1:1 -> buffer_2:2, buffer_3:2
    batchnorm_1:1, buffer_2:2, buffer_3:2 -> batchnorm_1:2
    batchnorm_1:2 -> output_1
    batchnorm_1:2 -> buffer_2:3 -> output_2
    """
    y = self.norm(self.norm(x))
    return y, self.norm.running_mean


@small(vector)
def factories_inside(self, x: Tensor) -> Tensor:
    """Tensors made inside, by factory functions.

    zeros_1, input_1 -> add_1
    add_1, arange_1 -> mul_1
    full_1, mul_1 -> sub_1
    eye_1, sub_1 -> matmul_1 -> output_1
    """
    y = (torch.zeros(3) + x) * torch.arange(3)
    return torch.eye(3) @ (torch.full((3,), 2.0) - y)


@small(vector, exempt={"zeroslike_1": SHAPE_ONLY, "oneslike_1": SHAPE_ONLY, "newtensor_1": SHAPE_ONLY})
def like_another(self, x: Tensor) -> Tensor:
    """Tensors that take only their shape from another.

    input_1 -> zeroslike_1, oneslike_1, newtensor_1
    input_1, zeroslike_1 -> add_1
    add_1, oneslike_1 -> add_2
    add_2, newtensor_1 -> add_3 -> output_1
    """
    return x + torch.zeros_like(x) + torch.ones_like(x) + x.new_tensor([1.0, 2.0, 3.0])


@small(vector)
def from_python(self, x: Tensor) -> Tensor:
    """`torch.tensor` of a list, and of an array.

    input_1, tensor_1 -> add_1
    add_1, astensor_1 -> mul_1 -> output_1
    """
    return (x + torch.tensor([1.0, 2.0, 3.0])) * torch.as_tensor(np.float32(2.5))


@small(vector, exempt={"source_1": "outside torch"})
def from_numpy(self, x: Tensor) -> Tensor:
    """A tensor that shares the memory of an array: no mode sees `torch.from_numpy`.

    input_1, source_1 -> add_1 -> output_1
    """
    return x + torch.from_numpy(np.arange(3, dtype=np.float32))


@small(vector)
def through_numpy(self, x: Tensor) -> Tensor:
    """A value leaves torch and comes back: there is no line between the two in torch.

    input_1 -> detach_1
    tensor_1, input_1 -> add_1 -> output_1
    """
    outside = np.sin(x.detach().numpy())
    return torch.tensor(outside) + x


@small(vector, exempt={"source_1": "before the pass"}, parts=lambda: {"scale": torch.tensor([1.0, 2.0, 3.0])})
def plain_attribute(self, x: Tensor) -> Tensor:
    """A constant that is neither parameter nor buffer.

    input_1, source_1 -> mul_1 -> output_1
    """
    return x * self.scale


@small(vector, exempt={"source_1": "before the pass"}, parts=lambda: {"state": torch.ones(3)})
def state_in_attribute(self, x: Tensor) -> Tensor:
    """A plain attribute carries state from one forward to the next.

    source_1 -> mul_1
    input_1, mul_1 -> add_1 -> output_1
    """
    self.state = self.state * 2
    return x + self.state


@small(vector, loops=4)
def deleted_tensors(self, x: Tensor) -> Tensor:
    """Tensors die on the way, and new ones get their addresses in memory.

    input_1 -> add_1 -> mul_1
    mul_1, ones_1:1 -> add_2:1
    add_2:1, ones_1:2 -> add_2:2
    add_2:2, ones_1:3 -> add_2:3
    add_2:3, ones_1:4 -> add_2:4 -> output_1
    """
    y = x + 1
    z = y * 2
    del y, x
    for _ in range(4):
        z = z + torch.ones(3)
    return z


@small(matrix, exempt={"getitem_1": EMPTY, "cat_1": EMPTY, "sum_1": EMPTY})
def empty_tensors(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """Tensors with nothing in them.

    input_1 -> getitem_1 -> sum_1
    getitem_1, input_1 -> cat_1
    cat_1 -> output_1
    sum_1 -> output_2
    """
    nothing = x[:0]
    return torch.cat([nothing, x]), nothing.sum()


@small(lambda: torch.tensor(1.5))
def zero_dimensional(self, x: Tensor) -> Tensor:
    """Tensors without dimensions, from the input to the output.

    input_1 -> mul_1 -> unsqueeze_1 -> sum_1
    tensor_1, sum_1 -> add_1 -> output_1
    """
    return torch.tensor(2.0) + (x * 3).unsqueeze(0).sum()


@small(vector)
def mixed_types(self, x: Tensor) -> Tensor:
    """Floats of three sizes, integers and truth values meet.

    input_1 -> double_1, half_1, long_1, gt_1
    double_1, half_1 -> add_1
    long_1, gt_1 -> add_2
    add_1, add_2 -> mul_1 -> to_1 -> output_1
    """
    y = x.double() + x.half()
    z = x.long() + (x > 0)
    return (y * z).to(torch.bfloat16)


@small(lambda: torch.randint(0, 5, (2, 3)), parts=lambda: {"embedding": nn.Embedding(5, 3)})
def integer_input(self, tokens: Tensor) -> Tensor:
    """Indices go in, an embedding and a one-hot come out.

    input_1 -> embedding_1
    input_1 -> onehot_1 -> sum_1
    embedding_1, sum_1 -> matmul_1
    matmul_1 -> output_1
    """
    counts = F.one_hot(tokens, 5).sum(0, dtype=torch.float)
    return self.embedding(tokens) @ counts


@small(lambda: torch.randn(4))
def complex_numbers(self, x: Tensor) -> tuple[Tensor, ...]:
    """Complex tensors, lazily conjugated ones, and their real views.

    input_1 -> fftfft_1 -> mul_1
    mul_1 -> viewasreal_1 -> output_1
    mul_1 -> conj_1 -> real_1 -> output_2
    mul_1 -> imag_1 -> output_3
    mul_1 -> fftifft_1 -> abs_1 -> output_4
    """
    spectrum = torch.fft.fft(x) * 1j
    real = torch.view_as_real(spectrum)
    return real, spectrum.conj().real, spectrum.imag, torch.fft.ifft(spectrum).abs()


@small(lambda: torch.randn(3, dtype=torch.complex64))
def write_real_part(self, x: Tensor) -> Tensor:
    """A write into the real part of a complex tensor.

    input_1 -> clone_1 -> real_1 -> mul_1
    clone_1, mul_1 -> updated_1 -> output_1
    """
    y = x.clone()
    y.real.mul_(3)
    return y


@small(lambda: torch.randn(2, 3).relu())
def sparse_tensors(self, x: Tensor) -> tuple[Tensor, ...]:
    """Sparse tensors, made and multiplied.

    input_1 -> tosparse_1
    input_1 -> t_1
    tosparse_1, t_1 -> sparsemm_1 -> output_1
    tosparse_1 -> coalesce_1 -> values_1 -> output_2
    tensor_1, tensor_2 -> sparsecootensor_1 -> todense_1 -> output_3
    """
    some = x.to_sparse()
    product = torch.sparse.mm(some, x.T)
    made = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), (2, 2))
    return product, some.coalesce().values(), made.to_dense()


@small(lambda: torch.randn(2, 3))
def sparse_rows(self, x: Tensor) -> Tensor:
    """The compressed layout, whose tensors have no single storage.

    input_1 -> tosparsecsr_1 -> mul_1 -> todense_1 -> output_1
    """
    return (x.to_sparse_csr() * 2).to_dense()


@small(lambda: [torch.randn(2, 3), torch.randn(4, 3)], parts=lambda: {"linear": nn.Linear(3, 3)})
def nested_tensors(self, a: Tensor, b: Tensor) -> Tensor:
    """Sequences of different lengths in one tensor.

    input_1, input_2 -> nestedtensorfromtensorlist_1 -> linear_1 -> relu_1 -> nestedtopaddedtensor_1
    nestedtopaddedtensor_1 -> output_1
    """
    both = torch.nested.nested_tensor([a, b])
    return torch.nested.to_padded_tensor(self.linear(both).relu(), 0.0)


@small(lambda: torch.randn(2, 3))
def quantized_tensors(self, x: Tensor) -> Tensor:
    """A quantized tensor, between two real ones.

    input_1 -> quantizepertensor_1 -> dequantize_1 -> output_1
    """
    return torch.quantize_per_tensor(x, 0.1, 10, torch.quint8).dequantize()


@small(vector)
def calls_that_return_their_input(self, x: Tensor) -> Tensor:
    """`contiguous`, `to` and `float` give back the very same tensor when there is nothing to do.

    input_1 -> add_1 -> contiguous_1 -> to_1 -> float_1 -> output_1
    """
    y = x + 1
    return y.contiguous().to("cpu").float()


@small(vector)
def shapes_are_no_ops(self, x: Tensor) -> Tensor:
    """Asking a tensor for its shape, type or device computes nothing.

    input_1 -> sin_1 -> mul_1 -> output_1
    """
    y = x.sin()
    assert y.shape == (3,)
    assert y.dim() == len(y.size()) == 1
    assert y.dtype == torch.float32
    assert y.device.type == "cpu"
    assert y.is_contiguous()
    assert y.requires_grad is False
    return y * y.numel()


@small(
    lambda: torch.tensor([1, 2, 3]),
    exempt={"updated_1": OVER},
    parts=lambda: {"embedding": nn.Embedding(5, 3, max_norm=0.5)},
)
def embedding_with_max_norm(self, tokens: Tensor) -> Tensor:
    """A layer that shortens its own weights, through a detached twin of them, before it uses them.

    input_1 -> contiguous_1
    detach_1, contiguous_1 -> embeddingrenorm_1 -> updated_1
    updated_1, contiguous_1 -> embedding_1 -> output_1
    """
    return self.embedding(tokens)


@small(vector, parts=lambda: {"weight": nn.Parameter(torch.randn(3) * 3)})
def parameter_clipped(self, x: Tensor) -> Tensor:
    """A parameter is clipped in place before it is used.

    clamp_1, input_1 -> mul_1 -> output_1
    """
    with torch.no_grad():
        self.weight.clamp_(-1, 1)
    return x * self.weight


@small(vector, exempt={"updated_1": OVER}, parts=lambda: {"weight": nn.Parameter(torch.randn(3))})
def parameter_halved(self, x: Tensor) -> Tensor:
    """A parameter is used, written behind autograd's back, and used again.

    input_1 -> mul_1
    data_1 -> mul_2 -> updated_1
    mul_1, updated_1 -> add_1 -> output_1
    """
    y = x * self.weight
    self.weight.data.mul_(0.5)
    return y + self.weight


class Marked(torch.Tensor):
    """A tensor subclass that adds nothing."""


@small(lambda: torch.randn(3).as_subclass(Marked), "input_1 -> add_1 -> relu_1 -> mul_1 -> output_1")
def tensor_subclass(self, x: Tensor) -> Tensor:
    """The input is of a subclass, and so is all that is made from it."""
    return (x + 1).relu() * 2


@small(vector)
def lists_of_tensors(self, x: Tensor) -> Tensor:
    """Ops that work on whole lists, one of them in place.

    input_1 -> mul_1
    input_1 -> mul_2
    mul_1, mul_2 -> foreachadd_1, foreachadd_2
    foreachadd_1, foreachadd_2 -> foreachmul_1, foreachmul_2
    foreachmul_1, foreachmul_2 -> sub_1
    sub_1, foreachadd_1 -> sub_2 -> output_1
    """
    both = [x * 1, x * 2]
    torch._foreach_add_(both, 1)
    first, second = torch._foreach_mul(both, 3.0)
    return first - second - both[0]


@small(vector, exempt={"updated_1": "outside torch"})
def write_through_storage(self, x: Tensor) -> Tensor:
    """The bytes are written, below every tensor.

    input_1 -> mul_1 -> updated_1 -> sin_1 -> output_1
    ones_1
    """
    y = x * 1
    y.untyped_storage().copy_(torch.ones(3).untyped_storage())
    return y.sin()


@small(vector)
class BufferDecides(nn.Module):
    """A counter in a buffer decides which way to go.

    buffer_1 -> add_1 -> remainder_1
    input_1 -> add_2 -> mul_1 -> output_1
    """

    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        if self.count % 2:
            x = x + 1
        return x * 2

"""The shape of the graph: shared and identity modules, branches, orphans, ops that hide other ops."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.capture.models.inplace import OVER, UNDEFINED, matrix, vector
from tests.capture.models.memory import SHAPE_ONLY
from tests.capture.models.registry import small


class Plain(nn.Module):
    """A linear layer, a ReLU and a constant: for others to wrap."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.linear(x)) + 1


@small(
    matrix,
    "input_1 -> identity_1 -> linear_1 -> identity_2 -> output_1",
    parts=lambda: {"layers": nn.Sequential(nn.Identity(), nn.Linear(4, 4), nn.Identity())},
)
def identity_modules(self, x: Tensor) -> Tensor:
    """Modules that do nothing still have their place."""
    return self.layers(x)


@small(matrix, parts=lambda: {"first": nn.Linear(4, 4), "second": nn.Linear(4, 4), "relu": nn.ReLU()})
def residual_block(self, x: Tensor) -> Tensor:
    """A skip connection, and one ReLU module that is used in two places.

    input_1 -> linear_1 -> relu_1 -> linear_2
    linear_2, input_1 -> add_1 -> relu_2 -> output_1
    """
    y = self.second(self.relu(self.first(x)))
    return self.relu(y + x)


@small(
    matrix,
    "input_1 -> linear_1 -> relu_1 -> linear_2 -> relu_2 -> linear_3 -> output_1",
)
def relu_shared_in_sequence() -> nn.Module:
    """One ReLU module in two places of a Sequential is no loop."""
    relu = nn.ReLU()
    return nn.Sequential(nn.Linear(4, 4), relu, nn.Linear(4, 4), relu, nn.Linear(4, 4))


@small(
    matrix,
    "input_1 -> linear_1:1 -> linear_2 -> linear_1:2 -> output_1",
    loops=2,
)
class SharedModule(nn.Module):
    """One module under two names, and one weight in two modules."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight
        self.c = self.a

    def forward(self, x: Tensor) -> Tensor:
        return self.c(self.b(self.a(x)))


@small(matrix, parts=lambda: {"weight": nn.Parameter(torch.randn(2, 4))})
def tied_weights(self, x: Tensor) -> Tensor:
    """An autoencoder that decodes with its encoder's weight, transposed.

    input_1 -> linear_1 -> tanh_1
    t_1, tanh_1 -> linear_2 -> output_1
    """
    return F.linear(torch.tanh(F.linear(x, self.weight)), self.weight.t())


@small(lambda: [matrix(), matrix()], parts=lambda: {"encoder": nn.Sequential(nn.Linear(4, 4), nn.ReLU())})
def siamese(self, a: Tensor, b: Tensor) -> Tensor:
    """One encoder for two inputs: two passes, and no recurrence.

    input_1 -> linear_1:1 -> relu_1:1
    input_2 -> linear_1:2 -> relu_1:2
    relu_1:1, relu_1:2 -> sub_1 -> output_1
    """
    return self.encoder(a) - self.encoder(b)


@small(vector)
class BareParameters(nn.Module):
    """Parameters that no module holds: used directly, and in an op of their own.

    input_1 -> mul_1 -> add_1 -> output_1
    exp_1 -> sum_1
    add_1, sum_1 -> sub_1 -> output_2
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))
        self.biases = nn.ParameterList([nn.Parameter(torch.randn(3))])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * self.weight + self.biases[0]
        return y, y - self.weight.exp().sum()


@small(vector, parts=lambda: {"linear": nn.Linear(3, 3)})
def orphans(self, x: Tensor) -> Tensor:
    """Ops that lead nowhere: from the input, and from nothing.

    input_1 -> linear_1 -> output_1
    input_1 -> sin_1
    ones_1 -> mul_1
    """
    x.sin()
    torch.ones(3) * 2
    return self.linear(x)


@small(
    vector,
    exempt={
        "empty_1": UNDEFINED,
        "empty_2": UNDEFINED,
        "kaiminguniform_1": OVER,
        "uniform_1": OVER,
    },
)
def module_made_in_forward(self, x: Tensor) -> Tensor:
    """A layer is made, initialised and used in one forward.

    empty_1 -> kaiminguniform_1
    empty_2 -> uniform_1
    input_1, kaiminguniform_1, uniform_1 -> linear_1 -> output_1
    """
    return nn.Linear(3, 2)(x)


@small(lambda: torch.rand(3))
def conditional(self, x: Tensor) -> Tensor:
    """A tensor's truth value decides.

    input_1 -> sum_1 -> gt_1
    input_1 -> relu_1 -> mul_1 -> output_1
    """
    y = x.relu() if x.sum() > 0 else x.tanh()
    return y * 2


@small(vector)
def data_dependent_numbers(self, x: Tensor) -> Tensor:
    """`item()`, `int()` and `tolist()` take values out of torch.

    input_1 -> abs_1 -> max_1
    input_1 -> argmax_1
    input_1 -> mul_1 -> add_1 -> output_1
    """
    top = x.abs().max().item()
    where = int(x.argmax())
    return x * top + len(x.tolist()) * where


@small(lambda: torch.randn(4, 4))
def several_outputs(self, x: Tensor) -> tuple[Tensor, ...]:
    """Ops that give more than one tensor.

    input_1 -> chunk_1, chunk_2
    input_1 -> max_1, max_2
    input_1 -> linalgqr_1, linalgqr_2
    chunk_1, chunk_2 -> mul_1
    mul_1, max_1 -> add_1 -> output_1
    max_2 -> output_2
    linalgqr_1, linalgqr_2 -> matmul_1 -> output_3
    """
    upper, lower = x.chunk(2)
    values, indices = x.max(0)
    q, r = torch.linalg.qr(x)
    return upper * lower + values, indices, q @ r


@small(lambda: torch.randn(4, 2))
class ModuleDictionary(nn.Module):
    """Heads in a ModuleDict; one of them is never used.

    input_1 -> getitem_1 -> linear_1 -> output_1
    input_1 -> getitem_2 -> linear_2 -> output_2
    """

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 1), "unused": nn.Linear(2, 1)})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"a": self.heads["a"](x[:2]), "b": self.heads["b"](x[2:])}


@small(
    lambda: torch.randn(1, 3, 4), parts=lambda: {"attention": nn.MultiheadAttention(4, 2, batch_first=True)}
)
def attention(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """Multi-head attention is one Python function: it opens up into its ops.

    input_1 -> transpose_1 -> linear_1 -> unflatten_1 -> unsqueeze_1 -> transpose_2 -> squeeze_1
    squeeze_1 -> contiguous_1
    contiguous_1 -> getitem_1 -> view_1 -> transpose_3 -> mul_1
    contiguous_1 -> getitem_2 -> view_2 -> transpose_4 -> transpose_6
    contiguous_1 -> getitem_3 -> view_3 -> transpose_5
    mul_1, transpose_6 -> bmm_1 -> softmax_1
    softmax_1, transpose_5 -> bmm_2 -> transpose_7 -> reshape_1 -> linear_2
    linear_2 -> view_4 -> transpose_8 -> output_1
    softmax_1 -> view_5 -> mean_1 -> output_2
    """
    return self.attention(x, x, x)


@small(lambda: torch.randn(1, 1, 8))
def interpolate_and_stft(self, x: Tensor) -> tuple[Tensor, ...]:
    """Functions that check and pad in Python, and then call one kernel.

    input_1 -> upsamplenearest1d_1 -> output_1
    input_1 -> upsamplelinear1d_1 -> output_2
    input_1 -> flatten_1 -> view_1 -> pad_1 -> view_2
    ones_1, view_2 -> stft_1 -> output_3
    """
    bigger = F.interpolate(x, scale_factor=2), F.interpolate(x, size=5, mode="linear")
    return *bigger, torch.stft(x.flatten(), 4, window=torch.ones(4), return_complex=True)


@small(matrix, exempt={"expandas_1": SHAPE_ONLY})
def python_functions(self, x: Tensor) -> tuple[Tensor, ...]:
    """einsum, norm, unique and normalize.

    input_1 -> einsum_1 -> output_1
    input_1 -> linalgvectornorm_1 -> output_2
    input_1 -> round_1 -> unique_1, unique_2
    unique_1 -> output_3
    unique_2 -> output_4
    input_1 -> linalgvectornorm_2 -> clampmin_1
    clampmin_1, input_1 -> expandas_1
    input_1, expandas_1 -> div_1 -> output_5
    """
    pairs = torch.einsum("ij,kj->ik", x, x)
    values, counts = torch.unique(x.round(), return_counts=True)
    return pairs, x.norm(), values, counts, F.normalize(x)


@small(lambda: torch.randn(2, 4, 3), parts=lambda: {"gru": nn.GRU(3, 4, batch_first=True)})
def packed_sequences(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """Sequences of different lengths, packed for a recurrent layer.

    input_1, astensor_1 -> packpaddedsequence_1, packpaddedsequence_2
    packpaddedsequence_2 -> getitem_1 -> zeros_1
    packpaddedsequence_2 -> getitem_2
    packpaddedsequence_1, packpaddedsequence_2, zeros_1 -> gru_1, gru_2
    gru_1, packpaddedsequence_2 -> padpackedsequence_1, padpackedsequence_2
    padpackedsequence_1 -> output_1
    gru_2 -> output_2
    """
    packed = pack_padded_sequence(x, [4, 2], batch_first=True)
    states, last = self.gru(packed)
    return pad_packed_sequence(states, batch_first=True)[0], last


@small(lambda: torch.randn(2, 3), loops=3)
class CalledFromTwoModules(nn.Module):
    """A layer that two other modules hold, called from the outside as well.

    input_1 -> linear_1:1 -> relu_1:1
    input_1 -> linear_1:2 -> relu_1:2
    relu_1:1, relu_1:2 -> add_1
    add_1 -> linear_1:3 -> relu_1:3 -> output_1
    """

    def __init__(self) -> None:
        super().__init__()
        shared = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.left, self.right, self.top = nn.Sequential(shared), nn.Sequential(shared), shared

    def forward(self, x: Tensor) -> Tensor:
        return self.top(self.left(x) + self.right(x))


@small(lambda: torch.randn(1, 1, 4, 4))
class SmallUNet(nn.Module):
    """Down, up, and across.

    input_1 -> conv2d_1 -> relu_1 -> maxpool2d_1 -> conv2d_2 -> relu_2 -> upsamplenearest2d_1
    relu_1, upsamplenearest2d_1 -> cat_1 -> conv2d_3 -> output_1
    """

    def __init__(self) -> None:
        super().__init__()
        self.down, self.bottom = nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)
        self.out, self.pool, self.up = nn.Conv2d(4, 1, 1), nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x: Tensor) -> Tensor:
        high = torch.relu(self.down(x))
        low = torch.relu(self.bottom(self.pool(high)))
        return self.out(torch.cat([high, self.up(low)], 1))


@small(vector)
def operators(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """Python's operators, also with the number on the left.

    input_1 -> add_1 -> reciprocal_1 -> mul_1 -> pow_1 -> rsub_1
    rsub_1, input_1 -> remainder_1 -> floordivide_1 -> neg_1 -> abs_1
    abs_1, input_1 -> matmul_1
    abs_1, matmul_1 -> gt_1
    abs_1 -> lt_1 -> invert_1
    gt_1, invert_1 -> xor_1 -> output_1
    abs_1 -> pow_2 -> output_2
    """
    y = 1 - (2 / (x + 3)) ** 2
    z = abs(-(y % x // 0.1))
    return (z > z @ x) ^ ~(z < 1), 2**z


@small(vector, exempt={"grad_1": "autograd graph"})
def gradient_in_forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """A gradient is part of the forward pass.

    input_1 -> sin_1 -> output_1
    input_1 -> cos_1 -> detach_1 -> requiresgrad_1 -> pow_1 -> sum_1
    sum_1, requiresgrad_1 -> grad_1 -> output_2
    """
    y = x.sin()
    with torch.enable_grad():
        z = x.cos().detach().requires_grad_()
        (gradient,) = torch.autograd.grad((z**3).sum(), z)
    return y, gradient


@small(
    matrix,
    "input_1 -> linear_1:1 -> linear_1:2 -> output_1",
    loops=2,
    parts=lambda: {"layers": [nn.Linear(4, 4)]},
)
def unregistered_module(self, x: Tensor) -> Tensor:
    """A layer in a plain list: the model does not know that it has it."""
    for _ in range(2):
        x = self.layers[0](x)
    return x

"""Loops of every kind, and repeats that are none."""

import functools
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.capture.models.inplace import vector
from tests.capture.models.registry import small

HIDDEN = "other arguments hide it"


def rows() -> Tensor:
    return torch.randn(3, 3)


def wide() -> Tensor:
    return torch.randn(8)  # wide enough for a ReLU to leave something


def three_layers(width: int = 8) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(width, width) for _ in range(3))


# --- recurrent -----------------------------------------------------------------------


@small(rows, loops=3, exempt={"linear_1:1": HIDDEN})  # its first state is zero
class SimpleRecurrence(nn.Module):
    """`h = tanh(a(h) + b(x))`: one tanh, three passes.

    zeros_1 -> linear_1:1
    input_1 -> getitem_1:1 -> linear_2:1
    linear_1:1, linear_2:1 -> add_1:1 -> tanh_1:1 -> linear_1:2
    input_1 -> getitem_1:2 -> linear_2:2
    linear_1:2, linear_2:2 -> add_1:2 -> tanh_1:2 -> linear_1:3
    input_1 -> getitem_1:3 -> linear_2:3
    linear_1:3, linear_2:3 -> add_1:3 -> tanh_1:3 -> output_1
    """

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(3)
        for t in range(3):
            h = torch.tanh(self.a(h) + self.b(x[t]))
        return h


@small(rows, loops=2, exempt={"mul_1:1": HIDDEN})  # its first state is zero
class HandMadeLSTM(nn.Module):
    """Four gates and two states.

    input_1 -> getitem_1:1
    getitem_1:1, zeros_1 -> cat_1:1 -> linear_1:1 -> chunk_1:1, chunk_2:1, chunk_3:1, chunk_4:1
    chunk_2:1 -> sigmoid_1:1
    sigmoid_1:1, zeros_2 -> mul_1:1
    chunk_1:1 -> sigmoid_2:1
    chunk_3:1 -> tanh_1:1
    sigmoid_2:1, tanh_1:1 -> mul_2:1
    mul_1:1, mul_2:1 -> add_1:1 -> tanh_2:1
    chunk_4:1 -> sigmoid_3:1
    sigmoid_3:1, tanh_2:1 -> mul_3:1
    input_1 -> getitem_1:2
    getitem_1:2, mul_3:1 -> cat_1:2 -> linear_1:2 -> chunk_1:2, chunk_2:2, chunk_3:2, chunk_4:2
    chunk_2:2 -> sigmoid_1:2
    sigmoid_1:2, add_1:1 -> mul_1:2
    chunk_1:2 -> sigmoid_2:2
    chunk_3:2 -> tanh_1:2
    sigmoid_2:2, tanh_1:2 -> mul_2:2
    mul_1:2, mul_2:2 -> add_1:2 -> tanh_2:2
    chunk_4:2 -> sigmoid_3:2
    sigmoid_3:2, tanh_2:2 -> mul_3:2 -> output_1
    """

    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.Linear(6, 12)

    def forward(self, x: Tensor) -> Tensor:
        h, c = torch.zeros(3), torch.zeros(3)
        for t in range(2):
            i, f, g, o = self.gates(torch.cat([x[t], h])).chunk(4)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return h


@small(
    rows, loops=2, exempt={"rnntanhcell_1:1": HIDDEN, "rnntanhcell_2:1": HIDDEN}
)  # their first state is zero
class StackedCells(nn.Module):
    """Two cells, the second on top of the first.

    input_1 -> getitem_1:1 -> unsqueeze_1:1
    zeros_1 -> unsqueeze_2:1
    unsqueeze_1:1, unsqueeze_2:1 -> rnntanhcell_1:1 -> squeeze_1:1 -> unsqueeze_3:1
    zeros_1 -> unsqueeze_4:1
    unsqueeze_3:1, unsqueeze_4:1 -> rnntanhcell_2:1 -> squeeze_2:1
    input_1 -> getitem_1:2 -> unsqueeze_1:2
    squeeze_1:1 -> unsqueeze_2:2
    unsqueeze_1:2, unsqueeze_2:2 -> rnntanhcell_1:2 -> squeeze_1:2 -> unsqueeze_3:2
    squeeze_2:1 -> unsqueeze_4:2
    unsqueeze_3:2, unsqueeze_4:2 -> rnntanhcell_2:2 -> squeeze_2:2 -> output_1
    """

    def __init__(self) -> None:
        super().__init__()
        self.lower, self.upper = nn.RNNCell(3, 3), nn.RNNCell(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = k = torch.zeros(3)
        for t in range(2):
            h = self.lower(x[t], h)
            k = self.upper(h, k)
        return k


@small(vector, loops=3)
def loop_without_parameters(self, x: Tensor) -> Tensor:
    """A loop that has no weight to go by.

    input_1 -> sin_1:1 -> mul_1:1 -> sin_1:2 -> mul_1:2 -> sin_1:3 -> mul_1:3 -> output_1
    """
    for _ in range(3):
        x = torch.sin(x) * 2
    return x


@small(vector, loops=5)
def nested_loops(self, x: Tensor) -> Tensor:
    """A loop in a loop, longer the second time.

    input_1 -> add_1:1 -> mul_1:1 -> mul_1:2 -> add_1:2 -> mul_1:3 -> mul_1:4 -> mul_1:5 -> output_1
    """
    for i in range(2):
        x = x + 1
        for _ in range(2 + i):
            x = x * 2
    return x


@small(wide, loops=4)
class LoopInModuleInLoop(nn.Module):
    """A module that loops is itself called in a loop.

    input_1 -> linear_1:1 -> relu_1:1 -> linear_1:2 -> relu_1:2 -> add_1:1
    add_1:1 -> linear_1:3 -> relu_1:3 -> linear_1:4 -> relu_1:4 -> add_1:2 -> output_1
    """

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(2):
                x = torch.relu(self.linear(x))
            return x

    def __init__(self) -> None:
        super().__init__()
        self.inner = self.Inner()

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(2):
            x = self.inner(x) + 1
        return x


@small(vector, loops=3)
def two_strands(self, x: Tensor) -> Tensor:
    """Two loops in one, which do not touch.

    input_1 -> sin_1:1 -> sin_1:2 -> sin_1:3
    input_1 -> cos_1:1 -> cos_1:2 -> cos_1:3
    sin_1:3, cos_1:3 -> add_1 -> output_1
    """
    a = b = x
    for _ in range(3):
        a = a.sin()
        b = b.cos()
    return a + b


@small(vector, loops=3)
def interleaved_strands(self, x: Tensor) -> Tensor:
    """Two values that change places in each round.

    input_1 -> add_1 -> sin_1:1
    input_1 -> cos_1:1
    cos_1:1 -> sin_1:2
    sin_1:1 -> cos_1:2
    cos_1:2 -> sin_1:3
    sin_1:2 -> cos_1:3
    sin_1:3, cos_1:3 -> add_2 -> output_1
    """
    a, b = x, x + 1
    for _ in range(3):
        a, b = b.sin(), a.cos()
    return a + b


@small(lambda: torch.ones(3) * 5, loops=3)
def while_loop(self, x: Tensor) -> Tensor:
    """A tensor says when to stop: the test runs once more than the body.

    input_1 -> sum_1:1 -> lt_1:1
    input_1 -> mul_1:1 -> sum_1:2 -> lt_1:2
    mul_1:1 -> mul_1:2 -> sum_1:3 -> lt_1:3
    mul_1:2 -> mul_1:3 -> sum_1:4 -> lt_1:4
    mul_1:3 -> output_1
    """
    while x.sum() < 100:
        x = x * 2
    return x


@small(lambda: torch.ones(3), loops=3)
def loop_with_break(self, x: Tensor) -> Tensor:
    """The last round ends in its middle.

    input_1 -> mul_1:1 -> max_1:1 -> gt_1:1
    mul_1:1 -> add_1:1 -> mul_1:2 -> max_1:2 -> gt_1:2
    mul_1:2 -> add_1:2 -> mul_1:3 -> max_1:3 -> gt_1:3
    mul_1:3 -> output_1
    """
    for _ in range(10):
        x = x * 3
        if x.max() > 30:
            break
        x = x + 1
    return x


def one_step(x: Tensor) -> Tensor:
    return torch.tanh(x + 1)


@small(vector, loops=3)
def loop_over_helper(self, x: Tensor) -> Tensor:
    """The body of the loop is a function elsewhere.

    input_1 -> add_1:1 -> tanh_1:1 -> add_1:2 -> tanh_1:2 -> add_1:3 -> tanh_1:3 -> output_1
    """
    for _ in range(3):
        x = one_step(x)
    return x


@small(vector, loops=2)
def helper_twice_in_loop(self, x: Tensor) -> Tensor:
    """The helper is called in two places of each round.

    input_1 -> add_1:1 -> tanh_1:1 -> add_2:1 -> tanh_2:1
    tanh_2:1 -> add_1:2 -> tanh_1:2 -> add_2:2 -> tanh_2:2 -> output_1
    """
    for _ in range(2):
        x = one_step(x)
        x = one_step(x)
    return x


@small(vector, loops=3)
class Recursion(nn.Module):
    """A method that calls itself.

    input_1 -> sin_1:1 -> sin_1:2 -> sin_1:3 -> output_1
    """

    def step(self, x: Tensor, rest: int) -> Tensor:
        return x if rest == 0 else self.step(x.sin(), rest - 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x, 3)


@small(vector, loops=3)
class LoopInGenerator(nn.Module):
    """The loop runs inside a generator that another function drains.

    input_1 -> sin_1:1 -> sin_1:2 -> sin_1:3
    sin_1:1, sin_1:2, sin_1:3 -> stack_1 -> output_1
    """

    def states(self, x: Tensor) -> Iterator[Tensor]:
        for _ in range(3):
            x = x.sin()
            yield x

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack(list(self.states(x)))


@small(rows, loops=2)
def loop_by_reduce(self, x: Tensor) -> Tensor:
    """`functools.reduce` over the rows.

    input_1 -> unbind_1, unbind_2, unbind_3
    unbind_1, unbind_2 -> add_1:1 -> tanh_1:1
    tanh_1:1, unbind_3 -> add_1:2 -> tanh_1:2 -> output_1
    """
    return functools.reduce(lambda a, b: torch.tanh(a + b), x.unbind())


@small(vector, loops=2)
def alternating_branches(self, x: Tensor) -> Tensor:
    """Each round takes the other branch.

    input_1 -> cos_1:1 -> sin_1:1 -> cos_1:2 -> sin_1:2 -> output_1
    """
    for i in range(4):
        x = x.sin() if i % 2 else x.cos()
    return x


@small(rows, loops=3)
def accumulate_from_zero(self, x: Tensor) -> Tensor:
    """The accumulator starts as a number.

    input_1 -> getitem_1:1 -> exp_1:1 -> add_1:1
    input_1 -> getitem_1:2 -> exp_1:2
    add_1:1, exp_1:2 -> add_1:2
    input_1 -> getitem_1:3 -> exp_1:3
    add_1:2, exp_1:3 -> add_1:3 -> output_1
    """
    total = 0
    for t in range(3):
        total = total + x[t].exp()
    return total


@small(vector, loops=3)
def loop_in_place(self, x: Tensor) -> Tensor:
    """One tensor, written over and over.

    input_1 -> clone_1 -> mul_1:1 -> add_1:1 -> mul_1:2 -> add_1:2 -> mul_1:3 -> add_1:3 -> output_1
    """
    y = x.clone()
    for _ in range(3):
        y.mul_(2).add_(1)
    return y


@small(rows, loops=3)
def fill_row_by_row(self, x: Tensor) -> Tensor:
    """A result that is filled by item assignment.

    input_1 -> getitem_1:1 -> mul_1:1
    zeros_1, mul_1:1 -> setitem_1:1
    input_1 -> getitem_1:2 -> mul_1:2
    setitem_1:1, mul_1:2 -> setitem_1:2
    input_1 -> getitem_1:3 -> mul_1:3
    setitem_1:2, mul_1:3 -> setitem_1:3 -> output_1
    """
    y = torch.zeros(3, 3)
    for t in range(3):
        y[t] = x[t] * 2
    return y


@small(lambda: torch.rand(3) + 1, loops=3, exempt={"oneslike_1": "only its shape"})
def newtons_method(self, x: Tensor) -> Tensor:
    """A square root: the state is used twice in each round.

    input_1 -> oneslike_1
    input_1, oneslike_1 -> div_1:1
    oneslike_1, div_1:1 -> add_1:1 -> mul_1:1
    input_1, mul_1:1 -> div_1:2
    mul_1:1, div_1:2 -> add_1:2 -> mul_1:2
    input_1, mul_1:2 -> div_1:3
    mul_1:2, div_1:3 -> add_1:3 -> mul_1:3 -> output_1
    """
    y = torch.ones_like(x)
    for _ in range(3):
        y = 0.5 * (y + x / y)
    return y


@small(vector, loops=3, parts=lambda: {"linear": nn.Linear(3, 3)})
def growing_cache(self, x: Tensor) -> Tensor:
    """Each round looks at all rounds before it.

    input_1 -> linear_1:1 -> stack_1:1 -> mean_1:1 -> linear_1:2
    linear_1:1, linear_1:2 -> stack_1:2 -> mean_1:2 -> linear_1:3
    linear_1:1, linear_1:2, linear_1:3 -> stack_1:3 -> mean_1:3 -> output_1
    """
    cache: list[Tensor] = []
    for _ in range(3):
        cache.append(self.linear(x))
        x = torch.stack(cache).mean(0)
    return x


@small(
    vector,
    loops=2,
    exempt={"randnlike_1:1": "only its shape", "randnlike_1:2": "only its shape"},
    parts=lambda: {"denoise": nn.Linear(3, 3)},
)
def diffusion(self, x: Tensor) -> Tensor:
    """A denoiser with fresh noise in each round.

    input_1 -> linear_1:1 -> mul_1:1
    input_1, mul_1:1 -> sub_1:1
    input_1 -> randnlike_1:1 -> mul_2:1
    sub_1:1, mul_2:1 -> add_1:1
    add_1:1 -> linear_1:2 -> mul_1:2
    add_1:1, mul_1:2 -> sub_1:2
    add_1:1 -> randnlike_1:2 -> mul_2:2
    sub_1:2, mul_2:2 -> add_1:2 -> output_1
    """
    for amount in (0.3, 0.1):
        x = (x - amount * self.denoise(x)) + torch.randn_like(x) * amount
    return x


@small(wide, loops=3, parts=lambda: {"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)})
def one_loop_after_another(self, x: Tensor) -> Tensor:
    """Two loops of different lengths.

    input_1 -> linear_1:1 -> relu_1:1 -> linear_1:2 -> relu_1:2
    relu_1:2 -> linear_2:1 -> relu_2:1 -> linear_2:2 -> relu_2:2 -> linear_2:3 -> relu_2:3 -> output_1
    """
    for _ in range(2):
        x = torch.relu(self.a(x))
    for _ in range(3):
        x = torch.relu(self.b(x))
    return x


@small(
    vector,
    "input_1 -> linear_1:1 -> linear_1:2 -> linear_1:3 -> output_1",
    loops=3,
    parts=lambda: {"f": nn.Linear(3, 3)},
)
def module_nested_in_itself(self, x: Tensor) -> Tensor:
    """`f(f(f(x)))` in one line: the weight settles it."""
    return self.f(self.f(self.f(x)))


@small(vector, loops=2)
def loop_through_views(self, x: Tensor) -> Tensor:
    """A view is written in each round, and its base is read.

    input_1 -> clone_1 -> getitem_1:1 -> add_1:1
    clone_1, add_1:1 -> updated_1:1 -> mul_1:1 -> getitem_1:2 -> add_1:2
    mul_1:1, add_1:2 -> updated_1:2 -> mul_1:2 -> output_1
    """
    y = x.clone()
    for t in range(2):
        y[t].add_(1)
        y = y * 2
    return y


@small(wide, loops=2, parts=lambda: {"layers": three_layers(), "same": nn.Identity()})
def identity_in_loops(self, x: Tensor) -> Tensor:
    """A module that does nothing, after different layers and then in a loop of its own.

    input_1 -> linear_1 -> identity_1 -> linear_2 -> identity_2 -> linear_3 -> identity_3
    identity_3 -> identity_4:1 -> identity_4:2 -> output_1
    """
    for layer in self.layers:
        x = self.same(layer(x))
    for _ in range(2):
        x = self.same(x)
    return x


@small(rows, loops=3, parts=lambda: {"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
def special_first_round(self, x: Tensor) -> Tensor:
    """There is no state yet in the first round.

    input_1 -> getitem_1:1 -> linear_1:1 -> tanh_1:1 -> linear_2:1
    input_1 -> getitem_1:2 -> linear_1:2
    linear_1:2, linear_2:1 -> add_1:1 -> tanh_1:2 -> linear_2:2
    input_1 -> getitem_1:3 -> linear_1:3
    linear_1:3, linear_2:2 -> add_1:2 -> tanh_1:3 -> output_1
    """
    h = None
    for t in range(3):
        z = self.b(x[t])
        if h is not None:
            z = z + self.a(h)
        h = torch.tanh(z)
    return h


# --- repeats that do not feed back ------------------------------------------------------


@small(rows, parts=lambda: {"linear": nn.Linear(3, 3)})
def same_layer_over_rows(self, x: Tensor) -> Tensor:
    """Three passes side by side: repeated, not recurrent.

    input_1 -> getitem_1:1 -> linear_1:1 -> relu_1:1
    input_1 -> getitem_1:2 -> linear_1:2 -> relu_1:2
    input_1 -> getitem_1:3 -> linear_1:3 -> relu_1:3
    relu_1:1, relu_1:2, relu_1:3 -> stack_1 -> output_1
    """
    return torch.stack([torch.relu(self.linear(x[t])) for t in range(3)])


# --- no loops at all ----------------------------------------------------------------------


@small(
    wide,
    "input_1 -> linear_1 -> relu_1 -> linear_2 -> relu_2 -> linear_3 -> relu_3 -> output_1",
    parts=lambda: {"layers": three_layers()},
)
def loop_over_layers(self, x: Tensor) -> Tensor:
    """`for l in layers: x = relu(l(x))`: different relus."""
    for layer in self.layers:
        x = torch.relu(layer(x))
    return x


@small(
    wide,
    "input_1 -> relu_1 -> linear_1 -> relu_2 -> linear_2 -> relu_3 -> linear_3 -> output_1",
    parts=lambda: {"layers": three_layers()},
)
def loop_over_layers_relu_first(self, x: Tensor) -> Tensor:
    """`for l in layers: x = l(relu(x))`: different relus, too."""
    for layer in self.layers:
        x = layer(torch.relu(x))
    return x


@small(wide, parts=lambda: {"layers": three_layers()})
def residual_stream(self, x: Tensor) -> Tensor:
    """`x = x + l(norm(x))`, with a norm that has no weight.

    input_1 -> layernorm_1 -> linear_1
    input_1, linear_1 -> add_1 -> layernorm_2 -> linear_2
    add_1, linear_2 -> add_2 -> layernorm_3 -> linear_3
    add_2, linear_3 -> add_3 -> output_1
    """
    for layer in self.layers:
        x = x + layer(F.layer_norm(x, (8,)))
    return x


@small(
    wide,
    "input_1 -> linear_1 -> relu_1 -> linear_2 -> relu_2 -> linear_3 -> relu_3 -> output_1",
    parts=lambda: {"layers": three_layers(), "relu": nn.ReLU()},
)
def loop_over_layers_one_re_lu(self, x: Tensor) -> Tensor:
    """The same with one ReLU module for all."""
    for layer in self.layers:
        x = self.relu(layer(x))
    return x


@small(wide, parts=lambda: {"layers": nn.ModuleList([nn.Linear(8, 8), nn.Linear(16, 8)])})
def densely_connected(self, x: Tensor) -> Tensor:
    """Each layer takes all results before it.

    input_1 -> cat_1 -> linear_1 -> relu_1
    input_1, relu_1 -> cat_2 -> linear_2 -> relu_2
    input_1, relu_1, relu_2 -> cat_3 -> output_1
    """
    found = [x]
    for layer in self.layers:
        found.append(torch.relu(layer(torch.cat(found))))
    return torch.cat(found)


@small(vector, "input_1 -> relu_1 -> relu_2 -> relu_3 -> relu_4 -> output_1")
def plain_repeat(self, x: Tensor) -> Tensor:
    """The same op four times, in four places, is no loop."""
    x = torch.relu(torch.relu(x))
    x = torch.relu(x)
    x = torch.relu(x)
    return x


@small(vector, "input_1 -> add_1 -> tanh_1 -> add_2 -> tanh_2 -> output_1")
def helper_twice(self, x: Tensor) -> Tensor:
    """A helper that is called from two places is no loop."""
    return one_step(one_step(x))


@small(
    lambda: torch.randn(2, 3),
    exempt={"zeroslike_1": "only its shape"},
    parts=lambda: {"gate": nn.Linear(3, 3), "experts": three_layers(3)},
)
def mixture_of_experts(self, x: Tensor) -> Tensor:
    """Different experts, one weight each from one gate: each round is its own.

    input_1 -> linear_1 -> softmax_1
    input_1 -> linear_2
    softmax_1 -> getitem_1
    getitem_1, linear_2 -> mul_1
    input_1 -> zeroslike_1
    zeroslike_1, mul_1 -> add_1
    input_1 -> linear_3
    softmax_1 -> getitem_2
    getitem_2, linear_3 -> mul_2
    add_1, mul_2 -> add_2
    input_1 -> linear_4
    softmax_1 -> getitem_3
    getitem_3, linear_4 -> mul_3
    add_2, mul_3 -> add_3 -> output_1
    """
    weights = self.gate(x).softmax(-1)
    out = torch.zeros_like(x)
    for i, expert in enumerate(self.experts):
        out = out + weights[:, i : i + 1] * expert(x)
    return out

"""Programs made up at random: values, gradients, and gradients of gradients are those of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import torch
import torch.nn.functional as F
from hypothesis import given, settings

from tests.autograd.against import agrees
from tests.many import examples

# Each takes any tensor, a single number or none at all among them. They are smooth where random numbers fall,
# and keep within bounds, so that a dozen in a row can still be compared to ten digits.
ANY: dict[str, Callable[[Any], Any]] = {
    "sin": torch.sin,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": F.gelu,
    "silu": F.silu,
    "softplus": F.softplus,
    "elu": F.elu,
    "leaky relu": lambda x: F.leaky_relu(x, 0.1),
    "atan": torch.atan,
    "erf": torch.erf,
    "bell": lambda x: torch.exp(-x * x),
    "log of square": lambda x: torch.log(x * x + 1),
    "root": lambda x: torch.sqrt(x * x + 0.5),
    "over": lambda x: 1 / (x * x + 1),
    "rsub": lambda x: 2 - x,
    "power": lambda x: (x * x + 0.5) ** -0.5,
    "where": lambda x: torch.where(x > 0, x, 0.1 * x),
    "where a number": lambda x: torch.where(x > 0, 1.0, x),
    "clamp": lambda x: x.clamp(-0.8, 0.7),
    "masked fill": lambda x: x.masked_fill(x > 1, 0.3),
    "detached": lambda x: x.detach() * x,
    "other type": lambda x: x.to(torch.float64).clone(),
    "new dimension": lambda x: x[..., None],
    "first dimension": lambda x: x[None],
    "flat": lambda x: x.reshape(-1),
    "squeezed": lambda x: x.squeeze(),
    "turned": lambda x: x.permute(tuple(reversed(range(x.dim())))),
    "twice": lambda x: torch.stack([x, -x], -1),
    "chosen": lambda x: x[x > 0],
    "all of it": lambda x: x.sum(),
    "copies": lambda x: x.expand(2, *x.shape),
    "repeated": lambda x: x.repeat(2, *[1] * x.dim()),
}
# These need a dimension with something in it.
FULL: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: x.mean(-1),
    "sum kept": lambda x: x.sum(0, keepdim=True),
    "largest": lambda x: x.max(-1)[0],
    "smallest": lambda x: x.amin(0),
    "sorted": lambda x: x.sort(-1)[0],
    "two best": lambda x: x.topk(min(2, x.shape[-1]), -1)[0],
    "softmax": lambda x: x.softmax(-1),
    "log softmax": lambda x: F.log_softmax(x, 0),
    "log sum exp": lambda x: torch.logsumexp(x, 0),
    "cumsum": lambda x: x.cumsum(-1),
    "product": lambda x: x.prod(-1),
    "norm": lambda x: (x + 3).norm(dim=0),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, -1),
    "steps": lambda x: x[..., ::2],
    "rest": lambda x: x[1:],
    "last": lambda x: x[-1],
    "again": lambda x: x[[0, 0, -1]],
    "by tensor": lambda x: x[..., torch.tensor([0, -1, 0])],
    "joined": lambda x: torch.cat([x, x * 2], 0),
    "halves": lambda x: torch.cat(x.chunk(2, -1)[::-1], -1),
    "padded": lambda x: F.pad(x, (1, 2)),
    "gathered": lambda x: x.gather(-1, x.detach().argsort(-1)),
    "added at": lambda x: x.index_add(0, torch.tensor([0, 0]), x[[0, -1]]),
    "with itself": lambda x: torch.einsum("...i,...j->...ij", x, x),
    "transposed": lambda x: x.transpose(0, -1),
}
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": lambda a, b: a / (b * b + 1),
    "maximum": torch.maximum,
    "chosen": lambda a, b: torch.where(a > b, a, b),
    "atan2": lambda a, b: torch.atan2(a, b + 9),
    "power": lambda a, b: (a * a + 0.3) ** torch.tanh(b),
    "lerp": lambda a, b: torch.lerp(a, b, 0.2),
    "matmul": torch.matmul,
}
NAMES = [*ANY, *FULL, *(f"2 {name}" for name in TWO)]
Step = tuple[str, int, int]  # its name, and which of the values so far it takes
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*ANY, *FULL, *(f"2 {name}" for name in TWO)]), st.integers(0, 9), st.integers(0, 9)
    ),
    min_size=2,
    max_size=8,
)
SHAPES = st.lists(st.integers(0, 3), max_size=3).flatmap(
    lambda shape: st.tuples(st.just(shape), st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
)


def run(steps: list[Step], inputs: tuple[Any, ...]) -> list[Any]:
    """Each step takes some values that are there, and adds one. One that does not fit them is passed over."""
    values = list(inputs)
    for name, first, second in steps:
        a, b = values[first % len(values)], values[second % len(values)]
        if name.startswith("2 "):
            if _fit(name, a.shape, b.shape):
                values.append(TWO[name[2:]](a, b))
        elif name in ANY or (a.dim() and a.numel()):
            values.append((ANY.get(name) or FULL[name])(a))
        if values[-1].numel() > 500:
            values.pop()
    return values


def _fit(name: str, first: Any, second: Any) -> bool:
    try:
        if name == "2 matmul":
            torch.matmul(torch.zeros(first), torch.zeros(second))
        else:
            torch.broadcast_shapes(first, second)
    except RuntimeError:
        return False
    return True


@settings(max_examples=examples(80), deadline=None)
@given(steps=STEPS, shape=SHAPES, seed=st.integers(0, 10_000), is_turned=st.booleans())
def test_a_random_program_has_torchs_gradients(
    steps: list[Step], shape: tuple[list[int], list[bool]], seed: int, is_turned: bool
) -> None:
    sizes, is_one = shape
    narrow = [1 if one else size for size, one in zip(sizes, is_one, strict=True)]
    source = torch.Generator().manual_seed(seed)
    shapes = [sizes, narrow, narrow[1:]]
    inputs = [torch.randn(one, generator=source, dtype=torch.float64) for one in shapes]
    if is_turned and len(sizes) > 1:
        inputs[0] = inputs[0].transpose(0, -1).contiguous().transpose(0, -1)

    agrees(lambda *x: run(steps, x), inputs, tolerance=1e-9)

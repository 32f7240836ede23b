"""Every row of the table of rules: against torch's gradients of the same forward, and against differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from torch import Tensor

from tests.autograd.against import DOMAINS, agrees
from tests.many import examples
from torcheer.autograd import RULES, grad, tracer
from torcheer.autograd.engine import apply

Draw = Callable[[Any], Any]


class Case(NamedTuple):
    """What an op is called with."""

    inputs: list[Tensor]
    others: tuple[Any, ...] = ()  # inputs without a gradient, after those with one
    options: dict[str, Any] = {}  # noqa: RUF012  (never written to)


# --- how to sample ---------------------------------------------------------------------------------------


def numbers(draw: Draw, shape: tuple[int, ...], domain: str = "any", *, ties: bool = False) -> Tensor:
    """Float64 of this shape: dense, turned, or with gaps between the elements."""
    source = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    layout = draw(st.sampled_from(["dense", "turned", "gaps"])) if shape else "dense"

    def random(*sizes: int) -> Tensor:
        return DOMAINS[domain](torch.randn(sizes, generator=source, dtype=torch.float64))

    if layout == "turned":
        made = random(*reversed(shape)).permute(*reversed(range(len(shape))))
    elif layout == "gaps":
        made = random(*shape[:-1], 2 * shape[-1])[..., ::2]
    else:
        made = random(*shape)
    return made.round() if ties else made


def shapes(draw: Draw, *, smallest: int = 0, min_dims: int = 0, max_dims: int = 3) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(smallest, 4), min_size=min_dims, max_size=max_dims)))


def one(domain: str = "any", **options: Any) -> Callable[[Draw], Case]:
    return lambda draw: Case([numbers(draw, shapes(draw), domain)], options=options)


def two(domain: str = "any", *, ties: bool = False) -> Callable[[Draw], Case]:
    def sample(draw: Draw) -> Case:
        first, second = draw(
            mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=4, max_dims=3)
        ).input_shapes
        use_ties = ties and draw(st.booleans())
        return Case([numbers(draw, shape, domain, ties=use_ties) for shape in (first, second)])

    return sample


def number_and(sample: Callable[[Draw], Case], domain: str = "any") -> Callable[[Draw], Case]:
    """Two tensors, or a tensor and a number."""

    def either(draw: Draw) -> Case:
        if draw(st.booleans()):
            return sample(draw)
        return Case([numbers(draw, shapes(draw), domain)], (draw(st.sampled_from([0.7, 2, -3, 1])),))

    return either


def power(draw: Draw) -> Case:
    if draw(st.booleans()):
        return two("positive")(draw)
    return Case([numbers(draw, shapes(draw), "positive")], (draw(st.sampled_from([2, 3, 0.5, -1.5, 0, 1])),))


def choice(draw: Draw) -> Case:
    sampled = two()(draw)
    shape = torch.broadcast_shapes(*[value.shape for value in sampled.inputs])
    return sampled._replace(options={"mask": numbers(draw, tuple(shape)) > 0})


def reduction(*, smallest: int = 0, fewest: int = 0, ties: bool = False) -> Callable[[Draw], Case]:
    def sample(draw: Draw) -> Case:
        shape = shapes(draw, smallest=smallest)
        places = st.integers(-len(shape), len(shape) - 1) if shape else st.just(0)
        several = st.sets(st.integers(0, max(0, len(shape) - 1)), min_size=fewest)
        dim = draw(st.one_of(places, several.map(lambda dims: tuple(sorted(dims)))) if shape else places)
        value = numbers(draw, shape, ties=ties and draw(st.booleans()))
        return Case([value], options={"dim": dim, "keepdim": draw(st.booleans())})

    return sample


def along(draw: Draw) -> Case:
    shape = shapes(draw, smallest=1)
    dim = draw(st.integers(-len(shape), len(shape) - 1)) if shape else 0
    return Case([numbers(draw, shape)], options={"dim": dim})


def reshaped(draw: Draw) -> Case:
    shape = shapes(draw)
    return Case([numbers(draw, shape)], options={"shape": (math.prod(shape),)})


def permuted(draw: Draw) -> Case:
    shape = shapes(draw)
    dims = draw(st.permutations(range(len(shape))))
    turned = [dim - len(shape) if draw(st.booleans()) else dim for dim in dims]
    return Case([numbers(draw, shape)], options={"dims": tuple(turned)})


def expanded(draw: Draw) -> Case:
    shape = tuple(draw(st.sampled_from([1, 1, 3])) for _ in range(draw(st.integers(0, 3))))
    larger = tuple(draw(st.integers(0, 3)) if size == 1 else size for size in shape)
    return Case([numbers(draw, shape)], options={"shape": (2,) * draw(st.integers(0, 1)) + larger})


def flipped(draw: Draw) -> Case:
    shape = shapes(draw)
    dims = draw(st.sets(st.integers(0, len(shape) - 1))) if shape else ()
    return Case([numbers(draw, shape)], options={"dims": tuple(sorted(dims))})


def joined(draw: Draw) -> Case:
    shape = list(shapes(draw, min_dims=1))
    dim = draw(st.integers(0, len(shape) - 1))
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    parts = [numbers(draw, (*shape[:dim], size, *shape[dim + 1 :])) for size in sizes]
    return Case(parts, options={"dim": dim - draw(st.sampled_from([0, len(shape)]))})


KEYS: list[Any] = [
    0, -1, slice(None), slice(1, None), slice(None, None, 2), (slice(None), 1), (..., 0), None, (None, 1),
    (0, 2), [0, 2, 2], (slice(None), [1, 1, 3]), torch.tensor([2, 0]), torch.tensor(1),
    (torch.tensor([0, 0]), torch.tensor([3, 3])),
    torch.arange(12).reshape(3, 4) % 5 == 0, torch.tensor([True, False, True]), True, (slice(1, 1), ...),
    (torch.tensor([[0], [2]]), slice(None, None, 3)),
]  # fmt: skip


def indexed(draw: Draw) -> Case:
    return Case([numbers(draw, (3, 4))], options={"key": draw(st.sampled_from(KEYS))})


def put(draw: Draw) -> Case:
    key = draw(st.sampled_from(KEYS))
    shape = tuple(torch.zeros(3, 4)[key].shape)
    return Case([numbers(draw, shape)], options={"shape": (3, 4), "key": key})


def _index(draw: Draw, shape: tuple[int, ...], dim: int) -> Tensor:
    source = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    wanted = [draw(st.integers(0, 5 if place == dim else size)) for place, size in enumerate(shape)]
    return torch.randint(shape[dim] if shape else 1, wanted, generator=source)


def gathered(draw: Draw) -> Case:
    shape = shapes(draw, smallest=1)
    dim = draw(st.integers(0, max(0, len(shape) - 1)))
    return Case([numbers(draw, shape)], options={"dim": dim, "index": _index(draw, shape, dim)})


def scattered(draw: Draw) -> Case:
    shape = shapes(draw, smallest=1)
    dim = draw(st.integers(0, max(0, len(shape) - 1)))
    index = _index(draw, shape, dim)
    value = numbers(draw, tuple(index.shape))
    return Case([value], options={"shape": shape, "dim": dim, "index": index})


def matrices(draw: Draw) -> Case:
    before = draw(
        mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=2)
    ).input_shapes
    high, inner, wide = (draw(st.integers(0, 3)) for _ in range(3))
    return Case([numbers(draw, (*before[0], high, inner)), numbers(draw, (*before[1], inner, wide))])


def factors(draw: Draw) -> Case:
    """Letters with a size each, some for each factor, of which some stay."""
    sizes = {letter: draw(st.integers(0, 3)) for letter in "ijkl"}
    terms = [
        "".join(draw(st.permutations("ijkl"))[: draw(st.integers(0, 3))])
        for _ in range(draw(st.integers(1, 3)))
    ]
    known = sorted({letter for term in terms for letter in term})
    output = "".join(draw(st.permutations(known))[: draw(st.integers(0, len(known)))])
    inputs = [numbers(draw, tuple(sizes[letter] for letter in term)) for term in terms]
    return Case(inputs, options={"terms": tuple(terms), "output": output})


def layer(draw: Draw) -> Case:
    items = shapes(draw, max_dims=2)
    inner, units = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    inputs = [numbers(draw, (*items, inner)), numbers(draw, (units, inner))]
    return Case([*inputs, numbers(draw, (units,))]) if draw(st.booleans()) else Case(inputs, (None,))


class Sizes(NamedTuple):
    how: dict[str, Any]
    picture: tuple[int, ...]
    kernel: tuple[int, ...]
    result: tuple[int, ...]


def convolution(draw: Draw) -> Sizes:
    groups = draw(st.integers(1, 2))
    channels, units = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    stride, padding, dilation = (tuple(draw(st.integers(low, 2)) for _ in range(2)) for low in (1, 0, 1))
    kernel = [draw(st.integers(1, 3)) for _ in range(2)]
    size = [dilation[i] * (kernel[i] - 1) + 1 + draw(st.integers(0, 3)) for i in range(2)]
    items = draw(st.integers(1, 2))
    places = [
        (size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)
    ]
    return Sizes(
        {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups},
        (items, channels, *size),
        (units, channels // groups, *kernel),
        (items, units, *places),
    )


def with_bias(inputs: list[Tensor], bias: Tensor, options: dict[str, Any], draw: Draw) -> Case:
    if draw(st.booleans()):
        return Case([*inputs, bias], options=options)
    return Case(inputs, (None,), options)


def conv2d(draw: Draw) -> Case:
    sizes = convolution(draw)
    inputs = [numbers(draw, sizes.picture), numbers(draw, sizes.kernel)]
    return with_bias(inputs, numbers(draw, sizes.kernel[:1]), sizes.how, draw)


def conv_transpose2d(draw: Draw) -> Case:
    sizes = convolution(draw)
    inputs = [numbers(draw, sizes.result), numbers(draw, sizes.kernel)]
    bias = numbers(draw, sizes.picture[1:2])
    return with_bias(inputs, bias, {**sizes.how, "size": sizes.picture[2:]}, draw)


def conv_weight(draw: Draw) -> Case:
    sizes = convolution(draw)
    inputs = [numbers(draw, sizes.picture), numbers(draw, sizes.result)]
    return Case(inputs, options={**sizes.how, "size": sizes.kernel[2:]})


def _windows(sizes: Sizes) -> dict[str, Any]:
    how = {name: sizes.how[name] for name in ("stride", "padding", "dilation")}
    return {**how, "kernel_size": sizes.kernel[2:]}


def unfolded(draw: Draw) -> Case:
    sizes = convolution(draw)
    return Case([numbers(draw, sizes.picture)], options=_windows(sizes))


def folded(draw: Draw) -> Case:
    sizes = convolution(draw)
    items, channels, *size = sizes.picture
    columns = (items, channels * math.prod(sizes.kernel[2:]), math.prod(sizes.result[2:]))
    return Case([numbers(draw, columns)], options={**_windows(sizes), "output_size": tuple(size)})


def standardised(draw: Draw) -> Case:
    shape = shapes(draw, smallest=2, min_dims=1)
    dims = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    return Case([numbers(draw, shape)], options={"dim": tuple(sorted(dims)), "eps": 1e-5})


def cell(*widths: int) -> Callable[[Draw], Case]:
    """Inputs side by side, each so many times as wide as the state."""

    def sample(draw: Draw) -> Case:
        items, width = shapes(draw, max_dims=2), draw(st.integers(1, 3))
        return Case([numbers(draw, (*items, times * width)) for times in widths])

    return sample


CASES: dict[str, Callable[[Draw], Case]] = {
    "add": number_and(two()), "sub": number_and(two()), "mul": number_and(two()),
    "div": number_and(two("apart"), "apart"), "neg": one(), "pow": power,
    "exp": one(), "expm1": one(), "log": one("positive"), "log1p": one("positive"), "sqrt": one("positive"),
    "abs": one("apart"), "sin": one(), "cos": one(), "atan": one(), "asin": one("unit"), "tanh": one(),
    "sigmoid": one(), "relu": one("apart"), "erf": one(),
    "floor": one(), "ceil": one(), "trunc": one(), "sign": one(), "round": one(decimals=1),
    "maximum": two(ties=True), "minimum": two(ties=True), "where": choice,
    "sum": reduction(), "mean": reduction(smallest=1), "amax": reduction(smallest=1, ties=True),
    "logsumexp": reduction(smallest=1, fewest=1), "cumsum": along, "softmax": along, "log_softmax": along,
    "reshape": reshaped, "permute": permuted, "expand": expanded, "flip": flipped, "clone": one(),
    "to": one(dtype=torch.float64, copy=True), "cat": joined,
    "index": indexed, "place": put, "gather": gathered, "scatter": scattered,
    "matmul": matrices, "einsum": factors, "linear": layer,
    "conv2d": conv2d, "conv_transpose2d": conv_transpose2d, "conv_weight": conv_weight,
    "unfold2d": unfolded, "fold2d": folded,
    "standardise": standardised, "lstm_memory": cell(4, 1), "lstm_state": cell(4, 1),
    "gru_state": cell(3, 3, 1),
}  # fmt: skip

# Steps and equal numbers are where differences jump: there the convention counts, which is tested above.
JUMPS = ("floor", "ceil", "trunc", "sign", "round", "maximum", "minimum", "amax")


# --- the tests -------------------------------------------------------------------------------------------


def test_every_rule_has_a_case() -> None:
    assert set(RULES) == set(CASES)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=examples(14))
@given(data=st.data())
def test_a_rule_gives_the_gradients_of_torch(name: str, data: st.DataObject) -> None:
    case = CASES[name](data.draw)
    rule = RULES[name]

    agrees(
        lambda *inputs: apply(rule, *inputs, *case.others, **case.options),
        case.inputs,
        oracle=lambda *inputs: rule.forward(*inputs, *case.others, **case.options),
    )


@pytest.mark.parametrize("name", [name for name in CASES if name not in JUMPS])
@settings(max_examples=examples(4))
@given(data=st.data())
def test_a_rule_gives_what_differences_say(name: str, data: st.DataObject) -> None:
    case = CASES[name](data.draw)
    rule = RULES[name]
    ways = [torch.randn(value.shape, dtype=value.dtype) for value in case.inputs]

    def moved(far: float) -> Tensor:
        return rule.forward(
            *[value + far * way for value, way in zip(case.inputs, ways, strict=True)],
            *case.others,
            **case.options,
        )

    inputs = [tracer(value, requires_grad=True) for value in case.inputs]
    result = apply(rule, *inputs, *case.others, **case.options)
    weights = torch.randn(result.shape, dtype=result.dtype)
    gradients = grad((result * weights).sum(), inputs)

    seen = ((moved(1e-6) - moved(-1e-6)) * weights).sum() / 2e-6
    along_ways = sum((one * way).sum() for one, way in zip(gradients, ways, strict=True))
    torch.testing.assert_close(along_ways, seen, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_how_its_gradients_come_about(name: str) -> None:
    rule = RULES[name]

    assert rule.words.endswith(".")
    assert all(way.formula for way in rule.ways)
    assert len(set(rule.symbols)) == len(rule.symbols)


@pytest.mark.parametrize("base", [0.0, 2.0])
def test_powers_at_the_border(base: float) -> None:
    inputs = [
        torch.tensor([base] * 4, dtype=torch.float64),
        torch.tensor([0.0, 1, 2, 3.5], dtype=torch.float64),
    ]

    agrees(torch.pow, inputs, second=False)
    agrees(lambda x: torch.pow(base, x), inputs[1:], second=False)

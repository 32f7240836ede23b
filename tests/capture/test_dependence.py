"""What single functions depend on, against trying: change one element, and see which outputs change."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from torch import Tensor

import torcheer as tl
from tests.capture.outcomes import Does
from tests.capture.programs import Program, programs
from tests.many import examples
from torcheer.capture.inputs import collect_tensors

# Some of what is drawn torch finds odd, and says so.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

X, Y, Z = (torch.linspace(-1, 1, size) for size in (6, 6, 16))
X, Y, Z = X.reshape(2, 3), Y.flip(0).reshape(2, 3), Z.reshape(1, 1, 4, 4)
CHOICE, WORDS = torch.tensor([0, 1]), torch.tensor([2, 0, 1])
STRIPES = torch.tensor([True, False, True])


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    function: Callable[..., Any]
    inputs: tuple[Tensor, ...]
    is_exact: bool = True
    is_tight: bool = True  # trying often enough finds every dependence


def case(function: Callable[..., Any], *inputs: Tensor, exact: bool = True, tight: bool = True) -> Case:
    return Case(function=function, inputs=inputs or (X,), is_exact=exact, is_tight=tight and exact)


def write_rows(x: Tensor) -> Tensor:
    board = torch.zeros(3, 3)
    board[1:, 1:] = x[:, 1:]
    return board


def write_where_positive(x: Tensor) -> Tensor:
    y = x.clone()
    y[y > 0] = 2.0
    return y


def write_through_view(x: Tensor) -> Tensor:
    y = x.clone()
    y[0].mul_(y[1])
    return y.relu()


def write_into_chunk(x: Tensor) -> Tensor:
    y = x.clone()
    first, _ = y.view(-1).chunk(2)
    first.copy_(x[1])
    return y + 1


CASES: dict[str, Case] = {
    # element by element
    "relu": case(F.relu),
    "hardtanh in place": case(lambda x: F.hardtanh(x.clone(), inplace=True)),
    "round": case(lambda x: (x * 3).round()),
    "floor division": case(lambda x: x // 2),
    "comparison": case(torch.lt, X, Y),
    "itself": case(lambda x: x.round() != x.round().abs()),
    "clamp": case(lambda x, y: x.clamp(min=y), X, Y),
    "maximum": case(torch.max, X, Y),
    "half": case(lambda x: x.half().float()),
    "view as integers": case(lambda x: x.view(torch.int32) + 1),
    "power of zero": case(lambda x: x**0),
    "detach": case(lambda x: x.detach() * 2),
    "broadcast": case(lambda x, y: x + y[:1] * y[:, :1], X, Y),
    "times a mask": case(lambda x: x * torch.tensor([0.0, 1.0, 2.0])),
    "zeros like": case(lambda x: torch.zeros_like(x) + x[0]),
    "complex": case(lambda x, y: torch.complex(x, y).conj() * 2, X, Y),
    "out": case(lambda x, y: torch.add(x, y, out=torch.empty(2, 3)), X, Y),
    "add to itself": case(lambda x: x.clone().add_(x)),
    # choosing
    "where": case(lambda x, y: torch.where(x > 0, x, y), X, Y),
    "where, as a method": case(lambda x, y: x.where(y > 0, 0.0), X, Y),
    "masked fill": case(lambda x, y: x.masked_fill(y > 0, -1.0), X, Y),
    "masked fill by a constant": case(lambda x: x.masked_fill(STRIPES, -torch.inf).softmax(1)),
    "and": case(lambda x, y: (x > 0) & (y > 0) & STRIPES, X, Y),
    "or": case(lambda x: (x > 0) | STRIPES),
    "exclusive or": case(lambda x, y: (x > 0) ^ (y > 0), X, Y),
    "invert": case(lambda x: ~(x > 0)),
    # along dimensions
    "max": case(lambda x: x.max(1)),
    "max of all": case(lambda x: x.max()),
    "argmax": case(lambda x: x.argmax(0, keepdim=True)),
    "amax": case(lambda x: x.amax((0, 1))),
    "any": case(lambda x: (x > 0).any(1)),
    "median": case(lambda x: x.median(1).values),
    "sort": case(lambda x: x.sort(0)),
    "argsort": case(lambda x: x.argsort(dim=1, descending=True)),
    "topk": case(lambda x: x.topk(2, dim=1)),
    "kthvalue": case(lambda x: x.kthvalue(2, 1).values),
    "cummax": case(lambda x: x.cummax(1).values),
    "cumsum": case(lambda x: x.cumsum(1)),
    "cumprod": case(lambda x: x.cumprod(1)),
    "softmax": case(lambda x: x.softmax(0)),
    "layer norm": case(lambda x: F.layer_norm(x, (3,))),
    "largest norm": case(lambda x: x.norm(float("inf"), dim=1)),
    "variance": case(lambda x: torch.std_mean(x, 1)),
    "fourier": case(lambda x: torch.fft.rfft(x).abs()),
    "quantile": case(lambda x: x.quantile(0.4, dim=1), exact=False),
    "max pool": case(lambda x: F.max_pool2d(x, 3, 2, padding=1, ceil_mode=True), Z),
    "dilated max pool": case(lambda x: F.max_pool1d(x[0], 2, 1, dilation=2), Z, exact=False),
    "max pool with places": case(lambda x: F.max_pool2d(x, 2, return_indices=True)[0], Z),
    "adaptive max pool": case(lambda x: F.adaptive_max_pool2d(x, 3), Z),
    # moving
    "cat": case(lambda x, y: torch.cat([x[:1], torch.zeros(1, 3), y]), X, Y),
    "split": case(lambda x: x.split([1, 2], 1)),
    "pad": case(lambda x: F.pad(x, (1, 1))),
    "reflect": case(lambda x: F.pad(x[None], (1, 1), mode="reflect")),
    "lower triangle": case(lambda x: x.tril()),
    "constant places": case(lambda x: x[torch.tensor([0, 1]), torch.tensor([2, 2])]),
    "constant choice": case(lambda x: x[:, STRIPES]),
    "rows written": case(write_rows),
    "chosen elements written": case(write_where_positive),
    "written through a view": case(write_through_view),
    "written into a chunk": case(write_into_chunk),
    "scatter": case(lambda x: torch.zeros(2, 4).scatter(1, torch.tensor([[1], [2]]), x[:, :1])),
    "largest of scattered": case(
        lambda x: torch.zeros(2, 3).scatter_reduce(1, torch.zeros(2, 3).long(), x, "amax"), exact=False
    ),
    "index add": case(lambda x: torch.zeros(4, 3).index_add_(0, torch.tensor([0, 3]), x)),
    # places that the data chooses
    "rows chosen": case(lambda x, i: x[i], X, CHOICE, tight=False),
    "columns chosen": case(lambda x, i: x[..., i], X, CHOICE, exact=False),
    "gather": case(lambda x, i: x.gather(1, i[:, None]), X, CHOICE, exact=False),
    "index select": case(lambda x, i: x.index_select(0, i), X, CHOICE, tight=False),
    "embedding": case(lambda i: F.embedding(i, torch.arange(12.0).reshape(3, 4)), WORDS),
    "one hot": case(lambda i: F.one_hot(i, 3), WORDS),
    "one hot by scatter": case(lambda i: torch.zeros(3, 4).scatter_(1, i[:, None], 1.0), WORDS, exact=False),
    "whole numbers": case(lambda i: (i % 2 != 1).long().cumsum(0), WORDS),
    "cross entropy": case(lambda x, i: F.cross_entropy(x, i, reduction="none"), X, CHOICE, exact=False),
    "mean cross entropy": case(lambda x: F.cross_entropy(x, torch.tensor([1, 0]))),
    "grid": case(
        lambda x, y: F.grid_sample(x[None, None], y.reshape(1, 1, 3, 2), align_corners=False),
        X, Y, exact=False,
    ),
    "is in": case(lambda i: torch.isin(i, torch.tensor([1])), WORDS),
    "buckets": case(lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0]))),
    "count": case(lambda i: torch.bincount(i, minlength=3), WORDS, exact=False),
    # products
    "matmul": case(lambda x, y: x @ y.T, X, Y),
    "addmm": case(lambda x: torch.addmm(torch.ones(2), x, torch.tensor([[1.0, 0], [0, 1], [0, 1]]))),
    "addmm of nothing": case(lambda x: torch.addmm(x, torch.ones(2, 2), torch.ones(2, 3), beta=0.0)),
    "einsum": case(lambda x, y: torch.einsum("ij,kj->ik", x, y), X, Y),
    "bfloat16": case(lambda x: x.bfloat16() @ torch.eye(3).bfloat16()),
    "inverse": case(lambda x: torch.linalg.inv(x[:, :2] + 9 * torch.eye(2))),
    "causal attention": case(
        lambda x, y: F.scaled_dot_product_attention(x[None], x[None], y[None], is_causal=True), X, Y
    ),
    "vmap": case(torch.vmap(lambda row: row.cumsum(0))),
}  # fmt: skip


def units(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def drawn(like: Tensor, spread: float) -> Tensor:
    if like.is_floating_point():
        return torch.randn(like.shape) * spread
    return torch.randint(0, 2 if like is CHOICE else 3, like.shape)


def changes(case: Case) -> dict[tuple[int, int], Tensor]:
    """For each output and input: which element changed which, in any of many tries."""
    found: dict[tuple[int, int], Tensor] = {}
    for spread in (0.5, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0) * 2:
        inputs = [drawn(x, spread) for x in case.inputs]
        before = collect_tensors(case.function(*(x.clone() for x in inputs)))
        for source, x in enumerate(inputs):
            for unit in units(tuple(x.shape)):
                others = [each.clone() for each in inputs]
                others[source][unit] = drawn(case.inputs[source], spread)[unit]
                for place, (a, b) in enumerate(
                    zip(before, collect_tensors(case.function(*others)), strict=True)
                ):
                    empty = torch.zeros(*a.shape, *x.shape, dtype=torch.bool)
                    found.setdefault((place, source), empty)[(..., *unit)] |= (a != b) & ~(
                        a.isnan() & b.isnan()
                    )
    return found


@pytest.mark.parametrize("name", CASES)
def test_whatever_changes_an_output_is_in_its_field(name: str) -> None:
    case = CASES[name]
    history = tl.log_forward_pass(Does(case.function), tuple(x.clone() for x in case.inputs))
    found: dict[tuple[int, int], Tensor] = {}
    for place, label in enumerate(history.output_layers):
        shape = history[label].tensor_shape
        for unit in units(shape):
            field = history.receptive_field(label, unit)
            assert field.is_exact is case.is_exact, field.notes
            for source, end in enumerate(field):
                empty = torch.zeros(*shape, *end.mask.shape, dtype=torch.bool)
                found.setdefault((place, source), empty)[unit] = end.mask

    for key, tried in changes(case).items():
        assert not (tried & ~found[key]).any()
        assert not case.is_tight or torch.equal(tried, found[key])
    for source, label in enumerate(history.input_layers):
        for unit in units(tuple(case.inputs[source].shape)):
            for place, end in enumerate(history.projective_field(label, unit)):
                assert torch.equal(end.mask, found[place, source][(..., *unit)])


@settings(
    max_examples=examples(25),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(programs())
def test_what_moves_an_output_of_a_program_with_views_and_writes_is_in_its_field(program: Program) -> None:
    history = tl.log_forward_pass(program.make_model(), list(program.make_inputs()))
    with torch.no_grad():
        plain = program.make_model()(*program.make_inputs())
    fields = [
        [history.projective_field(label, unit) for unit in units(history[label].tensor_shape)]
        for label in history.input_layers
    ]

    for source, of_units in enumerate(fields):
        for field in of_units:
            inputs = [x.detach() for x in program.make_inputs()]
            inputs[source][field.unit] += 1.7
            try:
                moved = program.make_model()(*inputs)
            except (RuntimeError, IndexError, ValueError):
                continue  # with other data a choice had another shape
            for end, a, b in zip(field, plain, moved, strict=True):
                if a.shape == b.shape:
                    assert not ((a != b) & ~(a.isnan() & b.isnan()) & ~end.mask).any()


@settings(
    max_examples=examples(15),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(programs())
def test_both_fields_agree_on_a_program_whatever_was_saved(program: Program) -> None:
    full = tl.log_forward_pass(program.make_model(), list(program.make_inputs()))
    bare = tl.log_forward_pass(program.make_model(), list(program.make_inputs()), layers_to_save="none")
    last = full.output_layers[-1]

    for unit in units(full[last].tensor_shape):
        back = full.receptive_field(last, unit)
        for end, other in zip(back, bare.receptive_field(last, unit), strict=True):
            assert torch.equal(end.mask, other.mask)
        for label, end in zip(full.input_layers, back, strict=True):
            for element in units(tuple(end.mask.shape)):
                forth = full.projective_field(label, element, onto=last)
                assert bool(forth.mask[unit]) == bool(end.mask[element])

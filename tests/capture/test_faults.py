"""Where the first NaN or Inf of a pass came from."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import torcheer as tl
from tests.many import examples
from tests.zoo.decoder_models import GROUPED
from tests.zoo.specimen import load
from torcheer.capture.analysis.faults import Fault
from torcheer.capture.savefile.read_pass import load_history

INF = math.inf
NAN = math.nan


class Of(nn.Module):
    """A model that is one function, with a parameter and a buffer to use."""

    def __init__(self, function: Callable[..., Tensor], weight: Tensor | None = None) -> None:
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.ones(3) if weight is None else weight)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, x)


def fault_of(function: Callable[..., Tensor], x: Tensor | None = None, **options: bool) -> Fault | None:
    history = tl.log_forward_pass(Of(function), torch.randn(2, 3) if x is None else x)
    return history.first_nonfinite(**options)


def backward_fault_of(
    function: Callable[..., Tensor], x: Tensor, loss: Callable[..., Tensor]
) -> Fault | None:
    history = tl.log_forward_pass(Of(function), x.requires_grad_(), save_gradients=True)
    loss(history.output).backward()
    return history.first_nonfinite()


@pytest.fixture
def memory_full_of_nan() -> Iterator[None]:
    """Memory that was never written holds NaN."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(before)


# --- forward ---------------------------------------------------------------------------


def test_a_finite_pass_has_no_fault() -> None:
    assert fault_of(lambda m, x: F.softmax(x * m.weight, -1)) is None


def test_the_first_nan_is_named_with_its_source_line_and_inputs() -> None:
    x = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])

    def forward(model: Of, x: Tensor) -> Tensor:
        y = x * model.weight
        z = torch.log(y)  # the fault
        return z + 1

    fault = fault_of(forward, x)

    assert (fault.layer, fault.what, fault.phase, fault.origin) == ("log_1_2", "nan", "forward", "op")
    assert (fault.count, fault.num_values, fault.num_inf) == (2, 6, 0)
    assert fault.source_line is not None
    assert fault.source_line.code_text == "z = torch.log(y)  # the fault"
    assert fault.source_line.file == __file__
    (one,) = fault.inputs
    assert (one.name, one.shape, one.min, one.max, one.num_nan) == ("mul_1_1", (2, 3), -6.0, 5.0, 0)
    assert fault.op.func_applied is torch.log


def test_a_fault_reads_well() -> None:
    fault = fault_of(lambda m, x: (x * m.weight) / 0, torch.tensor([[0.0, 1.0, -2.0]]))

    lines = str(fault).splitlines()
    assert lines[0] == "NaN made by div_1_2: 1 of 3 elements and 2 Inf."
    assert "source" in lines[1]
    assert __file__ in lines[1]
    assert lines[2].split() == ["inputs", "mul_1_1", "(1×3):", "-2", "to", "1"]


def test_the_module_is_named() -> None:
    class Inverse(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return 1 / x

    fault = tl.log_forward_pass(nn.Sequential(nn.ReLU(), Inverse()), torch.zeros(3)).first_nonfinite()

    assert fault.module == "1"
    assert fault.what == "inf"


def in_place(model: Of, x: Tensor) -> Tensor:
    y = x * 1
    y.sub_(10)
    y.log_()
    return y


def through_a_view(model: Of, x: Tensor) -> Tensor:
    y = x * 1
    y[0].div_(0)
    return y + 1


def squared_again_and_again(model: Of, x: Tensor) -> Tensor:
    for _ in range(6):
        x = x * x
    return x


CONSTANT = torch.tensor([1.0, NAN, 1.0])
FIRST_ROW = torch.tensor([[True], [False]])
# A function, its input, and what is to be found.
FORWARDS: dict[str, tuple[Callable[..., Tensor], Tensor, dict[str, Any]]] = {
    "half": (lambda m, x: (x + 60000) * 2, torch.ones(2).half(), {"layer": "mul_1_2"}),
    "bfloat16": (lambda m, x: (x + 3e38) * 2, torch.ones(2).bfloat16(), {"layer": "mul_1_2"}),
    "double": (lambda m, x: (x + 1e300) * 1e10, torch.ones(2).double(), {"layer": "mul_1_2"}),
    "complex": (lambda m, x: (x + 1) / 0, torch.ones(2, dtype=torch.complex64), {"layer": "div_1_2"}),
    "a cast": (lambda m, x: (x * 1e6).half().float(), torch.ones(2), {"layer": "half_1_2", "what": "inf"}),
    "in place": (in_place, torch.tensor([1.0, 2.0]), {"layer": "log_1_3", "range": (-9.0, -8.0)}),
    "through a view": (through_a_view, torch.ones(2, 3), {"type": "div"}),
    # 1e12, 1e24, then beyond float32
    "in a loop": (squared_again_and_again, torch.tensor([1e6]), {"layer": "mul_1_1:3"}),
    "an input": (
        lambda m, x: x * 2,
        torch.tensor([[1.0, NAN, 2.0]]),
        {"layer": "input_1_0", "origin": "input", "name": "x", "count": 1, "text": "with input_1_0 (x)"},
    ),
    "an input with minus infinity": (lambda m, x: x * 2, torch.tensor([1.0, -INF]), {"origin": "input"}),
    "a constant": (lambda m, x: x * CONSTANT, torch.ones(2, 3), {"origin": "source", "type": "source"}),
    "softmax of a masked row": (
        lambda m, x: F.softmax(x.masked_fill(FIRST_ROW, -INF), -1),
        torch.randn(2, 3),
        {"type": "softmax", "what": "nan", "count": 3, "num_inf_given": 3},
    ),
    "plus infinity that was given": (
        lambda m, x: x.masked_fill(x > 0, INF), torch.ones(2), {"type": "maskedfill"},
    ),
    "an overflow beside a mask": (
        lambda m, x: x.masked_fill(x < 0, -INF) + 3e38, torch.tensor([-1.0, 3e38]), {"type": "add"},
    ),
    # Zeros and ones, but made of what the model computed.
    "a logarithm of data": (
        lambda m, x: (x * m.weight).clamp(0, 1).log(), 1000 * torch.tensor([[1.0, -1, 2]]), {"type": "log"},
    ),
    # Nothing but minus infinity masks everything.
    "a logarithm of zeros": (lambda m, x: x + torch.zeros(3).log(), torch.ones(1, 3), {"type": "log"}),
}  # fmt: skip


def assert_is(fault: Fault | None, **expected: Any) -> None:
    """`type` of the op, `text` in words, `later` by types; all else as the fault has it."""
    assert fault is not None
    known = {
        "type": fault.op.layer_type,
        "range": next(((one.min, one.max) for one in fault.inputs), None),
        "num_inf_given": sum(one.num_inf for one in fault.inputs),
        "later": [label.split("_")[0] for label in fault.later],
    }
    assert expected.pop("text", "") in str(fault)
    found = {name: known[name] if name in known else getattr(fault, name) for name in expected}
    assert found == expected


@pytest.mark.parametrize("name", FORWARDS)
def test_the_op_that_made_it_or_what_it_came_in_with_is_named(name: str) -> None:
    function, x, expected = FORWARDS[name]

    assert_is(fault_of(function, x), **expected)


@pytest.mark.parametrize(
    "x",
    [
        torch.arange(4),
        torch.tensor([True, False]),
        torch.tensor(3.0),
        torch.zeros(0, 3),
        torch.ones(2, dtype=torch.uint8),
    ],
)
def test_whole_numbers_scalars_and_empty_tensors_are_no_trouble(x: Tensor) -> None:
    assert fault_of(lambda m, x: x + 1, x) is None


def test_one_output_of_several_is_named() -> None:
    fault = fault_of(lambda m, x: sum(part.log() for part in x.chunk(2)), torch.tensor([1.0, -1.0]))

    assert fault.op.parent_layers == ["chunk_2_2"]


def test_what_does_not_reach_an_output_and_what_was_made_later_are_said() -> None:
    def forward(model: Of, x: Tensor) -> Tensor:
        y = torch.where(x > 0, torch.log(x), 0.0)  # as relative positions are often put in buckets
        return torch.sqrt(y - 100) + 1

    fault = fault_of(forward, torch.tensor([0.0, 1.0]))

    assert (fault.op.layer_type, fault.reaches_output) == ("log", False)
    assert [label.split("_")[0] for label in fault.later] == ["sqrt"]
    assert "does not reach an output" in str(fault)
    assert "made anew, later, by sqrt_1_5" in str(fault)
    real = fault_of(lambda m, x: torch.log(x - 10) + 1)
    assert real.reaches_output
    assert real.later == ()


# --- what came in ----------------------------------------------------------------------


def test_a_buffer_that_came_in_with_inf_is_reported_as_such() -> None:
    model = Of(lambda m, x: x * m.scale)
    model.scale[1] = INF

    fault = tl.log_forward_pass(model, torch.ones(3)).first_nonfinite()

    assert (fault.origin, fault.name, fault.what) == ("buffer", "scale", "inf")


def test_a_parameter_is_reported_with_the_first_op_that_uses_it() -> None:
    model = Of(lambda m, x: (x + 1) * m.weight, torch.tensor([1.0, NAN, 1.0]))

    fault = tl.log_forward_pass(model, torch.ones(2, 3)).first_nonfinite()

    assert (fault.layer, fault.origin, fault.name) == ("mul_1_2", "parameter", "weight")
    assert (fault.count, fault.num_values) == (1, 3)
    assert {one.name: one.num_nan for one in fault.inputs} == {"add_1_1": 0, "weight": 1}


def test_a_parameter_that_did_no_harm_is_reported_when_all_else_is_well() -> None:
    model = nn.Sequential(nn.Embedding(4, 2), nn.Linear(2, 2))
    with torch.no_grad():
        model[0].weight[3] = NAN

    harmless = tl.log_forward_pass(model, torch.tensor([0, 1])).first_nonfinite()
    harmful = tl.log_forward_pass(model, torch.tensor([0, 3])).first_nonfinite()

    assert harmless.name == harmful.name == "0.weight"
    assert harmless.note
    assert not harmful.note


def test_parameters_that_changed_after_the_pass_are_not_blamed() -> None:
    model = nn.Linear(3, 3)
    history = tl.log_forward_pass(model, torch.ones(1, 3))
    with torch.no_grad():
        model.weight.fill_(NAN)

    assert history.first_nonfinite() is None


# --- masks -----------------------------------------------------------------------------

MASKS: dict[str, Callable[..., Tensor]] = {
    "masked_fill": lambda m, x: x.masked_fill(x > 0, -INF),
    "masked_fill_": lambda m, x: (x * 1).masked_fill_(x > 0, -INF),
    "where": lambda m, x: torch.where(x > 0, x, -INF),
    "where with a tensor": lambda m, x: torch.where(x > 0, x, torch.tensor(-INF)),
    "full and triu": lambda m, x: x + torch.full((3, 3), -INF).triu(1),
    "full_like": lambda m, x: x + torch.full_like(x, -INF).tril(-1),
    "new_full": lambda m, x: torch.maximum(x, x.new_full((3, 3), -INF)) + x.new_full((3, 3), -INF),
    "fill_": lambda m, x: x + torch.zeros(3, 3).fill_(-INF),
    "setitem": lambda m, x: _with_item(x, -INF),
    "pad": lambda m, x: F.pad(x, (1, 1), value=-INF),
    "times": lambda m, x: x + (torch.ones(3, 3) * -INF).triu_(1).nan_to_num(neginf=-INF),
    "empty": lambda m, x: x + torch.empty(3, 3).fill_(-INF),
    "zeros minus infinity": lambda m, x: x + (torch.zeros(3, 3) - INF),
    "a NumPy number": lambda m, x: x.masked_fill(x > 0, np.float32(-INF)),
    "scatter": lambda m, x: x.scatter(1, torch.zeros(3, 1, dtype=torch.long), -INF),
}


def _with_item(x: Tensor, value: float) -> Tensor:
    y = x * 1
    y[0] = value
    return y + 1


@pytest.mark.parametrize("name", MASKS)
def test_minus_infinity_that_a_mask_was_filled_with_is_no_fault(name: str) -> None:
    x = torch.tensor([[1.0, -1.0, 2.0]] * 3)

    fault = fault_of(lambda m, x: MASKS[name](m, x) * 2, x)
    deliberate = fault_of(lambda m, x: MASKS[name](m, x) * 2, x, deliberate=True)

    assert fault is None
    assert deliberate.what == "inf"


def test_a_mask_far_larger_than_its_memory_is_looked_at() -> None:
    fault = fault_of(lambda m, x: torch.tensor([0.0, -INF]).expand(10**9, 10**3, 2)[0, 0] + x, torch.ones(2))

    assert fault is None


@pytest.mark.parametrize("is_fully_masked", [False, True])
def test_an_additive_mask_that_came_in_is_no_fault_unless_it_makes_nan(is_fully_masked: bool) -> None:
    mask = torch.full((4, 4), -INF).triu(1)
    if is_fully_masked:
        mask[2] = -INF
    model, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(2, 4, 8)

    history = tl.log_forward_pass(model, [x, x, x], {"attn_mask": mask, "need_weights": True})
    fault = history.first_nonfinite()

    assert (fault is not None) == is_fully_masked
    if fault is not None:
        assert (fault.what, fault.origin, fault.op.layer_type) == ("nan", "op", "softmax")


def test_an_additive_mask_in_a_buffer_is_no_fault() -> None:
    model = Of(lambda m, x: F.softmax(x + m.scale, -1))
    model.scale.copy_(torch.tensor([0.0, -INF, 0.0]))

    history = tl.log_forward_pass(model, torch.randn(2, 3))

    assert history.first_nonfinite() is None
    deliberate = history.first_nonfinite(deliberate=True)
    assert deliberate.origin == "buffer"


def _alibi(model: Of, x: Tensor) -> Tensor:
    return F.softmax(x + model.scale, -1)


CONSTANTS: dict[str, Callable[[Of, Tensor], Tensor]] = {
    "two masks near the least number": lambda m, x: F.softmax(
        x + (_least(x) * torch.tensor([0.0, 1, 1]) + _least(x) * torch.tensor([0.0, 0, 1])), -1
    ),
    "a mask in half precision": lambda m, x: F.softmax(
        (x.half() - 40) + (_least(x.half()) * torch.tensor([0.0, 0, 1]).half()), -1
    ),
    "a large number made half": lambda m, x: F.softmax(
        x.half() + (torch.tensor([0.0, 0, 1]) * torch.finfo(torch.float32).min).half(), -1
    ),
    "distances that begin infinite": lambda m, x: torch.minimum(torch.full((3,), INF), x.abs()),
    "what must not be chosen": lambda m, x: x.masked_fill(x > 1, INF).amin(-1),
    "a tensor of infinity": lambda m, x: torch.where(x > 9, torch.tensor(INF), x).amin(-1),
}


def _least(like: Tensor) -> Tensor:
    return torch.tensor(torch.finfo(like.dtype).min)


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_that_is_infinite_on_purpose_is_passed_over(name: str) -> None:
    def with_fault(model: Of, x: Tensor) -> Tensor:
        return CONSTANTS[name](model, x).float() + (x - x).sum(-1, keepdim=True).log().mul(0)

    x = torch.tensor([[0.5, -0.25, 2.0]] * 3)
    assert fault_of(CONSTANTS[name], x) is None
    fault = fault_of(with_fault, x)

    assert fault.op.layer_type == "log"


def test_a_buffer_of_biases_and_minus_infinity_is_passed_over() -> None:
    model = Of(_alibi)
    model.scale.copy_(torch.tensor([-0.5, -0.25, -INF]))

    history = tl.log_forward_pass(model, torch.randn(2, 3))

    assert history.first_nonfinite() is None


def test_a_running_statistic_that_is_infinite_is_a_fault() -> None:
    model = nn.BatchNorm1d(3).eval()
    model.running_mean[1] = -INF

    fault = tl.log_forward_pass(model, torch.randn(4, 3)).first_nonfinite()

    assert (fault.origin, fault.name) == ("buffer", "running_mean")


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_the_causal_masks_of_transformers_are_passed_over(attention: str) -> None:
    transformers = load("transformers")
    sizes = {**GROUPED, "attn_implementation": attention}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).eval()
    padded = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
    inputs = {"input_ids": torch.randint(0, 9, (2, 5)), "attention_mask": padded, "use_cache": False}
    with torch.no_grad():
        assert tl.log_forward_pass(model, inputs).first_nonfinite() is None
        model.model.layers[1].mlp.up_proj.weight[0, 0] = 3e38
        fault = tl.log_forward_pass(model, inputs).first_nonfinite()

    assert "layers.1.mlp" in (fault.module or "")


@pytest.mark.parametrize(
    "mask",
    [
        lambda x: torch.ones(3, 3).tril().log(),
        lambda x: (x > 0).float().log(),
        lambda x: torch.ones(3, 3).tril().log2() * 2,
    ],
)
def test_a_mask_that_forward_makes_by_a_logarithm_is_no_fault(mask: Callable[[Tensor], Tensor]) -> None:
    x = torch.tensor([[1.0, -1.0, 2.0]] * 3)
    assert fault_of(lambda m, x: F.softmax(x * m.weight + mask(x), -1), x) is None
    assert fault_of(lambda m, x: F.softmax(x * m.weight + mask(x), -1), x, deliberate=True) is not None


# --- memory ----------------------------------------------------------------------------


@pytest.mark.usefixtures("memory_full_of_nan")
def test_memory_that_is_written_before_it_is_read_is_no_fault() -> None:
    def forward(model: Of, x: Tensor) -> Tensor:
        out = torch.empty(2, 3)
        out[0] = x[0]
        out[1] = x[1] * 2
        again = torch.add(x, 1, out=torch.empty(2, 3))
        drawn = torch.empty(2, 3).uniform_()
        copied = torch.empty_like(x).copy_(x)
        return out + again + drawn + copied

    with torch.no_grad():
        assert torch.isnan(torch.empty(2)).all()
        assert fault_of(forward) is None


@pytest.mark.usefixtures("memory_full_of_nan")
def test_memory_that_is_read_before_it_is_written_is_named() -> None:
    def forward(model: Of, x: Tensor) -> Tensor:
        total = torch.empty(2, 3)
        total[0] = 0
        return x + total

    fault = fault_of(forward)

    assert (fault.origin, fault.op.layer_type, fault.what) == ("memory", "add", "nan")
    assert "never written" in str(fault)


@pytest.mark.usefixtures("memory_full_of_nan")
def test_what_is_written_into_fresh_memory_is_still_looked_at() -> None:
    fault = fault_of(lambda m, x: torch.div(x, 0, out=torch.empty(2, 3)) + 1)

    assert (fault.origin, fault.op.layer_type, fault.what) == ("op", "div", "inf")


# --- partial saving --------------------------------------------------------------------


def test_what_could_not_be_looked_at_is_counted() -> None:
    model = Of(lambda m, x: torch.log(x * m.weight) + 1)

    history = tl.log_forward_pass(model, -torch.ones(3), layers_to_save=["add_1"])
    fault = history.first_nonfinite()

    assert fault.layer == "add_1_3"
    assert fault.num_unseen == 3
    assert not fault.inputs[0].is_seen
    assert "not saved" in str(fault)
    assert "3 ops could not be looked at" in str(fault)


def test_a_mask_that_was_not_saved_excuses_what_comes_of_it() -> None:
    model = Of(lambda m, x: x.masked_fill(x > 0, -INF) * 2)

    history = tl.log_forward_pass(model, torch.tensor([1.0, -1.0]), layers_to_save=["mul_1"])

    with pytest.warns(UserWarning, match="not saved"):
        assert history.first_nonfinite() is None


@pytest.mark.parametrize(
    "options", [{"layers_to_save": "none"}, {"activation_postfunc": lambda value: value.float().mean()}]
)
def test_nothing_to_look_at_is_said(options: dict[str, object]) -> None:
    history = tl.log_forward_pass(nn.Linear(3, 3), torch.ones(1, 3), **options)  # type: ignore[arg-type]

    with pytest.raises(tl.InputError, match="layers_to_save='all'"):
        history.first_nonfinite()


def test_meta_tensors_are_told_from_real_ones() -> None:
    history = tl.log_forward_pass(nn.Linear(3, 3, device="meta"), torch.ones(1, 3, device="meta"))

    with pytest.raises(tl.InputError, match="meta"):
        history.first_nonfinite()


def test_a_pass_that_raised_can_be_searched() -> None:
    def forward(model: Of, x: Tensor) -> Tensor:
        y = x / 0
        raise RuntimeError(f"{y}")

    with pytest.raises(RuntimeError) as caught:
        tl.log_forward_pass(Of(forward), torch.ones(3))
    fault = caught.value.history.first_nonfinite()  # type: ignore[attr-defined]

    assert fault.op.layer_type == "div"


def test_a_pass_that_was_loaded_from_a_file_can_be_searched(tmp_path: Path) -> None:
    history = tl.log_forward_pass(Of(lambda m, x: torch.log(x * m.weight)), -torch.ones(3))
    history.save(tmp_path / "pass")

    fault, again = history.first_nonfinite(), load_history(tmp_path / "pass").first_nonfinite()

    assert (again.layer, again.what, again.source_line) == (fault.layer, fault.what, fault.source_line)


# --- a law -----------------------------------------------------------------------------

STEPS: list[Callable[[Tensor], Tensor]] = [
    lambda x: x * 0.5,
    lambda x: x + 1,
    torch.tanh,
    torch.relu,
    lambda x: x.reshape(-1).reshape(x.shape),
    lambda x: x.clone().mul_(2),
    lambda x: torch.where(x > 0, x, -x),
    lambda x: torch.log(x - 5),
    lambda x: x / (x - x),
    lambda x: (x * 1e30) * 1e30,
]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=8))
def test_the_fault_is_the_first_op_whose_output_is_not_finite(steps: list[int]) -> None:
    def forward(model: Of, x: Tensor) -> Tensor:
        for step in steps:
            x = STEPS[step](x)
        return x

    history = tl.log_forward_pass(Of(forward), torch.linspace(-1, 1, 4))
    bad = [op.layer_label for op in history if not torch.isfinite(op.tensor_contents).all()]
    fault = history.first_nonfinite()

    assert (fault.layer if fault else None) == (bad[0] if bad else None)


# --- backward --------------------------------------------------------------------------


def test_a_finite_backward_has_no_fault() -> None:
    assert backward_fault_of(lambda m, x: x * m.weight, torch.randn(2, 3), Tensor.sum) is None


def test_the_gradient_of_a_root_at_zero() -> None:
    fault = backward_fault_of(lambda m, x: torch.sqrt(x * m.weight), torch.zeros(2, 3), Tensor.sum)

    assert (fault.layer, fault.phase, fault.what, fault.origin) == ("sqrt_1_2", "backward", "inf", "op")
    assert fault.name == "gradient of mul_1_1"
    assert fault.count == fault.num_values == 6
    assert [(one.name, one.min, one.max) for one in fault.inputs] == [
        ("gradient of sqrt_1_2", 1.0, 1.0),
        ("mul_1_1", 0.0, 0.0),
    ]
    assert "made by the backward of sqrt_1_2" in str(fault)


BACKWARDS: dict[str, tuple[Callable[..., Tensor], Tensor, str]] = {
    "zero times infinity": (lambda m, x: torch.sqrt(x * m.weight) * 0, torch.zeros(3), "sqrt"),
    "the other branch of where": (
        lambda m, x: torch.where(x > 0, torch.sqrt(x * m.weight), 0.0),
        torch.zeros(3),
        "sqrt",
    ),
    "a norm written out": (lambda m, x: (x * m.weight).square().sum().sqrt() * 2, torch.zeros(3), "sqrt"),
    "a power": (lambda m, x: (x * m.weight).abs() ** 0.5, torch.zeros(3), "pow"),
    "a division": (lambda m, x: 1e-30 / (x * m.weight), torch.full((3,), 1e-25), "reciprocal"),
    "one reader of two": (
        lambda m, x: (lambda y: y * 3 + y.sqrt() + y.exp())(x * m.weight),
        torch.zeros(3),
        "sqrt",
    ),
    "in place": (lambda m, x: (x * m.weight).sqrt_() * 1, torch.zeros(3), "sqrt"),
}


@pytest.mark.parametrize("name", BACKWARDS)
def test_the_op_whose_backward_made_it_is_named(name: str) -> None:
    function, x, maker = BACKWARDS[name]

    fault = backward_fault_of(function, x.clone(), Tensor.sum)

    assert (fault.phase, fault.origin, fault.op.layer_type) == ("backward", "op", maker)


BACKWARD_STEPS: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, y: x * y,
    lambda x, y: torch.tanh(x) + y,
    lambda x, y: (x * 1).add_(y).relu_(),
    lambda x, y: torch.cat([part * 2 for part in x.chunk(2)]) * y,
    lambda x, y: torch.where(x > 0, torch.sqrt(torch.relu(x)), y),
    lambda x, y: torch.sqrt(torch.relu(x) - torch.relu(x)) * 0 + y,
    lambda x, y: torch.acos(torch.clamp(x * 0 + 1, -1, 1)) * 0 + y,
]


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(BACKWARD_STEPS) - 1), st.integers(0, 5)), min_size=1, max_size=6),
    st.integers(0, 2**31),
)
@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected in")
def test_the_maker_of_nan_is_the_one_that_anomaly_detection_finds(
    steps: list[tuple[int, int]], seed: int
) -> None:
    torch.manual_seed(seed)

    def forward(model: Of, x: Tensor) -> Tensor:
        values = [x * model.weight, x]
        for step, other in steps:
            values.append(BACKWARD_STEPS[step](values[-1], values[other % len(values)]))
        return values[-1]

    model, x = Of(forward, torch.randn(4)), torch.randn(4, requires_grad=True)
    found = None
    try:
        with torch.autograd.detect_anomaly():
            model(x).sum().backward()
    except RuntimeError as error:
        found = str(error).split("'")[1]  # Function 'SqrtBackward0' returned nan values
    x.grad = None

    history = tl.log_forward_pass(model, x, save_gradients=True)
    history.output.sum().backward()
    fault = history.first_nonfinite()

    makers = {} if fault is None else {history[label].grad_fn_name for label in (fault.layer, *fault.later)}
    if found is not None:  # torch does not look for Inf, nor whether it does harm
        assert found in makers
        assert fault is not None
        assert fault.later or fault.op.grad_fn_name == found
    elif fault is not None:
        assert fault.what == "inf"
    is_spoilt = any(not torch.isfinite(grad).all() for grad in history.param_grads.values())
    is_spoilt |= x.grad is not None and not bool(torch.isfinite(x.grad).all())
    assert is_spoilt == (fault is not None and fault.reaches_output)


class Wrong(torch.autograd.Function):
    """Its backward gives NaN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * NAN


def harmless_and_root(model: Of, x: Tensor) -> Tensor:
    harmless = torch.where(x > 0, torch.log(x), 0.0)
    return harmless.detach().sum() + (x * model.weight * 0).square().sum().sqrt()


def harmless_twice(model: Of, x: Tensor) -> Tensor:
    harmless = torch.where(x > 0, torch.log(x.detach()), 0.0)
    return harmless.sum() + (x * model.weight).relu().sqrt().sum()


def harm_before_harmless(model: Of, x: Tensor) -> Tensor:
    spoilt = torch.acos(x * model.weight)
    return spoilt.sum() + (x * 2).relu().sqrt().sum()  # the backward of the last runs first


MIXED = torch.tensor([-1.0, 2.0, 3.0])
# Of both ways: which fault comes first, and which are only mentioned.
BOTH_WAYS: dict[str, tuple[Callable[..., Tensor], Tensor, dict[str, Any]]] = {
    "forward comes first": (
        lambda m, x: torch.log(x * m.weight), torch.zeros(3), {"phase": "forward", "type": "log"},
    ),
    "a harmless one does not hide its own backward": (
        lambda m, x: (lambda y: torch.where(y > 0, torch.sqrt(y), 0.0))(x * m.weight),
        MIXED,
        {"phase": "backward", "type": "sqrt", "what": "nan", "reaches_output": True,
         "text": "its own output is not finite either"},
    ),
    "a harmless one does not hide another": (
        harmless_and_root,
        MIXED,
        {"phase": "backward", "type": "sqrt", "later": ["log"], "text": "made elsewhere, too, by log_1"},
    ),
    "a harmless one comes first where no other does harm": (
        harmless_twice,
        MIXED,
        {"phase": "forward", "type": "log", "reaches_output": False, "later": ["sqrt"]},
    ),
    "harm comes before what does none": (
        harm_before_harmless,
        torch.tensor([-1.0, 0.5, 0.25]),
        {"type": "acos", "reaches_output": True, "later": ["sqrt"]},
    ),
    "a custom function whose backward is wrong": (
        lambda m, x: torch.tanh(Wrong.apply(x * m.weight)),
        torch.randn(2, 3),
        {"phase": "backward", "what": "nan", "name": "gradient of mul_1_1", "layer": "mul_1_1",
         "origin": "between", "text": "custom Function"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_what_spoils_the_step_comes_first(name: str) -> None:
    function, x, expected = BOTH_WAYS[name]

    assert_is(backward_fault_of(function, x.clone(), Tensor.sum), **expected)


def test_a_gradient_that_came_in_with_the_loss() -> None:
    fault = backward_fault_of(lambda m, x: x * m.weight, torch.zeros(3), lambda y: y.sqrt().sum())

    assert_is(fault, phase="backward", origin="loss", what="inf", text="came in with the loss")


def test_a_gradient_of_a_parameter_alone() -> None:
    def forward(model: Of, x: Tensor) -> Tensor:
        return (x * model.weight).sum() * 1e10

    history = tl.log_forward_pass(Of(forward, torch.zeros(3)), torch.full((3,), 1e35))
    history.log_backward(history.output)
    fault = history.first_nonfinite()

    assert (fault.phase, fault.name, fault.op.layer_type) == ("backward", "gradient of weight", "mul")


def test_a_fault_of_the_backward_that_reaches_no_parameter_and_no_input_is_said_to_do_no_harm() -> None:
    def forward(model: Of, x: Tensor) -> Tensor:
        return (x * model.weight).relu().sqrt()

    x = torch.tensor([-1.0, 2.0, 3.0])
    fault = backward_fault_of(forward, x, Tensor.sum)

    assert fault is not None
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
    assert (fault.phase, fault.what, fault.reaches_output) == ("backward", "inf", False)
    assert "it reaches no gradient of a parameter or of an input" in str(fault)


def test_what_reaches_an_input_alone_does_harm() -> None:
    model = Of(lambda m, x: torch.sqrt(x) + m.weight)
    x = torch.zeros(3, requires_grad=True)

    history = tl.log_forward_pass(model, x, save_gradients=True)
    history.output.sum().backward()
    fault = history.first_nonfinite()

    assert (fault.name, fault.reaches_output) == ("gradient of input_1_0", True)
    assert torch.isfinite(history.param_grads["weight"]).all()


@pytest.mark.parametrize("saved", [["add_1"], ["sqrt_1", "add_1"]])
@pytest.mark.parametrize(("cut", "does_harm"), [(torch.relu, False), (torch.clone, True)])
def test_harm_is_told_where_only_some_gradients_were_saved(
    saved: list[str], cut: Callable[[Tensor], Tensor], does_harm: bool
) -> None:
    model = Of(lambda m, x: torch.sqrt(cut(x * m.weight) + 0))

    history = tl.log_forward_pass(model, torch.tensor([0.0, 1.0, 3.0]), save_gradients=saved)
    history.output.sum().backward()
    fault = history.first_nonfinite()

    assert (fault.what, fault.reaches_output) == ("inf", does_harm)
    assert does_harm != bool(torch.isfinite(history.param_grads["weight"]).all())


def test_gradients_are_searched_though_no_values_were_saved() -> None:
    model = Of(lambda m, x: torch.sqrt(x * m.weight) * 1)
    x = torch.zeros(3, requires_grad=True)

    history = tl.log_forward_pass(model, x, layers_to_save="none", save_gradients=True)
    history.output.sum().backward()
    fault = history.first_nonfinite()

    assert (fault.phase, fault.op.layer_type) == ("backward", "sqrt")
    assert not fault.inputs[1].is_seen


def test_a_gradient_whose_makers_were_not_saved_is_only_said_to_be_seen() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), Of(lambda m, x: torch.sqrt(x * 0)))

    history = tl.log_forward_pass(model, torch.ones(2, 3), save_gradients=["linear_1"])
    history.output.sum().backward()
    fault = history.first_nonfinite()

    assert (fault.layer, fault.origin, fault.what) == ("linear_1_1", "unseen", "nan")
    assert "the gradients after it were not saved" in str(fault)


def test_a_gradient_that_a_second_loss_brought_to_an_inner_layer() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    history = tl.log_forward_pass(model, torch.randn(8, 3), save_gradients=True)
    inner = history["relu_1"].tensor_contents
    assert (inner == 0).any()

    (history.output.sum() + inner.sqrt().sum()).backward()
    fault = history.first_nonfinite()

    assert (fault.layer, fault.origin, fault.phase) == ("relu_1_2", "between", "backward")


def test_a_mask_that_makes_the_loss_infinite_is_named() -> None:
    class Masked(nn.Module):
        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return F.cross_entropy(x.masked_fill(mask, -torch.inf), torch.tensor([0, 1]))

    mask = torch.tensor([[True, False, False], [False, False, False]])
    history = tl.log_forward_pass(Masked(), [torch.randn(2, 3), mask])

    fault = history.first_nonfinite()

    assert torch.isinf(history.output)
    assert (fault.layer, fault.reaches_output) == ("maskedfill_1_2", True)


@pytest.mark.parametrize("layers_to_save", ["all", ["relu_1", "add_1"]])
@pytest.mark.parametrize("layer", ["relu_1", "input_1"])
def test_what_an_edit_put_in_is_not_blamed_on_the_op(layer: str, layers_to_save: Any) -> None:
    spoil = lambda tensor: tensor * NAN  # noqa: E731
    history = tl.log_forward_pass(
        Of(lambda m, x: x.relu() + 1),
        torch.ones(2, 3),
        edit={layer: spoil},
        layers_to_save=layers_to_save if layers_to_save == "all" else [layer, *layers_to_save],
    )

    fault = history.first_nonfinite()

    assert fault is not None
    assert (fault.op.layer_label_short, fault.origin, fault.count) == (layer, "edit", 6)
    assert str(fault).startswith(f"NaN put in by the edit of {fault.layer}: 6 of 6")


def test_an_edit_is_not_blamed_for_what_the_op_made() -> None:
    history = tl.log_forward_pass(
        Of(lambda m, x: x.log() + 1), torch.zeros(2, 3), edit={"log_1": lambda tensor: tensor * 2}
    )

    fault = history.first_nonfinite()

    assert fault is not None
    assert (fault.op.layer_type, fault.origin) == ("log", "op")

"""What ordinary scripts do beside computing: freeze, gather batches, look things up, draw, make mistakes."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

import torcheer.autograd as ag
from tests.autograd.twins import close, twins
from torcheer.autograd import nn, optim, tracer
from torcheer.autograd import torch_calls as calls
from torcheer.errors import AutogradError, InputError


def leaf(*values: float) -> tracer:
    return tracer(list(values), requires_grad=True)


# --- modes -----------------------------------------------------------------------------------------------


def test_a_call_of_set_grad_enabled_holds_until_the_next_one() -> None:
    x = leaf(1)
    try:
        ag.set_grad_enabled(False)
        assert not (x * 2).requires_grad
    finally:
        ag.set_grad_enabled(True)
    assert (x * 2).requires_grad

    with ag.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_a_mode_that_is_only_made_changes_nothing() -> None:
    x = leaf(1)
    ag.no_grad()
    ag.inference_mode()
    inside = ag.set_grad_enabled(False)(lambda: (x * 2).requires_grad)

    assert (x * 2).requires_grad
    assert not inside()


def test_torchs_own_inference_mode_does_not_stop_a_model() -> None:
    model = nn.Linear(2, 2)
    with torch.inference_mode():
        x = torch.ones(1, 2)
        assert model(x).shape == (1, 2)

    model(x).sum().backward()

    assert model.bias.grad.tolist() == [1, 1]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_hook_that_raises_leaves_no_mode_behind(error: type[BaseException], create_graph: bool) -> None:
    x = leaf(1, 2)
    h = x * 3

    def fail(gradient: Tensor) -> None:
        raise error

    h.register_hook(fail)
    with pytest.raises(error):
        (h * h).sum().backward(create_graph=create_graph)

    assert ag.is_grad_enabled()
    assert type(x * 2) is tracer


# --- freezing --------------------------------------------------------------------------------------------


def test_a_gradient_arrives_at_a_leaf_that_rested_meanwhile() -> None:
    x = leaf(1, 2)
    loss = (x * x).sum()
    x.requires_grad = False
    assert not (x * 2).requires_grad
    x.requires_grad = True

    loss.backward()

    assert x.grad.tolist() == [2, 4]


def test_a_leaf_that_rests_keeps_its_gradient_and_gets_no_more() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    (x * y).sum().backward()
    loss = (x * y).sum()
    x.requires_grad_(False)

    loss.backward()

    assert x.grad.tolist() == [3, 4]
    assert y.grad.tolist() == [2, 4]
    x.grad = None
    assert x.requires_grad_().grad is None


def test_what_a_parameter_was_is_no_parameter() -> None:
    model = nn.Linear(2, 2)
    model.before = model.weight.detach()

    assert not isinstance(model.before, nn.Parameter)
    assert model.before.data_ptr() == model.weight.data_ptr()
    assert len(list(model.parameters())) == 2


def test_who_holds_on_to_a_gradient_sees_what_is_added() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    held = x.grad
    (x * x).sum().backward()

    assert held is x.grad
    assert held.tolist() == [4, 8]
    held.detach_().zero_()  # which torch refuses for views
    assert x.grad.tolist() == [0, 0]


def test_a_gradient_that_is_a_view_can_be_detached() -> None:
    x = leaf(1, 2)
    x.reshape(2, 1).T.sum().backward()

    assert x.grad.detach_().tolist() == [1, 1]


# --- data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_workers", [0, 1])
def test_batches_of_tracers_are_gathered(num_workers: int) -> None:
    data = TensorDataset(ag.arange(6.0).reshape(3, 2), ag.tensor([0, 1, 2]))
    batches = list(DataLoader(data, batch_size=2, num_workers=num_workers))

    assert [batch.tolist() for batch, _ in batches] == [[[0, 1], [2, 3]], [[4, 5]]]


def test_out_is_written_where_no_gradient_is_wanted() -> None:
    here = torch.zeros(2)
    torch.add(tracer([1.0, 2.0]), 1, out=here)
    assert here.tolist() == [2, 3]

    with pytest.raises(AutogradError, match="assign the result"):
        torch.add(leaf(1, 2), 1, out=here)


def test_as_tensor_keeps_the_history() -> None:
    x = leaf(1, 2)

    assert ag.as_tensor(x) is x
    assert ag.as_tensor(x * 2, dtype=ag.float64).requires_grad
    assert ag.as_tensor([1.0, 2.0]).tolist() == [1, 2]


@pytest.mark.parametrize("use", [numpy.asarray, lambda x: x * numpy.ones(2, dtype="float32")])
def test_an_array_of_what_wants_a_gradient_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(AutogradError, match=r"detach\(\)\.numpy\(\)"):
        use(leaf(1, 2))

    assert use(tracer([1.0, 2.0])).tolist() == [1, 2]


def test_parameters_are_stored_and_read() -> None:
    file = io.BytesIO()
    torch.save(nn.Sequential(nn.Linear(2, 1)), file)
    file.seek(0)

    assert torch.load(file, weights_only=False)[0].weight.requires_grad


# --- asking ----------------------------------------------------------------------------------------------


def test_grad_takes_what_torchs_takes() -> None:
    x, y = leaf(2), leaf(3)

    by_x, by_y = ag.autograd.grad((x * x).sum(), [x, y], only_inputs=True, materialize_grads=True)

    assert (by_x.tolist(), by_y.tolist()) == ([4], [0])


def test_parts_of_a_module_are_found_by_address() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3)))

    assert model.get_submodule("1.0") is model[1][0]
    assert model.get_submodule("") is model
    assert model.get_parameter("0.bias") is model[0].bias
    assert model.get_buffer("1.0.running_var") is model[1][0].running_var
    for look in (model.get_submodule, model.get_parameter, model.get_buffer):
        with pytest.raises(AttributeError, match="7"):
            look("1.7")


def test_lists_of_modules_are_lists() -> None:
    row = nn.Sequential(nn.Linear(2, 2), nn.ReLU()) + nn.Sequential(nn.Linear(2, 1))
    first = row.pop(0)
    more = nn.ModuleList([nn.ReLU()])
    more += [nn.Tanh()]
    named = nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()})

    assert isinstance(first, nn.Linear)
    assert [type(one) for one in row] == [nn.ReLU, nn.Linear]
    assert list(row.state_dict()) == ["1.weight", "1.bias"]
    assert len(more) == 2
    assert isinstance(named.pop("b"), nn.ReLU)
    assert list(named) == ["a"]


def test_parameters_can_be_held_by_number_and_by_name() -> None:
    def make(nn: Any) -> Any:
        model = nn.Module()
        model.row = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1))])
        model.row.append(torch.full((1,), 3.0))
        model.named = nn.ParameterDict({"w": torch.ones(1)})
        model.named["b"] = nn.Parameter(torch.zeros(1))
        return model

    theirs, ours = twins(make)

    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert (len(ours.row), len(ours.named), "w" in ours.named) == (3, 2, True)
    (ours.row[0].sum() * ours.row[-1] * ours.named["w"]).sum().backward()
    assert ours.row[0].grad.tolist() == [3, 3]
    with pytest.raises((KeyError, AttributeError), match="c"):
        ours.named["c"]


@pytest.mark.parametrize("what", [torch.nn.ReLU(), torch.tanh])
def test_what_is_no_layer_of_ours_is_not_passed_over(what: Any) -> None:
    with pytest.raises(InputError, match=r"layers of torcheer\.autograd\.nn"):
        nn.Sequential(nn.Linear(1, 1), what)


# --- making ----------------------------------------------------------------------------------------------

LAYERS: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda nn: nn.Linear(3, 2, dtype=torch.float64, device="cpu"),
    "Conv2d": lambda nn: nn.Conv2d(2, 3, 3, dtype=torch.float64),
    "BatchNorm2d": lambda nn: nn.BatchNorm2d(3, dtype=torch.float64),
    "GRU": lambda nn: nn.GRU(2, 3, dtype=torch.float64),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(4, 2, dtype=torch.float64),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_made_in_another_type_with_the_same_numbers(name: str) -> None:
    torch.manual_seed(0)
    theirs = LAYERS[name](torch.nn).state_dict()
    torch.manual_seed(0)
    ours = LAYERS[name](nn).state_dict()

    assert torch.get_default_dtype() == torch.float32
    for key, value in theirs.items():
        assert ours[key].dtype == value.dtype
        assert torch.equal(ours[key], value)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "ZeroPad2d": lambda nn: nn.ZeroPad2d((1, 0, 2, 1)),
    "ConstantPad2d": lambda nn: nn.ConstantPad2d(1, 3.0),
    "ReflectionPad2d": lambda nn: nn.ReflectionPad2d(2),
    "ReplicationPad2d": lambda nn: nn.ReplicationPad2d(1),
    "CircularPad2d": lambda nn: nn.CircularPad2d(1),
    "reflecting convolution": lambda nn: nn.Conv2d(4, 2, (3, 1), padding=(1, 0), padding_mode="reflect"),
    "circular convolution": lambda nn: nn.Conv2d(4, 2, 4, padding="same", padding_mode="circular"),
    "Unfold": lambda nn: nn.Unfold(3, padding=1),
    "Fold": lambda nn: nn.Sequential(nn.Unfold(2, stride=2), nn.Fold((6, 6), 2, stride=2)),
    "PixelUnshuffle": lambda nn: nn.PixelUnshuffle(2),
    "AdaptiveMaxPool2d": lambda nn: nn.AdaptiveMaxPool2d(2),
    "UpsamplingBilinear2d": lambda nn: nn.UpsamplingBilinear2d(scale_factor=2),
    "UpsamplingNearest2d": lambda nn: nn.UpsamplingNearest2d(scale_factor=2),
    "Softmin": lambda nn: nn.Softmin(1),
    "Softmax2d": lambda nn: nn.Softmax2d(),
    "Softshrink": lambda nn: nn.Softshrink(),
    "Hardshrink": lambda nn: nn.Hardshrink(),
    "Tanhshrink": lambda nn: nn.Tanhshrink(),
    "Threshold": lambda nn: nn.Threshold(0.1, 2.0),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_small_layer_agrees_with_torchs(name: str) -> None:
    theirs, ours = twins(SHAPES[name])
    x = torch.randn(2, 4, 6, 6, dtype=torch.float64)
    plain, traced = x.clone().requires_grad_(), tracer(x.clone(), requires_grad=True)

    expected, found = theirs(plain), ours(traced)
    (expected**2).sum().backward()
    (found**2).sum().backward()

    close(found, expected, 1e-12)
    close(traced.grad, plain.grad, 1e-12)


def test_what_is_missing_says_how_to_write_it() -> None:
    with pytest.raises(AttributeError, match=r"no Conv7d.*class on nn\.Module"):
        _ = nn.Conv7d
    with pytest.raises(AttributeError, match=r"no Newton, only .*SGD.*update\(self"):
        _ = optim.Newton
    with pytest.raises(AutogradError, match="there is no rule for conv3d"):
        nn.Conv3d(1, 1, 1)(torch.ones(1, 1, 2, 2, 2))


def test_optimizers_take_how_torch_would_compute() -> None:
    parameters = [nn.Parameter(torch.ones(1))]
    for make in (optim.SGD, optim.Adam, optim.AdamW, optim.Adagrad):
        make(parameters, foreach=False, fused=None)
    optim.RMSprop(parameters, foreach=False)


@pytest.mark.parametrize(
    "make",
    [
        lambda rates, it: rates.CosineAnnealingWarmRestarts(it, 3, T_mult=2, eta_min=0.01),
        lambda rates, it: rates.PolynomialLR(it, 6, power=2.0),
        lambda rates, it: rates.MultiplicativeLR(it, lambda epoch: 0.9 if epoch % 2 else 0.8),
    ],
)
def test_a_schedule_has_the_rates_of_torchs(make: Callable[[Any, Any], Any]) -> None:
    found: list[list[float]] = []
    for nets, optims in ((torch.nn, torch.optim), (nn, optim)):
        optimizer = optims.SGD(nets.Linear(1, 1).parameters(), lr=0.1)
        schedule, rates = make(optims.lr_scheduler, optimizer), []
        for _ in range(12):
            optimizer.step()
            schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
        found.append(rates)

    assert found[1] == pytest.approx(found[0], rel=1e-9, abs=1e-12)


# --- the same at random ----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["LayerNorm", "RMSNorm"])
def test_a_dropout_after_a_norm_drops_the_same_as_torchs(norm: str) -> None:
    """Numbers are drawn in the order in memory, so that has to be torch's, too."""
    found = []
    for nets in (torch.nn, nn):
        torch.manual_seed(0)
        x = torch.randn(5, 4, 8).transpose(0, 1)  # as it comes out of a recurrent layer
        found.append(nets.Dropout(0.5)(getattr(nets, norm)(8)(x)).detach().as_subclass(Tensor))

    torch.testing.assert_close(found[1], found[0])


def test_gumbel_softmax_draws_as_torchs_does() -> None:
    x = torch.randn(4, 5, dtype=torch.float64)
    for hard in (False, True):
        plain, traced = x.clone().requires_grad_(), tracer(x.clone(), requires_grad=True)
        found = []
        for one in (plain, traced):
            torch.manual_seed(1)
            found.append(torch.nn.functional.gumbel_softmax(one, tau=0.7, hard=hard))
            (found[-1] * torch.arange(5.0)).sum().backward()
        close(found[1], found[0], 1e-12)
        close(traced.grad, plain.grad, 1e-12)


# --- at the edges ----------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
EDGES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "relu of NaN": (torch.relu, [NAN, -1.0, 0.0, 2.0]),
    "maximum with NaN": (lambda x: torch.maximum(x, torch.zeros(3, dtype=x.dtype)), [NAN, 0.0, 1.0]),
    "minimum with NaN": (lambda x: torch.minimum(x, torch.zeros(3, dtype=x.dtype)), [NAN, 0.0, 1.0]),
    "hardswish far out": (torch.nn.functional.hardswish, [INF, 4.0, -4.0, 1.0]),
    "huber loss far out": (lambda x: torch.nn.functional.huber_loss(x, torch.zeros_like(x)), [INF, 0.5]),
    "smooth l1 far out": (lambda x: torch.nn.functional.smooth_l1_loss(x, torch.zeros_like(x)), [-INF, 0.5]),
    "erfc far out": (torch.erfc, [-9.0, 0.0, 5.0, 9.0]),
}


@pytest.mark.parametrize("name", EDGES)
def test_at_an_edge_values_and_gradients_are_torchs(name: str) -> None:
    function, values = EDGES[name]
    plain = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    traced = tracer(torch.tensor(values, dtype=torch.float64), requires_grad=True)

    expected, found = function(plain), function(traced)
    expected.sum().backward()
    found.sum().backward()

    close(found, expected, 1e-10)
    close(traced.grad, plain.grad, 1e-10)


def test_the_angle_of_a_point_infinitely_far_is_known() -> None:
    far = tracer([INF, -INF], requires_grad=True)

    assert torch.atan2(far, far).tolist() == torch.atan2(far.data, far.data).tolist()


def test_nothing_at_all_goes_through_layers() -> None:
    layer, x = nn.Conv2d(4, 6, 3, groups=2), tracer(torch.zeros(0, 4, 7, 7), requires_grad=True)
    torch.nn.functional.max_pool2d(layer(x), 2).sum().backward()
    assert layer.weight.grad.shape == (6, 2, 3, 3)
    assert not layer.weight.grad.any()

    rows = tracer(torch.zeros(2, 0), requires_grad=True)
    rows[torch.tensor([0, 1, 1])].sum().backward()
    assert rows.grad.shape == (2, 0)


# --- a rule that is missing ------------------------------------------------------------------------------


@pytest.fixture
def tables() -> Iterator[None]:
    """Rules that a test adds go with it."""
    known, rules = dict(calls.CALLS), dict(ag.RULES)
    yield
    for table, before in ((calls.CALLS, known), (ag.RULES, rules)):
        table.clear()
        table.update(before)
    calls._found.clear()


MISSING: dict[str, tuple[Callable[[Any], Any], str]] = {
    "torch.lgamma": (torch.lgamma, "g * torch.digamma({})"),
    "x.lgamma": (lambda x: x.lgamma(), "g * torch.digamma({})"),
    "torch.special.i0": (torch.special.i0, "g * torch.special.i1({})"),
    "torch.linalg.inv": (torch.linalg.inv, "-c.mT @ g @ c.mT"),
    "torch.nn.functional.rrelu": (
        lambda x: torch.nn.functional.rrelu(x, 0.1, 0.1),
        "torch.where({0} > 0, g, 0.1 * g)",
    ),
    "torch.renorm": (lambda x: torch.renorm(x, 2, 0, 1e9), "g"),
    "torch.nn.functional.local_response_norm": (
        lambda x: torch.nn.functional.local_response_norm(x[None, None], 1, alpha=0.0)[0, 0],
        "g",
    ),
}


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("module", [torch, ag], ids=["torch", "a moved script"])
@pytest.mark.parametrize("name", MISSING)
def test_the_three_lines_of_the_error_work_when_the_gradient_is_filled_in(name: str, module: Any) -> None:
    function, gradient = MISSING[name]
    value = torch.tensor([[0.6, 0.2], [0.3, 1.5]], dtype=torch.float64)
    x = tracer(value.clone(), requires_grad=True)
    with pytest.raises(AutogradError, match="there is no rule for") as refused:
        function(x)
    lines = textwrap.dedent("\n".join(str(refused.value).split("\n")[1:4]))
    first = re.search(r"lambda g, c, (\w+)", lines)
    assert first is not None

    exec(lines.replace("g * ...", gradient.format(first[1])), {"torch": module})
    function(x).sum().backward()

    plain = value.clone().requires_grad_()
    function(plain).sum().backward()
    close(x.grad, plain.grad, 1e-10)


def test_a_function_without_a_rule_is_there_for_a_moved_script() -> None:
    assert ag.lgamma is torch.lgamma
    with pytest.raises(AutogradError, match="there is no rule for lgamma"):
        ag.lgamma(leaf(1, 2))


@pytest.mark.usefixtures("tables")
def test_a_rule_that_gives_something_odd_is_named() -> None:
    x = leaf(1, 2)
    several = ag.rule("several", forward=lambda a: (a, a), a=(lambda g, c, a: g, r"\bar c"))
    with pytest.raises(AutogradError, match="rule several gave a tuple"):
        several(x)
    nothing = ag.rule("nothing", forward=lambda a: a * 2, a=(lambda g, c, a: None, r"\bar c"))
    with pytest.raises(AutogradError, match="a of the rule nothing gave a NoneType"):
        nothing(x).sum().backward()
    longer = ag.rule("longer", forward=lambda a: a * 2, a=(lambda g, c, a: g.repeat(3)[:5], r"\bar c"))
    with pytest.raises(AutogradError, match=r"gave the shape \(5,\), and that input has \(2,\)"):
        longer(x).sum().backward()

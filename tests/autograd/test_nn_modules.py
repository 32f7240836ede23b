"""Modules: what is found in them, their state, their modes, their hooks, and how they are printed."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from collections import OrderedDict
from typing import Any

import pytest
import torch
from torch import Tensor

from torcheer import log_forward_pass
from torcheer.autograd import nn, tracer
from torcheer.autograd.modes import modes
from torcheer.autograd.nn import functional as F
from torcheer.errors import AutogradError, InputError


def nested(nn: Any) -> Any:
    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x: Any) -> Any:
            return x + self.norm(self.first(x))

    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))
            self.blocks = nn.ModuleList([Block(), Block()])
            self.heads = nn.ModuleDict({"left": nn.Linear(4, 2), "right": nn.Linear(4, 3)})
            self.shared = self.blocks[0].first
            self.register_buffer("seen", torch.zeros(1))
            self.register_buffer("passing", torch.zeros(1), persistent=False)

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return self.heads["left"](x * self.scale)

    torch.manual_seed(0)
    return Net()


def test_modules_parameters_and_buffers_are_found_by_the_names_of_torchs() -> None:
    ours, theirs = nested(nn), nested(torch.nn)

    for find in ("named_parameters", "named_buffers", "named_modules", "named_children"):
        assert [name for name, _ in getattr(ours, find)()] == [name for name, _ in getattr(theirs, find)()]
    assert len(list(ours.modules())) == len(list(theirs.modules()))
    assert [name for name, _ in ours.named_parameters("net", recurse=False)] == ["net.scale"]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert len(list(ours.children())) == 3
    assert len(list(ours.buffers())) == len(list(theirs.buffers()))


def test_a_model_may_set_its_attributes_before_it_calls_super_or_never_call_it() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(2, 1)
            super().__init__()

    class Never(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(2, 1)

    for kind in (Early, Never):
        model = kind()
        assert [name for name, _ in model.named_parameters()] == ["layer.weight", "layer.bias"]
        assert model.training
        assert not model.eval().layer.training


# --- state -----------------------------------------------------------------------------------------------


def test_a_state_that_does_not_fit_says_why() -> None:
    model = nested(nn)
    state = {name: torch.full_like(value, 3) for name, value in model.state_dict().items()}
    del state["scale"]
    state["extra"] = torch.zeros(1)

    with pytest.raises(RuntimeError, match=r'(?s)Missing key.* "scale".*Unexpected key.* "extra"'):
        model.load_state_dict(state)
    assert model.load_state_dict(state, strict=False) == (["scale"], ["extra"])
    assert (model.blocks[0].first.weight.data == 3).all()
    assert model.scale.item() == 1


def test_a_state_shares_memory_and_loading_is_counted_as_a_write() -> None:
    layer = nn.Linear(2, 1)
    layer.state_dict()["bias"].fill_(5.0)
    version = layer.bias._version

    layer.load_state_dict(torch.nn.Linear(2, 1).state_dict())

    assert layer.bias.item() != 5.0
    assert layer.bias._version > version
    assert layer.bias.is_leaf


def test_models_are_copied_and_pickled_whole(tmp_path: Any) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    x = torch.randn(4, 3)
    model(x).sum().backward()

    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other.eval()(x).data, model.eval()(x).data)
        assert other[0].weight is not model[0].weight
        assert isinstance(other[0].weight, nn.Parameter)
        assert other[0].weight.requires_grad
    torch.save(model.state_dict(), tmp_path / "state.pt")
    loaded = torch.load(tmp_path / "state.pt", weights_only=True)
    assert torch.equal(loaded["0.weight"], model[0].weight.data)


# --- all at once -----------------------------------------------------------------------------------------


def test_modes_types_and_gradients_are_set_for_all() -> None:
    model = nested(nn)

    assert not any(module.training for module in model.eval().modules())
    assert all(module.training for module in model.train().modules())
    model(torch.randn(3, 4)).sum().backward()
    weight = model.blocks[0].first.weight
    assert model.double() is model
    assert weight is model.blocks[0].first.weight
    assert (weight.dtype, weight.grad.dtype) == (torch.float64, torch.float64)
    assert model.blocks[0].norm.running_mean.dtype == torch.float64
    assert model.blocks[0].norm.num_batches_tracked.dtype == torch.int64
    model(torch.randn(3, 4).double()).sum().backward()
    model.zero_grad(set_to_none=False)
    assert not weight.grad.any()
    model.zero_grad()
    assert weight.grad is None
    model.requires_grad_(False)
    assert not model(torch.randn(3, 4).double()).requires_grad
    assert model.requires_grad_().float().half().bfloat16().to(torch.float32).cpu().scale.requires_grad
    assert model.to("cpu", torch.float64).scale.dtype == torch.float64
    assert model.to(dtype=torch.float32).scale.dtype == torch.float32
    assert model.to(torch.zeros(1, dtype=torch.float64)).scale.dtype == torch.float64


def test_apply_calls_the_innermost_first() -> None:
    seen: list[str] = []

    nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())).apply(lambda m: seen.append(type(m).__name__))

    assert seen == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_hooks_see_and_replace_what_goes_in_and_out() -> None:
    layer = nn.Identity()
    before = layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    after = layer.register_forward_hook(lambda module, args, output: output * 10 + args[0])
    seen = layer.register_forward_hook(lambda module, args, output: None)

    assert layer(1.0) == 22.0
    before.remove()
    assert layer(1.0) == 11.0
    after.remove()
    seen.remove()
    assert layer(1.0) == 1.0


def test_a_layer_is_known_to_its_ops_also_after_one_that_raises() -> None:
    linear, relu = nn.Linear(2, 2), nn.ReLU()
    shared = nn.Sequential(linear, relu, linear)

    out = shared(torch.ones(1, 2))

    second = out._node
    first = second.parents[0].parents[0]
    assert second.layer.layer is first.layer.layer is linear
    assert second.layer is not first.layer
    assert second.parents[0].layer.layer is relu
    assert (out * 2)._node.layer is None
    assert repr(first.layer) == "Linear layer (2 X 2)"
    with pytest.raises(RuntimeError):
        linear(torch.ones(1, 3))
    assert modes.layer is None


def test_a_hook_on_the_way_back_is_one_of_a_tensor() -> None:
    with pytest.raises(AutogradError, match="register_hook"):
        nn.Linear(2, 1).register_full_backward_hook(lambda *_: None)


def test_a_parameter_of_torchs_becomes_one_of_ours() -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            self.scale = torch.nn.Parameter(torch.ones(2))

        def forward(self, x: Any) -> Any:
            return x * self.scale

    model = Scale()
    model(torch.tensor([3.0, 4.0])).Sum().backward()

    assert type(model.scale) is nn.Parameter
    assert model.scale.grad.tolist() == [3, 4]


def test_a_module_without_a_forward_says_so() -> None:
    class Empty(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty.* is missing the required"):
        Empty()(1)


# --- containers ------------------------------------------------------------------------------------------


def test_a_sequence_is_a_list_too() -> None:
    a, b, c = nn.Linear(1, 1), nn.ReLU(), nn.Tanh()
    row = nn.Sequential(a, b)

    row.append(c)
    assert (len(row), row[0], row[-1], list(row)) == (3, a, c, [a, b, c])
    assert list(row[1:]) == [b, c]
    assert isinstance(row[1:], nn.Sequential)
    row[1] = c
    del row[0]
    assert list(row) == [c, c]
    row.insert(0, a)
    assert list(row.state_dict()) == ["0.weight", "0.bias"]
    named = nn.Sequential(OrderedDict(first=a, then=b))
    assert list(named.state_dict()) == ["first.weight", "first.bias"]
    assert torch.equal(named(torch.ones(1, 1)).data, b(a(torch.ones(1, 1))).data)
    assert len(nn.ModuleList([a]).extend([b, c])) == 3


def test_modules_by_name() -> None:
    modules = nn.ModuleDict({"a": nn.ReLU()})
    modules["b"] = nn.Tanh()

    assert (len(modules), list(modules), "a" in modules) == (2, ["a", "b"], True)
    assert [name for name, _ in modules.items()] == list(modules.keys())
    assert isinstance(list(modules.values())[1], nn.Tanh)
    del modules["a"]
    with pytest.raises(KeyError, match="a"):
        modules["a"]
    with pytest.raises(KeyError, match="keys"):
        modules["keys"] = nn.ReLU()
    with pytest.raises(InputError, match="take the layer of that name here"):
        modules["c"] = torch.nn.ReLU()


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Softmin"])
def test_a_softmax_is_over_the_last_dimension_unless_it_is_said(name: str) -> None:
    x = torch.rand(2, 3, 4)

    for given, dim in (((), -1), ((1,), 1)):
        assert torch.equal(getattr(nn, name)(*given)(x).detach(), getattr(torch.nn, name)(dim)(x))


def test_a_pass_of_a_model_can_be_captured() -> None:
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4)), torch.rand(2, 3)

    history = log_forward_pass(model, x)

    assert "relu_1_2" in history.layer_labels
    assert torch.equal(history["output_1"].tensor_contents, model(x))


# --- printing --------------------------------------------------------------------------------------------


def test_a_model_prints_its_parts_indented() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Dropout(0.2))
            self.head = nn.Linear(8, 2)

    assert repr(Net()) == (
        "Net(\n"
        "    (features):Sequence(\n"
        "        (0):Conv2d 1 -> 8\n"
        "        (1):ReLU()\n"
        "        (2):Dropout(p=0.2, inplace=False)\n"
        "    )\n"
        "    (head):Linear layer (8 X 2)\n"
        ")"
    )


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (nn.ReLU(), "ReLU()"),
        (nn.Linear(3, 2), "Linear layer (3 X 2)"),
        (nn.ConvTranspose2d(3, 2, 1), "ConvTranspose2d 3 -> 2"),
        (nn.LSTM(3, 4, 2, bidirectional=True), repr(torch.nn.LSTM(3, 4, 2, bidirectional=True))),
        (nn.LayerNorm((4, 2)), repr(torch.nn.LayerNorm((4, 2)))),
        (nn.Upsample(scale_factor=2), repr(torch.nn.Upsample(scale_factor=2))),
        (nn.MultiheadAttention(8, 2), "MultiheadAttention()"),
        (nn.MSE(), "MSELoss()"),
    ],
)
def test_a_layer_prints_as_one_line_as_in_torchtrace_or_else_in_torch(layer: Any, text: str) -> None:
    assert repr(layer) == text


def test_a_models_construct_is_what_it_prints() -> None:
    class Small(nn.Model):
        def __init__(self) -> None:
            self.b, self.a = nn.ReLU(), nn.Tanh()

        def construct(self) -> list[nn.Module]:
            return [self.a, self.b]

    class Plain(nn.Model):
        def __init__(self) -> None:
            self.b, self.a = nn.ReLU(), nn.Tanh()

    assert repr(Small()) == "Sequence(\n    (0):Tanh()\n    (1):ReLU()\n)"
    assert repr(Plain()) == "Sequence(\n    (0):ReLU()\n    (1):Tanh()\n)"


# --- first values, and gradients of all ------------------------------------------------------------------

INITS: dict[str, dict[str, Any]] = {
    "uniform_": {"a": -1.0, "b": 3.0},
    "normal_": {"mean": 1.0, "std": 2.0},
    "constant_": {"val": 3.0},
    "zeros_": {},
    "ones_": {},
    "eye_": {},
    "xavier_uniform_": {"gain": 2.0},
    "xavier_normal_": {},
    "kaiming_uniform_": {"a": 0.3},
    "kaiming_normal_": {"mode": "fan_out", "nonlinearity": "relu"},
    "orthogonal_": {"gain": 0.5},
    "trunc_normal_": {"mean": 0.5, "std": 1.5, "a": -1.0, "b": 1.0},
    "sparse_": {"sparsity": 0.4},
    "dirac_": {"groups": 2},
}
OF_MATRICES = ("eye", "sparse")
SHAPES = [(4, 6), (6, 4), (4, 3, 3), (4, 2, 3, 5), (2, 2, 1, 3, 3)]


def fitting(name: str) -> list[tuple[int, ...]]:
    if name.startswith("dirac"):
        return [shape for shape in SHAPES if len(shape) > 2]
    return [shape for shape in SHAPES if len(shape) == 2 or not name.startswith(OF_MATRICES)]


def check_first_values(initialise: Any, name: str, options: dict[str, Any]) -> None:
    for shape in fitting(name):
        ours, theirs = nn.Parameter(torch.empty(shape)), torch.nn.Parameter(torch.empty(shape))
        torch.manual_seed(0)
        getattr(torch.nn.init, name)(theirs, **options)
        state = torch.get_rng_state()
        torch.manual_seed(0)

        returned = initialise(ours, **options)

        assert returned is ours
        assert torch.equal(ours.data, theirs.data)
        assert torch.equal(torch.get_rng_state(), state)
        assert ours.is_leaf
        assert ours.requires_grad
        (ours * 2).sum().backward()
        assert torch.equal(ours.grad, torch.full(shape, 2.0))


@pytest.mark.parametrize("name", INITS)
def test_first_values_are_drawn_as_torch_draws_them(name: str) -> None:
    check_first_values(getattr(nn.init, name), name, INITS[name])


@pytest.mark.filterwarnings("ignore:`nn.init:FutureWarning", "ignore:nn.init:UserWarning")
@pytest.mark.parametrize(
    "name", [name for one in INITS for name in (one, one[:-1]) if hasattr(torch.nn.init, name)]
)
def test_torchs_own_first_values_go_into_our_parameters(name: str) -> None:
    options = INITS.get(name, INITS.get(f"{name}_", {}))
    check_first_values(getattr(torch.nn.init, name), name, options)


def test_every_function_of_torchs_first_values_is_tried() -> None:
    public = {name for name in vars(torch.nn.init) if name.endswith("_") and not name.startswith("_")}

    assert public <= set(INITS)
    assert all(hasattr(nn.init, name) for name in public)


@pytest.mark.parametrize("module", [nn.init, torch.nn.init], ids=["ours", "torch's"])
def test_first_values_may_have_a_generator_of_their_own(module: Any) -> None:
    signatures = {name: inspect.signature(getattr(torch.nn.init, name)) for name in INITS}
    drawing = [name for name, signature in signatures.items() if "generator" in signature.parameters]
    assert len(drawing) == 9
    for name in [*drawing, "trunc_normal_"]:
        options = INITS[name] if name != "trunc_normal_" else {"a": 1.5, "b": 2.5}  # where little is left
        ours, theirs = nn.Parameter(torch.empty(4, 6)), torch.empty(4, 6)
        torch.manual_seed(1)
        getattr(torch.nn.init, name)(theirs, **options, generator=torch.Generator().manual_seed(2))
        torch.manual_seed(1)  # the zeros of sparse_ are torch's own

        getattr(module, name)(ours, **options, generator=torch.Generator().manual_seed(2))

        assert torch.equal(ours.data, theirs), name


def test_first_values_written_after_a_forward_are_noticed() -> None:
    weight = nn.Parameter(torch.ones(2, 2))
    loss = (weight * weight).sum()
    torch.nn.init.kaiming_uniform_(weight)

    with pytest.raises(AutogradError, match="changed in place"):
        loss.backward()


def test_a_part_of_a_parameter_may_be_written_where_torch_takes_no_gradient() -> None:
    weight = nn.Parameter(torch.ones(2, 3))
    with torch.no_grad():
        weight.view(3, 2)[0].zero_()
        with pytest.raises(AutogradError, match="writes into a tensor"):
            (weight * 2).zero_()
    with pytest.raises(AutogradError, match="writes into a tensor"):
        weight.view(3, 2).zero_()

    assert weight.data.tolist() == [[0, 0, 1], [1, 1, 1]]


def test_other_first_values() -> None:
    values = nn.init.trunc_normal_(nn.Parameter(torch.empty(5000)), mean=1.0, std=2.0, a=-1.0, b=3.0)

    assert -1 <= values.min() < -0.9
    assert 2.9 < values.max() <= 3
    assert values.mean().item() == pytest.approx(1.0, abs=0.1)
    assert nn.init.orthogonal_(nn.Parameter(torch.empty(6, 2))).data.T @ values.data.new_ones(6) is not None
    for name in ("linear", "tanh", "relu", "leaky_relu", "selu", "sigmoid"):
        assert nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    assert nn.init.calculate_gain("leaky_relu", 0.5) == pytest.approx(math.sqrt(1.6))
    with pytest.raises(ValueError, match="step"):
        nn.init.calculate_gain("step")
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_uniform_(nn.Parameter(torch.empty(3)))
    with pytest.raises(ValueError, match="fan_in"):
        nn.init.kaiming_uniform_(nn.Parameter(torch.empty(3, 3)), mode="both")


@pytest.mark.parametrize("norm_type", [2.0, 1.0, math.inf])
def test_gradients_are_clipped_as_by_torch(norm_type: float) -> None:
    ours, theirs = nn.Linear(3, 2), torch.nn.Linear(3, 2)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(4, 3) * 5
    for model in (ours, theirs):
        (model(x) ** 2).sum().backward()

    mine = nn.utils.clip_grad_norm_(ours.parameters(), 1.0, norm_type)
    other = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0, norm_type)

    torch.testing.assert_close(mine, other)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    nn.utils.clip_grad_value_(ours.weight, 0.01)
    assert ours.weight.grad is not None
    assert ours.weight.grad.abs().max() <= 0.01


def test_parameters_as_one_vector() -> None:
    layer = nn.Linear(3, 2)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    (vector**2).sum().backward()

    torch.testing.assert_close(layer.weight.grad, 2 * layer.weight.data)
    nn.utils.vector_to_parameters(torch.arange(8.0), layer.parameters())
    assert layer.weight.data.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert layer.bias is not None
    assert layer.bias.data.tolist() == [6, 7]


def test_a_parameter_is_a_tracer_that_wants_a_gradient() -> None:
    values = torch.zeros(3)
    parameter = nn.Parameter(values)

    assert isinstance(parameter, tracer)
    assert parameter.requires_grad
    assert parameter.data_ptr() == values.data_ptr()
    assert not nn.Parameter(values, requires_grad=False).requires_grad
    assert type(parameter * 2) is tracer
    assert repr(parameter) == "Parameter([0., 0., 0.], requires_grad=True)"
    assert isinstance(F.relu(parameter), Tensor)

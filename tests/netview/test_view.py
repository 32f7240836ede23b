"""`NetView`: recorded numbers against plain hooks and torch.autograd; the model stays as it was."""

from __future__ import annotations

import copy
import gc
import warnings
from collections.abc import Callable, Iterator
from operator import methodcaller as call
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.netview.connection_sums import check_connections
from tests.netview.models import Made
from torcheer import InputError, Run, RunWarning, open_run
from torcheer.netview import NetView


class Net(nn.Module):
    """Convolution, normalisation, dropout and a nonlinearity in place: all that can be disturbed."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(64, 5)

    def forward(self, x: Tensor) -> Tensor:
        h = self.relu(self.norm(self.conv(x)))
        return self.fc(self.drop(h).flatten(1))


def images(num_items: int = 3) -> Tensor:
    return torch.randn(num_items, 3, 8, 8, generator=torch.Generator().manual_seed(3))


def hooked(model: nn.Module, x: Any, addresses: list[str]) -> dict[str, Tensor]:
    """The oracle: what plain forward hooks see, copied at once."""
    seen: dict[str, Tensor] = {}
    modules = dict(model.named_modules())
    handles = [
        modules[address].register_forward_hook(
            lambda _module, _args, output, address=address: seen.__setitem__(address, output.detach().clone())
        )
        for address in addresses
    ]
    state = copy.deepcopy(model.state_dict())
    with torch.random.fork_rng(), torch.no_grad():
        model(x)
    model.load_state_dict(state)
    for handle in handles:
        handle.remove()
    return seen


@pytest.mark.parametrize("is_training", [False, True])
def test_what_is_recorded_is_what_hooks_see(tmp_path: Path, is_training: bool) -> None:
    model, x = Net().train(is_training), images()
    expected = hooked(model, x, ["conv", "norm", "relu", "fc"])

    view = NetView(model, x, run=tmp_path / "run")

    for item in range(3):
        assert numpy.array_equal(view.values("x.Act", item=item), x[item].numpy())
        assert numpy.array_equal(view.values("conv.Act", item=item), expected["conv"][item].numpy())
        assert numpy.array_equal(view.values("norm.Net", item=item), expected["norm"][item].numpy())
        assert numpy.array_equal(view.values("norm.Act", item=item), expected["relu"][item].numpy())
        assert numpy.array_equal(view.values("fc.Act", item=item), expected["fc"][item].numpy())
    view.close()


def test_gradients_are_those_of_autograd(tmp_path: Path) -> None:
    model, x, target = Net().eval(), images(), torch.tensor([0, 4, 2])
    view = NetView(model, x, run=tmp_path / "run", loss=lambda output: F.cross_entropy(output, target))

    given = x.clone().requires_grad_()
    conv = model.conv(given)
    net = model.norm(conv)
    act = net.relu()
    output = model.fc(act.flatten(1))
    found = torch.autograd.grad(
        F.cross_entropy(output, target), [given, conv, net, act, output, model.conv.weight, model.fc.bias]
    )

    series = [
        "x.Grad",
        "conv.Grad",
        "norm.Net.Grad",
        "norm.Grad",
        "fc.Grad",
        "conv.weight.Grad",
        "fc.bias.Grad",
    ]
    for name, expected in zip(series, found, strict=True):
        recorded = view.run.tensors(name)[-1].array
        numpy.testing.assert_allclose(recorded, expected.numpy(), rtol=1e-5, atol=1e-7, err_msg=name)
    assert "Net.Grad" in next(layer for layer in view.scene.layers if layer.name == "norm").variables
    view.close()


@pytest.mark.parametrize("with_loss", [False, True])
@pytest.mark.parametrize("is_training", [False, True])
def test_the_model_stays_as_it_was_bit_by_bit(tmp_path: Path, with_loss: bool, is_training: bool) -> None:
    model, x = Net().train(is_training), images()
    model(x).sum().backward()
    model.fc.weight.requires_grad_(False)
    state, given = copy.deepcopy(model.state_dict()), x.clone()
    grads = {
        name: (param.grad, param.grad.clone())
        for name, param in model.named_parameters()
        if param.grad is not None
    }
    torch.manual_seed(5)
    generator = torch.get_rng_state()

    view = NetView(model, x, run=tmp_path / "run", loss=(lambda y: y.sum()) if with_loss else None)
    view.update()

    assert torch.equal(torch.get_rng_state(), generator)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    for name, param in model.named_parameters():
        if name in grads:
            assert param.grad is grads[name][0]
            assert torch.equal(param.grad, grads[name][1])
    assert not model.fc.weight.requires_grad
    assert all(module.training is is_training for module in model.modules())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.equal(x, given)
    assert not x.requires_grad
    view.close()


def test_it_works_inside_of_no_grad_and_inference_mode(tmp_path: Path) -> None:
    model, x = Net().eval(), images()
    with torch.inference_mode():
        view = NetView(model, x.clone(), run=tmp_path / "run", loss=lambda y: y.square().sum())
    with torch.no_grad():
        view.update()

    first, second = view.run.tensors("conv.Grad")
    assert numpy.abs(first.array).max() > 0
    assert numpy.array_equal(first.array, second.array)
    view.close()


def test_each_update_is_a_moment_with_its_counters(tmp_path: Path) -> None:
    model = Net().eval()
    view = NetView(model, images(), run=tmp_path / "run")
    other = images() * 2

    assert view.update(other, epoch=1, trial=7, name="double") == 1
    assert view.update() == 2  # once more on the same

    assert list(view.run.tensors("x.Act").steps) == [0, 1, 2]
    assert numpy.array_equal(view.values("x.Act"), other[0].numpy())
    assert numpy.array_equal(view.values("x.Act", step=0), images()[0].numpy())
    moments = view.run._reader().records("moment", "netview")
    assert [moment.head.counters for moment in moments] == [
        {},
        {"name": "double", "epoch": "1", "trial": "7"},
        {},
    ]
    assert len(view.run._reader().records("netview", "netview")) == 1
    view.close()


def test_weights_are_recorded_when_they_changed_with_what_changed_and_the_optimizers_own(
    tmp_path: Path,
) -> None:
    model, x = Net().eval(), images()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    view = NetView(model, x, run=tmp_path / "run", optimizer=optimizer)
    view.update()
    before = model.conv.weight.detach().clone()
    model(x).square().sum().backward()
    optimizer.step()
    view.update()

    weights = view.run.tensors("conv.weight")
    assert list(weights.steps) == [0, 2]
    assert numpy.array_equal(weights[0].array, before.numpy())
    assert numpy.array_equal(weights[1].array, model.conv.weight.detach().numpy())
    delta = view.run.tensors("conv.weight.Delta")
    assert list(delta.steps) == [2]
    assert numpy.array_equal(delta[0].array, (model.conv.weight.detach() - before).numpy())
    moment = optimizer.state[model.conv.weight]["exp_avg"]
    assert numpy.array_equal(view.run.tensors("conv.weight.exp_avg")[-1].array, moment.numpy())
    view.close()


def test_a_weight_that_was_written_past_autograd_has_changed_too(tmp_path: Path) -> None:
    model = Net().eval()
    view = NetView(model, images(), run=tmp_path / "run")
    model.fc.bias.data.add_(1)  # no version of the parameter counts this
    view.update()

    assert list(view.run.tensors("fc.bias").steps) == [0, 1]
    assert list(view.run.tensors("fc.weight").steps) == [0]
    view.close()


def test_large_weights_are_left_out_and_the_layer_says_so(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2100, 2100), nn.ReLU(), nn.Linear(2100, 4))
    x = torch.randn(1, 2100)

    with NetView(model, x, run=tmp_path / "auto") as view:
        assert "0.weight" not in view.run.names("tensor")
        assert "2.weight" in view.run.names("tensor")
        assert "weights='all'" in view.scene.layers[1].note
    with NetView(model, x, run=tmp_path / "all", weights="all") as view:
        assert "0.weight" in view.run.names("tensor")
        assert "weights" not in view.scene.layers[1].note
    with NetView(model, x, run=tmp_path / "none", weights=None) as view:
        assert view.run.names("tensor") == ["input.Act", "0.Act", "0.Net", "2.Act"]


def test_a_model_that_goes_another_way_is_shown_anew(tmp_path: Path) -> None:
    model = Made(
        lambda m, x: m.left(x) if x.sum() > 0 else m.right(x), left=nn.Linear(4, 3), right=nn.Linear(4, 2)
    )
    view = NetView(model, torch.ones(1, 4), run=tmp_path / "run")
    assert [layer.name for layer in view.scene.layers] == ["x", "left"]
    view.update(-torch.ones(1, 4))

    assert [layer.name for layer in view.scene.layers] == ["x", "right"]
    assert len(view.run._reader().records("netview", "netview")) == 2
    view.close()


def test_only_so_many_items_are_kept_as_wanted(tmp_path: Path) -> None:
    with NetView(Net().eval(), images(5), run=tmp_path / "run", items=2, loss=lambda y: y.sum()) as view:
        assert view.run.tensors("conv.Act")[0].shape == (2, 4, 4, 4)
        assert view.run.tensors("conv.Grad")[0].shape == (2, 4, 4, 4)
        with pytest.raises(InputError, match="2 were kept"):
            view.values("conv.Act", item=2)


def test_places_and_shapes_are_kept_with_the_run_and_hold_when_it_goes_on(tmp_path: Path) -> None:
    view = NetView(Net().eval(), images(), run=tmp_path / "run")
    view.place("fc", rightof="conv", offset=(0, 1, 0), scale=2)
    view.reshape("conv", (8, 8))
    view.close()

    for again in (NetView(tmp_path / "run"), NetView(open_run(tmp_path / "run"))):
        layers = {layer.name: layer for layer in again.scene.layers}
        assert (layers["fc"].place.relation, layers["fc"].place.other) == ("rightof", "conv")
        assert (layers["fc"].place.offset, layers["fc"].place.scale) == ([0, 1, 0], 2)
        assert (layers["conv"].grid.rows, layers["conv"].grid.columns) == (8, 8)
        with pytest.raises(InputError, match="only looks"):
            again.place("fc", above="conv")
        with pytest.raises(InputError, match="only looks"):
            again.update()
        again.close()

    resumed = NetView(Net().eval(), images(), run=tmp_path / "run")
    assert list(resumed.run.tensors("fc.Act").steps) == [0, 1]
    assert {layer.name: layer for layer in resumed.scene.layers}["conv"].grid.rows == 8
    resumed.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetView]:
    """Two moments, to be asked many questions."""
    with NetView(Net().eval(), images(), run=tmp_path_factory.mktemp("net") / "run") as view:
        view.update()
        view.place("fc", rightof="conv")
        yield view


REFUSED = {
    "goes round": [call("place", "conv", leftof="fc")],
    "the nearest: conv": [call("place", "cnv")],
    "there are x, conv": [call("place", "what", above="conv")],
    "give one of": [call("place", "conv", above="x", below="fc")],
    "three numbers": [call("place", "conv", offset=(1, 2))],
    "no room": [call("reshape", "conv", (2, 2))],
    "give rows and columns": [
        call("reshape", "conv", shape) for shape in (8, ("a", "b"), (1.5, 64), (1, 2, 3), (-8, -8))
    ],
    "no unit": [
        call("weights", "conv", unit) for unit in (1.5, "first", (1, 2), (9, 9, 9), -1, 10_000, None)
    ],
    "there is no item": [call("values", "conv.Act", item=item) for item in (3, -1, "first", 0.5)],
    r"gradients need a loss.*loss=": [call("values", "conv.Grad"), call("values", "conv.weight.Grad")],
    r"Grad of conv\.weight was not recorded.*loss=": [call("weights", "conv", 0, variable="Grad")],
    "a change since the first moment": [call("weights", "conv", 0, variable="Delta")],
    r"there is Wt\.((?!weights='all').)*optimizer=": [call("weights", "conv", 0, variable="Foo")],
    r"no step (2|99|-1|0\.5|'last') of .*: its first record is of step 0, and the last moment": [
        one
        for step in (2, 99, -1, 0.5, "last")
        for one in (call("values", "conv.Act", step=step), call("weights", "conv", 0, step=step))
    ],
}


@pytest.mark.parametrize("match", REFUSED)
def test_what_cannot_be_asked_for_says_why(recorded: NetView, match: str) -> None:
    for ask in REFUSED[match]:
        with pytest.raises(InputError, match=match):
            ask(recorded)


def test_a_weight_that_has_not_changed_is_as_it_was_before(recorded: NetView) -> None:
    assert recorded.values("conv.weight", step=1).shape == (4, 3, 3, 3)  # as it was at step 0


def test_weights_that_are_not_kept_say_how_to_keep_them(tmp_path: Path) -> None:
    with (
        NetView(Net().eval(), images(), run=tmp_path / "none", weights=None) as view,
        pytest.raises(InputError, match="weights='all'"),
    ):
        view.weights("conv", 0)


def test_a_run_that_was_opened_elsewhere_stays_open_and_one_of_nobody_is_made(tmp_path: Path) -> None:
    run = Run(tmp_path / "mine")
    NetView(Net().eval(), images(), run=run).close()
    assert run.state == "running"
    assert NetView(run).values("fc.Act").shape == (5,)
    run.close()

    view = NetView(Net().eval(), images())
    assert (view.run.path / "rank-0.sqlite").exists()
    view.close()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: NetView(Net()), "no input"),
        (lambda: NetView(Net, images()), "is a class"),
        (lambda: NetView(Net(), images(), items=0), "at least one item"),
        (lambda: NetView(Net(), images(), weights="some"), "'auto', 'all' or None"),
        (lambda: NetView(Net(), images(), optimizer=3), "is no optimizer"),
        (lambda: NetView(Net(), images(), loss=lambda y: y), "one number"),
        (lambda: NetView(Net(), images(), loss=lambda y: y.detach().sum()), "hangs on it"),
        (lambda: NetView("nowhere/at/all"), "there is no folder"),
        (lambda: NetView(nn.LazyLinear(3), images()), "lazy"),
        (lambda: NetView(3, images()), "a int and an input cannot be shown"),
        (
            lambda: NetView(
                nn.Linear(4, 3), torch.nested.nested_tensor([torch.randn(2, 4)], layout=torch.jagged)
            ),
            "to_padded_tensor",
        ),
        (lambda: NetView(Net(), images(), loss=0.5), "the loss is 0.5"),
        (lambda: NetView(Net(), images(), loss=nn.CrossEntropyLoss()), r"lambda output: loss\(output, y\)"),
        (lambda: NetView(Net(), images(), loss=F.cross_entropy), "cannot be called with"),
        (lambda: NetView(Net(), images(), layers="head"), r"the nearest of [45] are x, conv, norm, .*fc\."),
    ],
)
def test_what_cannot_be_shown_says_why_and_what_to_do(make: Callable[[], NetView], match: str) -> None:
    with pytest.raises(InputError, match=match):
        make()


def test_an_exception_of_the_model_is_its_own_and_leaves_no_moment(tmp_path: Path) -> None:
    def moody(m: Any, x: Tensor) -> Any:
        if x.sum() > 0:
            raise LookupError("not today")
        return m.fc(x)

    view = NetView(Made(moody, fc=nn.Linear(4, 3)), -torch.ones(1, 4), run=tmp_path / "run")
    with pytest.raises(LookupError, match="not today"):
        view.update(torch.ones(1, 4))

    assert view.update() == 1  # on the input that went well
    view.close()


def test_two_hundred_updates_hold_no_more_memory_than_ten(tmp_path: Path) -> None:
    model, x = Net().train(), images()
    view = NetView(model, x, run=tmp_path / "run", loss=lambda y: y.sum())

    def num_tensors() -> int:
        view.run.flush()
        gc.collect()
        return sum(type(thing) in (Tensor, nn.Parameter) for thing in gc.get_objects())

    for _ in range(10):
        view.update()
    early = num_tensors()
    for _ in range(190):
        view.update()

    assert num_tensors() <= early
    assert view.run.num_dropped == 0
    assert len(view.run.tensors("fc.Act")) == 201
    view.close()


def test_the_weights_of_a_unit_are_a_kernel_at_its_place(tmp_path: Path) -> None:
    model = Net().eval()
    with NetView(model, images(), run=tmp_path / "run") as view:
        laid = view.weights("conv", (2, 1, 3))["x"]  # stride 2, padding 1: rows 1 to 3, columns 5 to 7
        assert numpy.array_equal(laid[:, 1:4, 5:8], model.conv.weight[2].detach().numpy())
        assert numpy.isfinite(laid).sum() == 27
        assert set(view.weights("norm", 5, "sent")) == {"fc"}


def test_what_the_connections_say_sums_up_to_what_the_layers_hold(tmp_path: Path) -> None:
    with NetView(Net().eval(), images(), run=tmp_path / "run") as view:
        assert check_connections(view) == {"conv": 1, "linear": 1}


@pytest.mark.parametrize(
    "make",
    [
        lambda params: torch.optim.Adam(params, fused=True),  # which does not count what it writes
        lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9, foreach=True),
    ],
)
def test_what_the_optimizer_keeps_is_as_it_is_now(tmp_path: Path, make: Callable[..., Any]) -> None:
    model, x = Net().eval(), images()
    optimizer = make(model.parameters())
    view = NetView(model, x, run=tmp_path / "run", optimizer=optimizer)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
        view.update()

    for name, value in optimizer.state[model.fc.weight].items():
        if value.dim():
            records = view.run.tensors(f"fc.weight.{name}")
            assert list(records.steps) == [1, 2, 3]
            assert numpy.array_equal(records[-1].array, value.numpy())
    view.close()


def test_where_nothing_has_changed_since_the_last_moment_the_change_is_zero(tmp_path: Path) -> None:
    model = Net().eval()
    view = NetView(model, images(), run=tmp_path / "run")
    model.fc.weight.data.add_(1)
    for _ in range(3):
        view.update()

    assert list(view.run.tensors("fc.weight.Delta").steps) == [1, 2]
    assert numpy.nanmin(view.weights("fc", 0, step=1, variable="Delta")["norm"]) > 0.99
    assert not view.weights("fc", 0, step=3, variable="Delta")["norm"].any()
    view.close()


def test_complex_weights_have_both_of_their_parts(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 3, dtype=torch.complex64))
    with NetView(model, torch.randn(2, 4, dtype=torch.complex64), run=tmp_path / "run") as view:
        found = view.weights("0", 1)["input"]
        assert numpy.array_equal(found, model[0].weight[1].detach().numpy())


def test_items_of_sequences_that_differ_in_length_are_told_apart(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 3))
    with NetView(model, torch.randn(2, 5, 4), run=tmp_path / "run") as view:
        view.update(torch.randn(2, 6, 4))
        assert view.values("0.Act", step=0, item=1).shape == (5, 3)
        assert view.values("0.Act", item=1).shape == (6, 3)
        assert view.values("0.weight").shape == (3, 4)


def test_whole_numbers_have_no_gradient(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 2))
    ids = torch.randint(0, 9, (2, 3))
    with NetView(model, ids, run=tmp_path / "run", loss=lambda y: y.sum()) as view:
        assert [layer.variables for layer in view.scene.layers] == [["Act"], ["Act", "Grad"], ["Act", "Grad"]]
        there = view.run.names("tensor")
        assert all(f"{layer.name}.{one}" in there for layer in view.scene.layers for one in layer.variables)


def test_a_view_of_a_run_that_is_open_to_write_keeps_places_in_it(tmp_path: Path) -> None:
    NetView(Net().eval(), images(), run=tmp_path / "run").close()
    with Run(tmp_path / "run") as run:
        view = NetView(run)
        view.place("fc", rightof="conv")
        view.reshape("conv", (8, 8))
        assert view.scene.layers[-1].place.relation == "rightof"

    layers = {layer.name: layer for layer in NetView(tmp_path / "run").scene.layers}
    assert (layers["fc"].place.relation, layers["conv"].grid.rows) == ("rightof", 8)


def test_a_second_view_goes_on_behind_the_first_in_a_run_that_is_open(tmp_path: Path) -> None:
    with Run(tmp_path / "run") as run:
        NetView(Net().eval(), images(), run=run).update()
        assert NetView(Net().eval(), images(), run=run).update() == 3


@pytest.mark.parametrize("unit", [7, (1, 2), [1, 2], numpy.array([1, 2]), numpy.int64(7)])
def test_a_unit_is_a_number_or_an_index(tmp_path: Path, unit: Any) -> None:
    model = nn.Sequential(nn.Linear(4, 5))
    with NetView(model, torch.randn(2, 3, 4), run=tmp_path / "run") as view:
        assert numpy.array_equal(view.weights("0", unit)["input"][1], model[0].weight[2].detach().numpy())


def test_counters_that_are_tensors_are_shown_as_their_number(tmp_path: Path) -> None:
    with NetView(Net().eval(), images(), run=tmp_path / "run") as view:
        view.update(epoch=torch.tensor(3), loss=torch.tensor(0.1, requires_grad=True), mean=0.25)
        moment = view.run._reader().records("moment", "netview")[-1]
        assert moment.head.counters == {"epoch": "3", "loss": "0.1", "mean": "0.25"}


def test_a_weight_that_was_zero_and_is_no_number_any_more_has_changed(tmp_path: Path) -> None:
    model = Net().eval()
    nn.init.zeros_(model.fc.bias)
    view = NetView(model, images(), run=tmp_path / "run")
    model.fc.bias.data.fill_(float("nan"))
    view.update()
    view.update()

    records = view.run.tensors("fc.bias")
    assert list(records.steps) == [0, 1]  # and stays the same from there on
    assert numpy.isnan(records[1].array).all()
    view.close()


def test_attention_to_what_is_no_number_is_attention_still(tmp_path: Path) -> None:
    x = torch.randn(2, 4, 8)
    x[0, 0, 0] = float("nan")

    def attend(m: Any, x: Tensor) -> Tensor:
        q, k, v = m.qkv(x).reshape(2, 4, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 4, 8)

    with NetView(Made(attend, qkv=nn.Linear(8, 24)), x, run=tmp_path / "run") as view:
        assert "attention" in [connection.form for connection in view.scene.connections]


def test_a_sparse_input_is_shown_with_its_zeros(tmp_path: Path) -> None:
    weight = nn.Parameter(torch.randn(4, 2))
    model = Made(lambda m, x: torch.sparse.mm(x, m.weight).relu(), weight=weight)
    x = torch.eye(4)[[2, 0, 3]]
    with NetView(model, x.to_sparse(), run=tmp_path / "run", items=2) as view:
        assert numpy.array_equal(view.values("x.Act", item=1), x[1].numpy())
        assert view.run.tensors("x.Act")[0].shape == (2, 4)


def test_a_layer_that_the_loss_does_not_hang_on_has_no_gradient_and_says_so(tmp_path: Path) -> None:
    model = Made(lambda m, x: (m.used(x), m.aside(x)), used=nn.Linear(4, 3), aside=nn.Linear(4, 2))
    with (
        NetView(model, torch.randn(1, 4), run=tmp_path / "run", loss=lambda both: both[0].sum()) as view,
        pytest.raises(InputError, match="no way from it to the loss"),
    ):
        view.values("aside.Grad")


def test_where_there_are_no_weights_a_warning_says_why_once(tmp_path: Path) -> None:
    with NetView(Net().eval(), images(), run=tmp_path / "run") as view:
        with pytest.warns(RunWarning, match="x has no weights that it received: nothing leads to it"):
            assert view.weights("x", 0) == {}
        with pytest.warns(RunWarning, match="fc has no weights that it sent: it leads to nothing"):
            assert view.weights("fc", 0, "sent") == {}
        with pytest.warns(RunWarning, match="norm has no weights that it received: between it and conv"):
            assert view.weights("norm", 0) == {}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert view.weights("x", 1) == {}


def test_a_view_that_is_closed_makes_no_moment(tmp_path: Path) -> None:
    view = NetView(Net().eval(), images(), run=tmp_path / "run")
    view.close()
    with pytest.warns(RunWarning, match="is closed"):
        assert view.update() == -1


def test_a_second_session_goes_on_with_the_same_network_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    NetView(Net().eval(), images(), run=tmp_path / "run").close()
    assert "goes on" not in capsys.readouterr().err
    with NetView(Net().eval(), images(), run=tmp_path / "run") as view:
        view.update()
    assert capsys.readouterr().err.count("goes on at step 1") == 1


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("layers", [(nn.Linear(4, 5),), (nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))])
def test_another_network_in_the_same_run_is_refused(
    tmp_path: Path, is_open: bool, layers: tuple[nn.Module, ...]
) -> None:
    x = torch.randn(2, 4)
    NetView(nn.Sequential(nn.Linear(4, 3)), x, run=tmp_path / "run").close()
    run = Run(tmp_path / "run") if is_open else None

    with pytest.raises(InputError, match=r"moments of another network.*another folder"):
        NetView(nn.Sequential(*layers), x, run=run or tmp_path / "run")

    if run is not None:
        assert run.state == "running"
        run.close()
    with NetView(tmp_path / "run") as view:
        assert [layer.shape for layer in view.scene.layers] == [[4], [3]]
        assert view.values("0.Act").shape == (3,)


def test_a_run_of_sequences_goes_on_with_one_of_another_length(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 3))
    with NetView(model, torch.randn(2, 5, 4), run=tmp_path / "run") as view:
        view.update(torch.randn(2, 6, 4))
    with NetView(model, torch.randn(2, 7, 4), run=tmp_path / "run") as view:
        assert view.values("0.Act").shape == (7, 3)


def test_a_change_of_weights_is_that_since_the_session_before(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 3, bias=False))
    weight = model[0].weight.data
    with NetView(model, torch.randn(2, 4), run=tmp_path / "run") as view:
        weight.add_(1)
        view.update()
    with NetView(model, torch.randn(2, 4), run=tmp_path / "run") as view:
        assert not view.weights("0", 0, variable="Delta")["input"].any()  # nothing has changed since
    before = weight.clone()
    weight.sub_(3)
    with NetView(model, torch.randn(2, 4), run=tmp_path / "run") as view:
        changed = view.weights("0", 1, variable="Delta")["input"]
        assert numpy.array_equal(changed, (weight - before)[1].numpy())
        assert list(view.run.tensors("0.weight").steps) == [0, 1, 3]

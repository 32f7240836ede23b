"""`State`: what forward names is recorded as it was then, and nothing of the model changes by it."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor, nn

from torcheer import InputError, RunWarning
from torcheer.netview import State
from torcheer.netview.state import split_name


class Net(nn.Module):
    def __init__(self, run: Path) -> None:
        super().__init__()
        self.est = State(self, run=run)
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.est.rec(x, "In.Act")
        hidden = self.first(x)
        self.est.rec(hidden, "Hidden.Net")
        hidden = hidden.relu_()
        self.est.rec(hidden, "Hidden.Act")
        output = self.second(hidden)
        self.est.rec(output, "Out.Act")
        return output


@pytest.fixture
def net(tmp_path: Path) -> Net:
    torch.manual_seed(0)
    return Net(tmp_path / "run")


def test_a_name_is_split_at_its_last_dot() -> None:
    assert split_name("features.0.Act") == ("features.0", "Act")
    assert split_name("Image") == ("Image", "Act")
    with pytest.raises(InputError, match=r"Image\.Act"):
        split_name(".Act")


def test_a_tensor_is_kept_as_it_was_when_it_was_named(net: Net) -> None:
    x = torch.randn(3, 4)
    net(x)
    assert net.est.update() == 0

    expected = net.first(x).detach()
    assert numpy.array_equal(net.est.values("Hidden.Net", item=2), expected[2].numpy())
    assert numpy.array_equal(net.est.values("Hidden.Act", item=2), expected[2].relu().numpy())
    assert net.est.rec(x, "In.Act") is x


def test_weights_are_found_by_what_modules_read_and_give(net: Net) -> None:
    net(torch.randn(3, 4))
    net.est.update()

    found = {(one.source, one.target): (one.form, one.weight) for one in net.est.scene.connections}
    assert found == {
        ("In", "Hidden"): ("linear", "first.weight"),
        ("Hidden", "Out"): ("linear", "second.weight"),
    }
    assert numpy.array_equal(
        net.est.weights("Hidden", 2, "sent")["Out"], net.second.weight[:, 2].detach().numpy()
    )


def test_gradients_come_with_a_backward_pass(net: Net) -> None:
    net(torch.randn(3, 4)).square().sum().backward()
    net.est.update()
    with torch.no_grad():
        net(torch.randn(3, 4))
    net.est.update()

    assert list(net.est.run.tensors("Out.Grad").steps) == [0]
    output = net.est.values("Out.Act", step=0, item=1)
    numpy.testing.assert_allclose(net.est.values("Out.Grad", item=1), 2 * output, rtol=1e-6)
    assert list(net.est.run.tensors("Hidden.Net.Grad").steps) == [0]


def test_nothing_of_the_model_changes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = Net(tmp_path / "run")
    x = torch.randn(3, 4)
    net.est.record = False
    plain = net(x)
    plain.sum().backward()
    expected = {name: param.grad.clone() for name, param in net.named_parameters() if param.grad is not None}
    net.zero_grad()
    net.est.record = True

    recorded = net(x)
    recorded.sum().backward()
    net.est.update()

    assert torch.equal(plain, recorded)
    assert all(torch.equal(param.grad, expected[name]) for name, param in net.named_parameters())


def test_hooks_are_there_only_while_it_learns_and_go_when_it_is_switched_off(net: Net) -> None:
    def num_hooks() -> int:
        return sum(len(module._forward_hooks) for module in net.modules())

    net(torch.randn(3, 4))
    assert num_hooks() > 0
    net.est.record = False
    assert num_hooks() == 0


def test_a_copy_and_a_saved_model_have_a_state_that_is_off(net: Net) -> None:
    x = torch.randn(3, 4)
    expected = net(x)  # its hooks are on
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)

    for twin in (copy.deepcopy(net), torch.load(file, weights_only=False)):
        assert torch.equal(twin(x), expected)
        assert not twin.est.record
        assert not any(module._forward_hooks for module in twin.modules())


@pytest.mark.parametrize(
    "pickled", [b"ctorcheer.netview.state\n_for_a_copy\n(tR.", b"ctorcheer.netview.state\nremove_itself\n."]
)
def test_the_hook_of_a_model_that_an_earlier_torcheer_saved_removes_itself(pickled: bytes) -> None:
    model = nn.Linear(4, 4)
    model.register_forward_hook(pickle.loads(pickled))

    model(torch.randn(3, 4))

    assert not model._forward_hooks


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_compiled_model_runs_as_it_would_without(net: Net, fullgraph: bool) -> None:
    torch._dynamo.reset()
    x = torch.randn(3, 4)
    compiled = torch.compile(net, backend="eager", fullgraph=fullgraph)

    assert torch.allclose(compiled(x), net.second(net.first(x).relu()))
    # Where the graph may not be left, nothing is recorded.
    assert net.est.update() == (-1 if fullgraph else 0)


@pytest.mark.filterwarnings("ignore:`torch.jit.trace:DeprecationWarning")
def test_it_records_under_autocast_and_is_no_part_of_a_trace(net: Net) -> None:
    x = torch.randn(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        net(x)
    net.est.update()
    assert net.est.run.tensors("Out.Act")[-1].dtype == "bfloat16"

    traced = torch.jit.trace(net, x, check_trace=False)  # else it runs the model as it is, too
    assert "copy" not in str(traced.inlined_graph)
    assert net.est.update() == 0


def test_what_cannot_be_recorded_is_told_once_and_breaks_nothing(
    net: Net, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = torch.empty(3, 4, device="meta")
    for _ in range(3):
        assert net.est.rec(empty, "Ghost.Act") is empty
        assert net.est.rec("text", "Text.Act") == "text"
    torch.vmap(lambda row: net.est.rec(row * 2, "Row.Act"))(torch.randn(2, 3))

    assert capsys.readouterr().err.count("Ghost.Act was not recorded") == 1
    assert net.est.update() == -1


def test_a_new_name_makes_a_layer_and_a_new_shape_makes_it_anew(net: Net) -> None:
    net(torch.randn(3, 4))
    net.est.update(epoch=1)
    net.est.rec(torch.arange(6.0).reshape(1, 6), "Later.Act")
    net.est.rec(torch.zeros(2, 5), "In.Act")
    net.est.update(epoch=2)

    layers = {layer.name: layer for layer in net.est.scene.layers}
    assert list(layers) == ["In", "Hidden", "Out", "Later"]
    assert layers["In"].shape == [5]
    assert list(net.est.run.tensors("Hidden.Act").steps) == [0]
    net.est.place("Later", above="Out")
    net.est.reshape("Later", (2, 3))
    assert net.est.scene.layers[-1].grid.rows == 2


def test_init_net_takes_what_it_is_given_and_needs_nothing(tmp_path: Path) -> None:
    est = State()
    est.init_net()
    est.init_net(nn.Linear(2, 2), "extra", run=tmp_path / "here", items=1)
    est.rec(torch.randn(3, 2), "A.Act")
    est.update()

    assert est.run.path == tmp_path / "here"
    assert est.run.tensors("A.Act")[0].shape == (1, 2)


def test_a_state_holds_neither_its_model_nor_the_tensors_of_passes_that_nobody_shows(net: Net) -> None:
    seen = []
    for _ in range(5):
        x = torch.randn(3, 4)
        seen.append(weakref.ref(x))
        net(x)
    del x
    gc.collect()
    assert sum(ref() is not None for ref in seen) <= 1

    est, alive = net.est, weakref.ref(net.second)
    est.record = False
    del net.est
    assert est.run.path.exists()
    assert alive() is not None


class Loop(nn.Module):
    """A state that runs through the same cell several times, under one name."""

    def __init__(self, run: Path) -> None:
        super().__init__()
        self.est = State(self, run=run)
        self.enter, self.cell, self.leave = nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 2)
        self.tanh = nn.Tanh()
        self.states: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.est.rec(x, "In.Act")
        hidden = self.enter(x)
        self.states = []
        for _ in range(3):
            hidden = self.tanh(self.cell(hidden))
            hidden.retain_grad()
            self.states.append(hidden)
            self.est.rec(hidden, "Hidden.Act")
        return self.est.rec(self.leave(hidden), "Out.Act")


def test_of_what_is_recorded_again_in_a_pass_value_and_gradient_are_of_the_last(tmp_path: Path) -> None:
    net = Loop(tmp_path / "run")
    net(torch.randn(2, 4)).square().sum().backward()
    net.est.update()

    last = net.states[-1]
    assert numpy.array_equal(net.est.values("Hidden.Act", item=1), last[1].detach().numpy())
    assert numpy.array_equal(net.est.values("Hidden.Grad", item=1), last.grad[1].numpy())


def test_a_loop_inside_of_forward_does_not_make_forget_what_was_before_it(tmp_path: Path) -> None:
    net = Loop(tmp_path / "run")
    for _ in range(2):
        net(torch.randn(2, 4))
        net.est.update()

    found = {(one.source, one.target): one.form for one in net.est.scene.connections}
    assert found == {("In", "Hidden"): "other", ("Hidden", "Out"): "linear"}


def test_a_parameter_that_is_recorded_gathers_no_hooks(tmp_path: Path) -> None:
    est, param = State(run=tmp_path / "run"), nn.Parameter(torch.randn(3, 4))
    for _ in range(5):
        est.rec(param, "Wt.Act")
        est.update()
    assert len(param._backward_hooks or ()) == 1
    est.close()
    assert not param._backward_hooks


def test_a_gradient_belongs_to_the_moment_of_its_own_pass(net: Net) -> None:
    for factor in (1.0, 2.0, 3.0):
        output = net(torch.randn(3, 4))
        net.est.update()  # before the backward pass
        (output * factor).sum().backward()

    records = net.est.run.tensors("Out.Grad")
    assert list(records.steps) == [0, 1, 2]
    assert [float(record.array.max()) for record in records] == [1, 2, 3]
    assert "Grad" in net.est.scene.layers[-1].variables


def test_tied_weights_are_found_by_the_name_under_which_they_are_recorded(tmp_path: Path) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.est = State(self, run=tmp_path / "run")
            self.words, self.out = nn.Embedding(9, 4), nn.Linear(4, 9, bias=False)
            self.out.weight = self.words.weight

        def forward(self, ids: Tensor) -> Tensor:
            hidden = self.est.rec(self.words(self.est.rec(ids, "In.Act")), "Hidden.Act")
            return self.est.rec(self.out(hidden), "Out.Act")

    net = Tied()
    net(torch.randint(0, 9, (2, 3)))
    net.est.update()

    received = net.est.weights("Out", (1, 7))["Hidden"]
    assert numpy.array_equal(received[1], net.words.weight[7].detach().numpy())


def test_a_picture_of_another_size_is_still_in_colour(tmp_path: Path) -> None:
    est = State(run=tmp_path / "run")
    for size in (8, 6):
        est.rec(torch.randn(1, 3, size, size), "Image.Act")
        est.update()
        assert est.scene.layers[0].grid.is_colour


def test_a_variable_of_another_shape_leaves_its_layer_as_it_is(tmp_path: Path) -> None:
    model = nn.Linear(4, 3)
    est = State(model, run=tmp_path / "run")
    for _ in range(3):
        output = model(est.rec(torch.randn(2, 4), "In.Act"))
        est.rec(output, "Out.Act")
        est.rec(torch.randn(2, 7), "Out.Trace")
        est.update()

    assert est.scene.layers[-1].shape == [3]
    assert est.values("Out.Act").shape == (3,)
    assert est.values("Out.Trace").shape == (7,)
    assert not model._forward_hooks  # all that reads and gives is known by now


def test_a_convolution_that_reads_what_was_recorded_flat_has_no_kernel_on_it(tmp_path: Path) -> None:
    model = nn.Conv2d(2, 3, 3)
    est = State(model, run=tmp_path / "run")
    picture = torch.randn(1, 2, 6, 6)
    est.rec(picture.flatten(2), "In.Act")
    for _ in range(2):
        est.rec(picture.flatten(2), "In.Act")
        est.rec(model(picture), "Out.Act")
        est.update()
    assert [one.form for one in est.scene.connections] == ["other"]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"weights": "some"}, "'auto', 'all' or None"),
        ({"items": 0}, "at least one"),
        ({"optimizer": 3}, "no opt"),
    ],
)
def test_settings_that_make_no_sense_say_so_at_once(given: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        State(**given)
    with pytest.raises(InputError, match=match):
        State().init_net(**given)


def test_before_the_first_moment_there_is_no_layer_to_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none yet"):
        State(run=tmp_path / "run").place("Image")


def test_a_model_that_runs_on_without_a_moment_does_not_pile_up_its_tensors(net: Net) -> None:
    net.est.rec(torch.randn(3, 4), "Start.Act")
    x = torch.randn(3, 4)
    first = weakref.ref(x)
    for _ in range(4200):
        net.first(x)  # which is hooked, to learn what reads what
        x = torch.randn(3, 4)
    assert first() is None


def test_a_gradient_that_cannot_be_recorded_breaks_no_backward_pass(
    net: Net, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(State, "_take_grad", refuse)
    for _ in range(2):
        net(torch.randn(3, 4)).sum().backward()
    assert net.first.weight.grad is not None
    assert capsys.readouterr().err.count("Out.Grad was not recorded: no room") == 1


def test_a_moment_has_no_gradient_of_another_pass(net: Net) -> None:
    net(torch.randn(3, 4)).sum().backward()
    with torch.no_grad():
        net(torch.randn(3, 4))
    net.est.update()
    assert not any(name.endswith("Grad") for name in net.est.run.names("tensor") if "weight" not in name)


def test_a_name_before_its_tensor_is_told_once_and_breaks_nothing(
    net: Net, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        net.est.rec("A.Act", torch.randn(3, 4))  # type: ignore[arg-type]
    told = capsys.readouterr().err
    assert told.count("A.Act was not recorded: what is recorded comes first, then its name") == 1
    assert net.est.update() == -1


def test_a_state_that_is_closed_makes_no_moment(net: Net) -> None:
    net(torch.randn(3, 4))
    net.est.update()
    net(torch.randn(3, 4))
    net.est.close()
    with pytest.warns(RunWarning, match="is closed"):
        assert net.est.update() == -1
    assert net.est.update() == -1


def test_a_second_session_goes_on_where_the_layers_that_it_meets_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = Net(tmp_path / "run")
    first(torch.randn(3, 4)).sum().backward()
    first.est.update()
    first.est.rec(torch.randn(1, 6), "Later.Act")
    first.est.update()
    first.est.close()
    before = first.second.weight.detach()

    again = Net(tmp_path / "run")
    again(torch.randn(3, 4))
    assert again.est.update() == 2
    assert again.est.update() == 2
    assert capsys.readouterr().err.count("goes on at step 2") == 1
    changed = again.est.weights("Out", 1, variable="Delta")["Hidden"]
    assert numpy.array_equal(changed, (again.second.weight.detach() - before)[1].numpy())
    again.est.close()

    other = State(run=tmp_path / "run")
    other.rec(torch.randn(1, 9), "In.Act")
    with pytest.raises(InputError, match="moments of another network"):
        other.update()

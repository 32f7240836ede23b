"""Finding ops by what they are, and the ops between two of them."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import torcheer as tl
from tests.capture.models.registry import module_with
from tests.many import examples


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(4, 4, 3, padding=1)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(x + self.conv2(self.relu(self.conv1(x))))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 1)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.same = self.blocks[0]  # another name for the first block
        self.head = nn.Linear(4, 2)
        self.idle = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = nn.functional.max_pool2d(self.blocks[0](x), 2)
        x = nn.Sigmoid()(x)
        return self.head(x.mean((2, 3)))


@pytest.fixture(scope="module")
def history() -> tl.ModelHistory:
    torch.manual_seed(0)
    return tl.log_forward_pass(Net(), torch.randn(2, 3, 8, 8))


def labels(ops: list[tl.Op]) -> list[str]:
    return [op.layer_label for op in ops]


# --- find ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["conv2d", ["conv2d"], "Conv2d", "conv_2d", "conv*"])
def test_a_type_finds_all_its_ops_in_order(history: tl.ModelHistory, key: Any) -> None:
    found = history.find(type=key)

    assert labels(found) == [label for label in history.layer_labels if label.startswith("conv2d")]
    assert len(found) == 7


def test_several_types_are_found_together(history: tl.ModelHistory) -> None:
    found = history.find(type=("max_pool2d", "linear", "nothing"))

    assert [op.layer_type for op in found] == ["maxpool2d", "linear"]


@pytest.mark.parametrize(
    ("key", "num_ops"),
    [
        ("blocks.0", 10),
        ("same", 10),  # the same module by its other name
        ("blocks.0:1", 5),
        ("blocks.0:2", 5),
        ("blocks.1", 5),
        ("blocks", 15),  # never runs itself
        ("Block", 15),
        ("Conv2d", 7),
        ("Net", 22),
        ("", 22),
        ("blocks.*.conv1", 3),
        ("blocks.*.conv1:2", 1),
        ("*.relu", 6),
        ("idle", 0),
        ("Sigmoid", 1),  # made inside forward
    ],
)
def test_a_module_is_named_by_address_pass_class_or_pattern(
    history: tl.ModelHistory, key: str, num_ops: int
) -> None:
    assert len(history.find(module=key)) == num_ops


def test_what_is_found_in_a_module_ran_in_it(history: tl.ModelHistory) -> None:
    found = history.find(module="blocks.0")

    assert found == [op for op in history if "blocks.0" in op.containing_modules_origin_nested]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("blocks.0.conv3", "did you mean 'blocks.0.conv"),
        ("Conv2", "'Conv2d'"),
        ("blocks.0:3", "ran 2 times: there is no 'blocks.0:3'"),
        ("blocks.0:0", "counted from 1"),
        ("zzz*", "history.module_addresses"),
    ],
)
def test_an_unknown_module_is_refused_with_the_nearest(
    history: tl.ModelHistory, key: str, message: str
) -> None:
    with pytest.raises(tl.LayerNotFoundError, match=message):
        history.find(module=key)


@pytest.mark.parametrize("shape", [(2, 4, 8, 8), (None, 4, 8, 8), (-1, 4, -1, 8), torch.Size([2, 4, 8, 8])])
def test_a_shape_may_leave_sizes_open(history: tl.ModelHistory, shape: Any) -> None:
    found = history.find(shape=shape)

    assert found == [op for op in history if op.tensor_shape == (2, 4, 8, 8)]
    assert found


def test_a_shape_has_as_many_dimensions(history: tl.ModelHistory) -> None:
    assert labels(history.find(shape=(None, None))) == labels(history[-3:])
    assert history.find(shape=()) == []


def test_all_that_is_given_must_hold_and_the_predicate_is_asked_last(history: tl.ModelHistory) -> None:
    asked: list[str] = []

    def is_wanted(op: tl.Op) -> bool:
        asked.append(op.layer_type)
        return op.pass_num == 1

    found = history.find(type="conv2d", module="blocks", shape=(2, 4, None, None), where=is_wanted)

    assert set(asked) == {"conv2d"}
    assert labels(found) == [op.layer_label for op in history.find(module="Conv2d")[1:5]]


def test_without_a_question_all_ops_are_found(history: tl.ModelHistory) -> None:
    assert history.find() == list(history) == history[:]


@pytest.mark.parametrize(
    "question",
    [{"type": 3}, {"type": [3]}, {"module": 3}, {"shape": 3}, {"shape": ("a",)}, {"where": "relu"}],
)
def test_a_question_of_another_kind_is_refused(history: tl.ModelHistory, question: dict[str, Any]) -> None:
    with pytest.raises(tl.InputError, match=f"^{next(iter(question))} must be"):
        history.find(**question)


def test_only_what_the_history_shows_is_found() -> None:
    history = tl.log_forward_pass(
        Net(), torch.randn(1, 3, 8, 8), layers_to_save=["conv2d_1", "linear_1"], keep_unsaved_layers=False
    )

    assert labels(history.find()) == history.layer_labels
    assert [op.layer_type for op in history.path("conv2d_1", "linear_1")] == ["conv2d", "linear"]
    with pytest.raises(tl.LayerNotFoundError, match="was not saved"):
        history.path("conv2d_1", "relu_1")


# --- path --------------------------------------------------------------------------------------


def test_a_path_holds_every_way_and_nothing_else() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x.exp()
        left, right = a.sin(), a.cos()
        a.tan()  # leads nowhere
        return left * right + x.abs()

    class Model(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return forward(x)

    history = tl.log_forward_pass(Model(), torch.randn(3))

    assert [op.layer_type for op in history.path("exp_1", "output_1")] == [
        "exp", "sin", "cos", "mul", "add", "output",
    ]  # fmt: skip
    assert [op.layer_type for op in history.path(0, -1)][:2] == ["input", "exp"]
    assert labels(history.path("sin_1", "sin_1")) == [history["sin_1"].layer_label]


def test_where_no_way_leads_the_error_says_which_way_it_is() -> None:
    class Model(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x.sin().exp(), x.cos()

    history = tl.log_forward_pass(Model(), torch.randn(3))

    with pytest.raises(tl.InputError, match="from 'sin_1' to 'exp_1': swap them"):
        history.path("exp_1", "sin_1")
    with pytest.raises(tl.InputError, match="neither depends on the other"):
        history.path("sin_1", "cos_1")
    with pytest.raises(tl.LayerNotFoundError):
        history.path("sin_1", "tan_1")


@module_with(lambda: {"step": nn.Linear(3, 3)})
def loop(self, x: Tensor) -> Tensor:
    for _ in range(3):
        x = self.step(x).tanh()
    return x


def test_a_layer_without_a_pass_stands_for_all_its_passes() -> None:
    history = tl.log_forward_pass(loop(), torch.randn(2, 3))

    assert len(history.path("linear_1", "tanh_1")) == 6
    assert labels(history.path("linear_1:2", "tanh_1:2")) == ["linear_1_1:2", "tanh_1_2:2"]
    assert labels(history.path("linear_1:3", "tanh_1")) == ["linear_1_1:3", "tanh_1_2:3"]
    assert len(history.path("step", "output_1")) == 7
    assert labels(history.path("step:3", "output_1")) == ["linear_1_1:3", "tanh_1_2:3", "output_1_3"]
    with pytest.raises(tl.InputError, match="swap them"):
        history.path("tanh_1:2", "linear_1:1")


@settings(max_examples=examples(30), deadline=None)
@given(st.data())
def test_an_op_is_on_a_path_if_it_lies_below_the_start_and_above_the_end(data: st.DataObject) -> None:
    torch.manual_seed(0)
    history = tl.log_forward_pass(Net(), torch.randn(1, 3, 4, 4))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(history) - 1)] * 2)))
    between = {start, end}
    for op in history[start + 1 : end]:
        above = {history[label].index for label in _closure(history, op.index, "parent_layers")}
        below = {history[label].index for label in _closure(history, op.index, "child_layers")}
        if start in above and end in below:
            between.add(op.index)

    try:
        found = {op.index for op in history.path(start, end)}
    except tl.InputError:
        assert history[start].layer_label not in _closure(history, end, "parent_layers")
    else:
        assert found == between


def _closure(history: tl.ModelHistory, op: int, edges: str) -> set[str]:
    found: set[str] = set()
    queue = list(getattr(history[op], edges))
    while queue:
        label = queue.pop()
        if label not in found:
            found.add(label)
            queue += getattr(history[label], edges)
    return found

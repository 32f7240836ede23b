"""Pictures of small models, read back from their SVG, show what a person would have drawn."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.capture.models import MODELS, SmallModel
from tests.capture.outcomes import capture
from tests.graph.picture_checks import Drawn, ReadPicture, check_picture
from tests.many import some
from torcheer.capture import document_of
from torcheer.graph import PassDocument, draw_document, read_options

OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("unrolled", {}),
    ("rolled", {"vis_direction": "leftright"}),
    ("unrolled", {"vis_buffer_layers": True, "vis_direction": "bottomup"}),
    ("rolled", {"vis_nesting_depth": 1, "vis_fold_repeats": True, "vis_theme": "dark"}),
    ("unrolled", {"vis_nesting_depth": 0}),
)


class Called(nn.Module):
    """A function of some blocks and other parts: `Called(lambda m, x: m.fc(x), fc=nn.Linear(4, 3))`."""

    def __init__(self, call: Callable[..., Any], *blocks: nn.Module, **parts: nn.Module) -> None:
        super().__init__()
        self.call = call
        self.blocks = nn.ModuleList(blocks)
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, *x: Tensor) -> Any:
        return self.call(self, *x)


def document(model: nn.Module, *args: Tensor, **options: Any) -> PassDocument:
    torch.manual_seed(0)
    return document_of(tl.log_forward_pass(model, list(args), **options))


def drawn(passed: PassDocument, vis_opt: str = "unrolled", **options: Any) -> ReadPicture:
    """A picture that was checked, as it reads."""
    drawing = read_options(vis_opt, options)
    svg = draw_document(passed, drawing).svg
    assert check_picture(svg, passed, drawing) == []
    return ReadPicture(svg)


def named(picture: ReadPicture, label: str) -> Drawn:
    (found,) = [node for node in picture.nodes.values() if node.texts and words_of(node)[0] == label]
    return found


def words_of(box: Drawn) -> list[str]:
    return [words for words, _ in box.texts]


def title_of(group: Drawn) -> str:
    return " ".join(words_of(group))


# --- all the small models ------------------------------------------------------------------------


@pytest.fixture(scope="module", params=some(MODELS, one_in=6), ids=lambda small: small.name)
def small_pass(request: pytest.FixtureRequest) -> tuple[SmallModel, PassDocument]:
    small: SmallModel = request.param
    with small.around():
        return small, document_of(capture(small, layers_to_save=None))


def test_a_picture_shows_the_edges_that_a_person_would_draw(
    small_pass: tuple[SmallModel, PassDocument],
) -> None:
    small, passed = small_pass
    picture = ReadPicture(draw_document(passed, read_options("unrolled", {"vis_buffer_layers": True})).svg)
    labels = {
        node.key: re.sub(r"_\d+(:\d+)?$", r"\1", passed.ops[node.ops[0]].label)
        for node in picture.nodes.values()
    }
    chips = {(source, node.key) for node in picture.nodes.values() for source in node.sources}

    assert {(labels[a], labels[b]) for a, b in picture.pairs() | chips} == small.edges()


def test_nothing_overlaps_and_nothing_is_left_out(small_pass: tuple[SmallModel, PassDocument]) -> None:
    for vis_opt, options in OPTIONS:
        drawn(small_pass[1], vis_opt, **options)


# --- what stands in a box ------------------------------------------------------------------------


def convolutions() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(inplace=True), nn.Flatten())


def test_a_box_says_label_place_shape_size_and_parameters() -> None:
    picture = drawn(document(convolutions(), torch.rand(1, 3, 6, 6)))

    assert words_of(named(picture, "conv2d_1_1")) == [
        "conv2d_1_1",
        "0 · Conv2d",
        "1×8×4×4 · 512 B",
        "weight 8×3×3×3, bias 8",
    ]
    assert words_of(named(picture, "input_1_0")) == ["input_1_0", "1×3×6×6 · 432 B"]


def test_boxes_look_as_what_they_are() -> None:
    class Kinds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("scale", torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            return torch.sin(self.linear(x) * self.scale + torch.zeros(4))

    picture = drawn(document(Kinds(), torch.rand(2, 4)), vis_buffer_layers=True)

    kinds = {words_of(node)[0]: node.kind for node in picture.nodes.values()}
    assert kinds == {
        "input_1_0": "input",
        "linear_1_1": "params",
        "buffer_1_2": "buffer",
        "mul_1_3": "op",
        "zeros_1_4": "source",
        "add_1_5": "op",
        "sin_1_6": "op",
        "output_1_7": "output",
    }


def test_what_is_written_in_place_is_marked() -> None:
    picture = drawn(document(convolutions(), torch.rand(1, 3, 6, 6)))

    marked = [words_of(node) for node in picture.nodes.values() if "in place" in words_of(node)]
    assert marked == [["relu_1_2", "in place", "1 · ReLU", "1×8×4×4 · 512 B"]]


def test_an_edited_op_is_marked() -> None:
    history = tl.log_forward_pass(
        convolutions(), torch.rand(1, 3, 6, 6), edit={"relu_1": torch.zeros_like}, layers_to_save=None
    )
    picture = drawn(document_of(history))

    assert any("edited" in words_of(node) for node in picture.nodes.values())


# --- modules -------------------------------------------------------------------------------------


def nested() -> nn.Module:
    def block() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

    return nn.Sequential(nn.Sequential(block(), block()), nn.Tanh())


def test_modules_are_boxes_around_their_ops() -> None:
    picture = drawn(document(nested(), torch.rand(2, 4)))

    around = [title_of(group) for group in picture.groups_around(named(picture, "linear_2_3"))]
    assert around == ["0 Sequential", "0.0 Sequential"]
    assert picture.groups_around(named(picture, "tanh_1_7")) == []  # the module is the op's own box
    assert words_of(named(picture, "tanh_1_7"))[1] == "1 · Tanh"


@pytest.mark.parametrize(
    ("depth", "boxes", "groups"),
    [(0, ["Sequential"], []), (1, ["0", "tanh_1_7"], []), (2, ["0.0", "0.1", "tanh_1_7"], ["0 Sequential"])],
)
def test_modules_below_the_nesting_depth_are_single_boxes(
    depth: int, boxes: list[str], groups: list[str]
) -> None:
    picture = drawn(document(nested(), torch.rand(2, 4)), vis_nesting_depth=depth)

    inner = [words_of(node)[0] for node in picture.nodes.values() if node.kind not in ("input", "output")]
    assert inner == boxes
    assert [title_of(group) for group in picture.groups.values()] == groups


def test_a_closed_module_says_what_is_in_it() -> None:
    picture = drawn(document(nested(), torch.rand(2, 4)), vis_nesting_depth=1)

    assert words_of(named(picture, "0")) == ["0", "Sequential · 6 ops", "80 params", "→ 2×4 · 32 B"]
    assert named(picture, "0").kind == "collapsed_params"


def test_an_opened_function_is_a_dashed_group() -> None:
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.rand(1, 3, 8)
    svg = draw_document(document(attention, x, x, x), read_options("unrolled", {})).svg
    groups = {title_of(group): group for group in ReadPicture(svg).groups.values()}

    assert groups["multi_head_attention_forward"].kind == "function"
    (frame,) = re.findall(r'data-kind="function".*?(<rect[^>]*>)', svg, re.DOTALL)
    assert "stroke-dasharray" in frame


def test_buffers_are_hidden_with_all_that_hangs_on_them() -> None:
    passed = document(nn.BatchNorm1d(4), torch.rand(2, 4))
    hidden = drawn(passed)
    shown = drawn(passed, vis_buffer_layers=True)

    assert [words_of(node)[0] for node in hidden.nodes.values()] == [
        "input_1_0",
        "batchnorm_1_5",
        "output_1_6",
    ]
    assert sum(node.kind == "buffer" for node in shown.nodes.values()) == 3
    assert named(shown, "add_1_2").kind == "op"  # counts the batches


# --- edges ---------------------------------------------------------------------------------------


def label_texts(picture: ReadPicture) -> list[str]:
    return sorted(words for words, _ in picture.labels)


def test_arguments_are_named_where_their_order_matters() -> None:
    model = Called(lambda _, x, y: torch.cat([x - y, x + y]))
    picture = drawn(document(model, torch.rand(3), torch.rand(3)))

    assert label_texts(picture) == ["0", "0", "1", "1"]  # of the difference and of cat, not of the sum


def test_a_condition_is_an_edge_to_what_followed() -> None:
    def call(_: nn.Module, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x.sin()
        return x.cos()

    picture = drawn(document(Called(call), torch.ones(3)))

    (pair,) = picture.pairs("condition")
    assert pair == (named(picture, "gt_1_2").key, named(picture, "sin_1_3").key)
    assert label_texts(picture) == ["if True"]


def test_gradients_run_backwards_beside_the_edges() -> None:
    history = tl.log_forward_pass(
        nn.Sequential(nn.Linear(3, 3), nn.Tanh()), torch.rand(2, 3), save_gradients=True
    )
    history.output.sum().backward()
    picture = drawn(document_of(history))

    back = {(a, b) for b, a in picture.pairs("gradient")}
    assert (named(picture, "linear_1_1").key, named(picture, "tanh_1_2").key) in back
    assert back < picture.pairs()  # none to the input, which needs no gradient
    assert any(words == "gradient" for words, _ in picture.head)


def test_a_source_with_many_far_readers_is_named_at_each() -> None:
    def call(_: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
        for _i in range(6):
            x = (x * mask).sin().cos().tan().tanh().exp()
        return x

    passed = document(Called(call), torch.rand(3), torch.rand(3))
    picture = drawn(passed)
    mask = named(picture, "input_2_1")

    readers = [node for node in picture.nodes.values() if mask.key in node.sources]
    assert len(readers) == 5
    assert len([pair for pair in picture.pairs() if pair[0] == mask.key]) == 1  # the nearest
    assert "chip 0" in words_of(mask)  # says that there are more


# --- rolled --------------------------------------------------------------------------------------


class Recurrent(nn.Module):
    """`h = tanh(a(h) + x)`, five times."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(3)
        for _ in range(5):
            h = torch.tanh(self.a(h) + x)
        return h


def test_the_rolled_form_has_one_box_a_layer_and_back_edges_with_their_passes() -> None:
    passed = document(Recurrent(), torch.rand(3))
    picture = drawn(passed, "rolled")

    assert [words_of(node)[0:2] for node in picture.nodes.values() if len(node.ops) > 1] == [
        ["linear_1_2", "× 5"],
        ["add_1_3", "× 5"],
        ["tanh_1_4", "× 5"],
    ]
    back = (named(picture, "tanh_1_4").key, named(picture, "linear_1_2").key)
    assert back in picture.pairs()
    assert label_texts(picture) == ["from pass 5", "pass 1", "passes 2–5"]


def test_the_unrolled_form_has_a_box_a_pass() -> None:
    picture = drawn(document(Recurrent(), torch.rand(3)))

    labels = [words_of(node)[0] for node in picture.nodes.values()]
    assert [label for label in labels if label.startswith("tanh")] == [f"tanh_1_4:{i}" for i in range(1, 6)]


# --- folding -------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, num_out: int = 4) -> None:
        super().__init__()
        self.linear = nn.Linear(4, num_out)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.relu(self.linear(x))


def test_equal_neighbours_are_drawn_once() -> None:
    passed = document(nn.Sequential(*(Block() for _ in range(12)), nn.Linear(4, 2)), torch.rand(1, 4))
    whole, folded = drawn(passed), drawn(passed, vis_fold_repeats=True)

    assert len(whole.nodes) == 39
    assert len(folded.nodes) == 6
    (group,) = folded.groups.values()
    assert title_of(group) == "0–11 × 12 Block"
    assert len(named(folded, "add_1_3").ops) == 12


def test_many_equal_outputs_are_one_box() -> None:
    picture = drawn(document(Called(lambda _, x: [x := x.sin() for _ in range(8)]), torch.rand(3)))

    (outputs,) = [node for node in picture.nodes.values() if node.kind == "output"]
    assert len(outputs.ops) == 8
    assert "× 8" in words_of(outputs)


def test_far_outputs_are_named_and_stand_at_the_end() -> None:
    def call(_: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
        taps = [x[:1], x[:2], x[:3]]
        for _i in range(20):
            x = x.sin()
        return x, *taps

    picture = drawn(document(Called(call), torch.rand(4)))

    outputs = [node for node in picture.nodes.values() if node.kind == "output"]
    assert [len(node.sources) for node in outputs] == [0, 1, 1, 1]
    others = [node for node in picture.nodes.values() if node.kind != "output"]
    assert min(node.area.top for node in outputs) >= max(node.area.bottom for node in others)


# --- columns -------------------------------------------------------------------------------------


class Long(nn.Module):
    def __init__(self, num_blocks: int) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range(num_blocks)))

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(x)


def test_a_very_long_picture_stands_in_columns() -> None:
    passed = document(Long(120), torch.rand(1, 4))
    picture = drawn(passed)

    assert picture.area.right > 0.4 * picture.area.bottom
    titles = [
        title_of(group) for group in picture.groups.values() if title_of(group).startswith("blocks Seq")
    ]
    assert titles[0] == "blocks Sequential"
    assert set(titles[1:]) == {"blocks Sequential · continued"}
    assert any("columns" in words for words, _ in picture.head)
    # Blocks are not cut in two.
    assert not any("Block · continued" in title_of(group) for group in picture.groups.values())


@pytest.mark.parametrize("direction", ["topdown", "bottomup", "leftright"])
def test_a_line_leads_from_each_column_to_the_next(direction: str) -> None:
    picture = drawn(document(Long(120), torch.rand(1, 4)), vis_direction=direction)

    columns = [group for group in picture.groups.values() if title_of(group).startswith("blocks Seq")]
    connectors = picture.pairs("connector")
    assert len(connectors) == len(columns) - 1 >= 2
    for source, target in connectors:
        assert source in picture.nodes[target].sources  # the chip at its end names its beginning


def test_left_to_right_the_columns_are_rows() -> None:
    picture = drawn(document(Long(60), torch.rand(1, 4)), vis_direction="leftright")

    assert picture.area.bottom > 0.4 * picture.area.right
    assert any("rows" in words for words, _ in picture.head)


# --- what happened to the pass -------------------------------------------------------------------


def test_a_pass_that_raised_or_was_stopped_says_so() -> None:
    class Raising(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError(f"no <good> {x.sin().shape}")

    with pytest.raises(RuntimeError) as caught:
        tl.log_forward_pass(Raising(), torch.rand(3))
    raised = drawn(document_of(caught.value.history))  # type: ignore[attr-defined]
    stopped = drawn(document(convolutions(), torch.rand(1, 3, 6, 6), stop_after="relu_1"))

    assert any("no <good>" in words for words, _ in raised.head)
    assert any("Stopped after relu_1_2" in words for words, _ in stopped.head)


def test_the_legend_names_only_what_occurs() -> None:
    passed = document(convolutions(), torch.rand(1, 3, 6, 6))
    with_legend = [words for words, _ in drawn(passed).head]
    without = [words for words, _ in drawn(passed, vis_legend=False).head]

    assert with_legend[2:] == ["input", "output", "op with parameters", "op without parameters"]
    assert len(without) == 2

"""A lesson has the right numbers, its steps add up, and its formulas have the names that were written."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.many import examples
from torcheer.autograd import RULES
from torcheer.learn.backward_steps import DISPLAYS, display_of, filled, summed
from torcheer.learn.exercises import EXAMPLES
from torcheer.learn.expression_values import cells_of
from torcheer.learn.lesson import checks_of_source, lesson_of_source
from torcheer.learn.lesson_document import BackwardStep, Cells, LearnNode, Lesson

SOURCES = {one.id: one.source for one in EXAMPLES}


def tensor(cells: Cells | None) -> Tensor:
    assert cells is not None
    assert cells.is_whole
    return torch.tensor([float(one) for one in cells.values], dtype=torch.float64).reshape(tuple(cells.shape))


def rows(cells: Cells | None) -> Tensor:
    assert cells is not None
    return tensor(cells).reshape(cells.num_rows, cells.num_columns)


def named(lesson: Lesson, name: str) -> LearnNode:
    return next(node for node in lesson.nodes if node.name == name)


def steps_to(lesson: Lesson, name: str) -> Sequence[BackwardStep]:
    return [step for step in lesson.backward if lesson.nodes[step.to].name == name]


def close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-4, atol=1e-6)


# --- one that is known by heart ----------------------------------------------------------------


def test_two_layers_have_the_numbers_that_torch_has() -> None:
    lesson = lesson_of_source(SOURCES["two-layers"], "Two layers")
    leaf = {name: tensor(named(lesson, name).value).to(torch.float32) for name in "x t W1 b1 W2".split()}
    for name in "W1 b1 W2".split():
        leaf[name].requires_grad_()

    z = leaf["x"] @ leaf["W1"] + leaf["b1"]
    loss = ((torch.relu(z) @ leaf["W2"] - leaf["t"]) ** 2).mean()
    loss.backward()

    assert lesson.fault is None
    assert lesson.title == "Two layers"
    assert lesson.loss is not None
    assert lesson.nodes[lesson.loss].name == "loss"
    assert float(tensor(lesson.nodes[lesson.loss].value)) == pytest.approx(loss.item())
    for name in "W1 b1 W2".split():
        wanted = leaf[name].grad
        assert wanted is not None
        assert close(tensor(named(lesson, name).gradient), wanted.to(torch.float64))


def test_two_layers_have_the_steps_of_the_picture() -> None:
    lesson = lesson_of_source(SOURCES["two-layers"])

    assert [(lesson.nodes[step.to].name, step.title) for step in lesson.backward] == [
        ("loss", "seed with 1"),
        ("s", "mean: share 1/2"),
        ("e", "square: 2·e"),
        ("y", "sub: 1"),
        ("h", "matmul: g · W2ᵀ"),
        ("W2", "matmul: hᵀ · g"),
        ("z", "relu: mask"),
        ("a", "add: 1"),
        ("b1", "add: 1"),
        ("W1", "matmul: xᵀ · g"),
    ]
    assert [lesson.nodes[number].name for number in lesson.forward] == "a z h y e s loss".split()
    a = named(lesson, "a")
    assert (a.text, a.line, a.rule, a.kind) == ("x @ W1", 9, "matmul", "op")
    assert [lesson.nodes[number].name for number in a.parents] == ["x", "W1"]
    assert named(lesson, "x").kind == "input"
    assert named(lesson, "x").gradient is None
    assert not named(lesson, "x").wants_gradient
    assert named(lesson, "W1").kind == "parameter"
    assert lesson.lines[8] == "a = x @ W1"


def test_formulas_have_the_names_of_the_student() -> None:
    lesson = lesson_of_source(SOURCES["two-layers"])

    assert {step.title: step.formula for step in lesson.backward}["matmul: xᵀ · g"] == (
        r"\grad{W1} = \name{x}^{\top} \grad{a}"
    )
    assert steps_to(lesson, "e")[0].formula == r"\grad{e} = \grad{s} \cdot 2\,\name{e}"
    assert steps_to(lesson, "s")[0].formula == r"\grad{s} = \frac{\grad{loss}}{2} \cdot \mathbf{1}"
    assert steps_to(lesson, "z")[0].formula == r"\grad{z} = \grad{h} \cdot [\name{z} > 0]"


def test_a_product_of_matrices_shows_its_factors_in_order() -> None:
    step = steps_to(lesson_of_source(SOURCES["two-layers"]), "W1")[0]

    assert step.form == "matrix"
    assert (step.left_label, step.right_label) == ("local xᵀ", "upstream")
    assert close(rows(step.left) @ rows(step.right), rows(step.raw))


# --- what holds for all ------------------------------------------------------------------------


def check_steps(lesson: Lesson) -> None:
    """The laws of every lesson: factors make the raw contribution, that is summed, and all of it adds up."""
    arrived: dict[int, Tensor] = {}
    for step in lesson.backward:
        check_factors(step)
        raw, contribution = tensor(step.raw), tensor(step.contribution)
        if step.sums:
            assert close(raw.sum([one.dim for one in step.sums]).reshape(contribution.shape), contribution)
            assert all(one.size == raw.shape[one.dim] for one in step.sums)
        else:
            assert close(raw.reshape(contribution.shape), contribution)
        if step.number == 1:
            assert step.before is None
            arrived[step.to] = contribution
        else:
            assert close(tensor(step.before), arrived[step.to])
            arrived[step.to] = arrived[step.to] + contribution
        assert close(tensor(step.after), arrived[step.to])
        assert step.number <= step.num_all
        assert step.formula.startswith(rf"\grad{{{lesson.nodes[step.to].name}}} ")
        if step.jacobian is not None:
            check_jacobian(step)
    for number, total in arrived.items():
        assert close(tensor(lesson.nodes[number].gradient), total)
    assert {step.to for step in lesson.backward if step.number == step.num_all} == set(arrived)


def check_factors(step: BackwardStep) -> None:
    if step.form == "elementwise":
        assert close(tensor(step.left) * tensor(step.right), tensor(step.raw))
    elif step.form in ("matrix", "general") and step.left is not None:
        assert close((rows(step.left) @ rows(step.right)).reshape(-1), tensor(step.raw).reshape(-1))
    else:
        assert step.left is None


def check_jacobian(step: BackwardStep) -> None:
    assert step.jacobian is not None
    jacobian = tensor(step.jacobian.cells)
    assert jacobian.shape == (len(step.jacobian.rows), len(step.jacobian.columns))
    assert close(tensor(step.upstream).reshape(-1) @ jacobian, tensor(step.contribution).reshape(-1))


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_steps_of_every_example_add_up_and_agree_with_torch(source: str) -> None:
    lesson = lesson_of_source(source)

    assert lesson.fault is None
    check_steps(lesson)
    checks = checks_of_source(source)
    assert {check.node for check in checks} == {node.id for node in lesson.nodes if node.gradient is not None}
    for check in checks:
        assert close(tensor(check.torch), tensor(lesson.nodes[check.node].gradient))
        assert check.torch_error is not None
        assert check.torch_error <= check.tolerance
        assert check.difference_error is not None
        assert check.difference_error <= check.difference_tolerance
        assert check.note == ""


UNARY = "T.exp(0.3*{}) T.tanh({}) T.sigmoid({}) -{} {}**2 T.sin({}) 2*{} {}/3 T.softmax({},dim=-1)".split()
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} / (2 + {} ** 2)", "T.maximum({}, {})", "({} @ {}.T) @ w"]


@st.composite
def graphs(draw: st.DrawFn) -> str:
    """A few lines, each of something that was made before: branches, reuse, broadcasting."""
    lines = ["x = T.param(2, 3, seed=1)", "b = T.param(3, seed=2)"]
    lines += ["c = T.param(2, 1, seed=3)", "w = T.param(2, 3, seed=4)"]
    full, small = ["x", "w"], ["b", "c", "x", "w"]
    for number in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            written = draw(st.sampled_from(UNARY)).replace("{}", draw(st.sampled_from(full)))
        else:
            form = draw(st.sampled_from(BINARY))
            second = draw(st.sampled_from(full if "@" in form else small))
            written = form.format(draw(st.sampled_from(full)), second)
        lines.append(f"v{number} = {written}")
        full.append(f"v{number}")
    total = " + ".join(draw(st.lists(st.sampled_from(full), min_size=1, max_size=3)))
    return "\n".join(
        [*lines, f"loss = ({total}).{draw(st.sampled_from(['sum()', 'mean()', 'sum(dim=0).mean()']))}"]
    )


@settings(max_examples=examples(40))
@given(graphs())
def test_the_steps_of_any_graph_add_up_and_agree_with_torch(source: str) -> None:
    lesson = lesson_of_source(source)

    assert lesson.fault is None, source
    check_steps(lesson)
    for check in checks_of_source(source):
        assert check.torch_error is not None
        assert check.torch_error <= check.tolerance, (source, check)
        assert check.difference_error is not None
        assert check.difference_error <= check.difference_tolerance or check.note, (source, check)


# --- parts -------------------------------------------------------------------------------------


def test_what_was_broadcast_is_summed_and_says_why() -> None:
    step = steps_to(lesson_of_source(SOURCES["broadcasting"]), "b")[0]

    assert [(one.dim, one.size) for one in step.sums] == [(0, 3)]
    assert "b has the shape 2 and was used for each of 3" in step.sums[0].reason
    assert tuple(step.raw.shape) == (3, 2)
    assert tuple(step.contribution.shape) == (2,)
    assert r"\sum \grad{z}" in step.formula


def test_what_is_used_twice_gets_both() -> None:
    steps = steps_to(lesson_of_source(SOURCES["fan-out"]), "x")

    assert [(step.number, step.num_all) for step in steps] == [(1, 3), (2, 3), (3, 3)]
    assert all(r"\grad{x} += " in step.formula for step in steps)


def test_ops_inside_of_a_line_have_names_of_their_own() -> None:
    lesson = lesson_of_source("x = T.param(2, 3)\nloss = T.cross_entropy(x * 2, T.tensor([0, 1]))")

    names = [lesson.nodes[number].name for number in lesson.forward]
    assert names[0] == "mul_1"
    assert names[-1] == "loss"
    assert len(set(names)) == len(names) > 3
    assert named(lesson, "loss").text == "T.cross_entropy(x * 2, T.tensor([0, 1]))"
    assert named(lesson, "log_softmax_1").text == "log_softmax(mul_1)"
    assert all(lesson.nodes[number].line == 2 for number in lesson.forward)
    assert not named(lesson, "mul_1").is_named


def test_a_name_that_is_given_again_is_numbered() -> None:
    lesson = lesson_of_source(
        "h = T.param(2)\nh_2 = h * 3\nfor i in range(2):\n    h = h * 2\nloss = h.sum()"
    )

    assert [node.name for node in lesson.nodes] == ["h", "h_2", "h_3", "h_4", "loss"]


def test_what_wants_no_gradient_is_shown_too() -> None:
    lesson = lesson_of_source(
        "x = T.tensor([1.0, -1.0])\nw = T.param(2)\nm = x > 0\ny = w * (x * m)\nloss = y.sum()"
    )

    m, y = named(lesson, "m"), named(lesson, "y")
    assert (m.kind, m.rule, m.dtype, m.wants_gradient) == ("op", "gt", "bool", False)
    assert [lesson.nodes[number].name for number in y.parents] == ["w", "mul_1"]
    assert [lesson.nodes[number].name for number in named(lesson, "mul_1").parents] == ["x", "m"]


def test_a_vector_in_a_product_is_known_although_it_is_reshaped() -> None:
    lesson = lesson_of_source("x = T.tensor([1.0, 2.0])\nW = T.param(2, 3)\nloss = (x @ W).sum()")

    matmul = next(node for node in lesson.nodes if node.rule == "matmul")
    row = lesson.nodes[matmul.parents[0]]
    assert (row.rule, [lesson.nodes[number].name for number in row.parents]) == ("reshape", ["x"])


def test_lines_before_a_fault_can_be_stepped_through() -> None:
    lesson = lesson_of_source("x = T.param(3)\ns = (x ** 2).sum()\ny = x @ T.ones(4)\nloss = y * s")

    assert lesson.fault is not None
    assert lesson.fault.line == 3
    assert [lesson.nodes[number].name for number in lesson.forward] == ["pow_1", "s"]
    assert lesson.loss is None, "s is not what the student calls the loss"
    assert lesson.backward == []


@pytest.mark.parametrize(
    ("faulty", "line"),
    [
        ("y = (x +", 3),
        ("y = (x +\n    1 2)", 3),
        ("y = x \\\n + 1", 3),
        ("y = [\n    x,\n    x y z,\n]", 5),
        ("for i in range(2):\n    y = s * 2\n    z = y y", 5),
        ("for i in range(2):\ny = 1", 4),
        ("  y = 1", 3),
        ("y = x.__class__", 3),
    ],
)
def test_lines_before_what_is_no_python_can_be_stepped_through(faulty: str, line: int) -> None:
    lesson = lesson_of_source(f"x = T.param(3)\ns = (x ** 2).sum()\n{faulty}\nloss = s * 2")

    assert lesson.fault is not None
    assert lesson.fault.line == line
    assert [node.name for node in lesson.nodes] == ["x", "pow_1", "s"]
    assert lesson.loss is None


def test_a_loop_before_what_is_no_python_is_whole() -> None:
    lesson = lesson_of_source("x = T.param(3)\nfor i in range(2):\n    x = x * 2\n\ny = x x")

    assert [node.name for node in lesson.nodes] == ["x", "x_2", "x_3"]


def test_of_two_faults_the_first_is_told() -> None:
    lesson = lesson_of_source("x = T.param(3)\ny = x @ T.ones(4)\nz = x x")

    assert lesson.fault is not None
    assert lesson.fault.line == 2


def test_a_loss_that_was_computed_before_a_fault_is_the_loss() -> None:
    lesson = lesson_of_source("x = T.param(3)\nloss = x.sum()\ny = x @ T.ones(4)")
    marked = lesson_of_source("x = T.param(3)\ns = x.sum()\ns.backward()\ny = x x")
    again = lesson_of_source("x = T.param(3)\nloss = x.sum()\ny = x x\nloss = loss * 2")

    assert lesson.loss is not None
    assert lesson.nodes[lesson.loss].name == "loss"
    assert len(lesson.backward) == 2
    assert marked.loss is not None
    assert marked.nodes[marked.loss].name == "s"
    assert again.loss is None


def test_words_have_the_names_of_the_student(monkeypatch: pytest.MonkeyPatch) -> None:
    from torcheer.autograd import Way

    to_a, to_b = (Way(way.vjp, "") for way in RULES["div"].ways)
    monkeypatch.setattr(RULES["div"], "ways", (to_a, to_b))
    monkeypatch.setattr(RULES["div"], "words", "{c} is {a} over {b}, {whatever}.")
    lesson = lesson_of_source("x = T.param(3)\nhalf = x / -2\nloss = half.sum()")
    assert steps_to(lesson, "x")[0].words == "half is x over −2, whatever."

    own = Way(to_a.vjp, "", "{a} gets one {b}-th.")
    monkeypatch.setattr(RULES["div"], "ways", (own, to_b))
    lesson = lesson_of_source("x = T.param(3)\nw = T.param(3)\nloss = (x / w).sum()")
    assert steps_to(lesson, "x")[0].words == "x gets one w-th."
    assert "over w" in steps_to(lesson, "w")[0].words


def test_no_words_have_braces_left() -> None:
    for source in SOURCES.values():
        assert not any("{" in step.words for step in lesson_of_source(source).backward)


def test_each_piece_of_a_cat_is_called_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RULES["cat"], "words", "{a} gets its piece.")

    lesson = lesson_of_source("x = T.param(2)\ny = T.param(3)\nloss = T.cat([x, y]).sum()")

    assert steps_to(lesson, "y")[0].words == "y gets its piece."


def test_without_a_loss_it_only_goes_forward() -> None:
    lesson = lesson_of_source("x = T.param(3)\ny = x * 2")

    assert lesson.loss is None
    assert lesson.backward == []
    assert len(lesson.forward) == 1
    assert lesson.fault is not None


def test_large_tensors_are_cut_off_and_say_so() -> None:
    lesson = lesson_of_source("x = T.param(40, 50)\nloss = x.sum()")

    cells = named(lesson, "x").value
    assert (cells.num_rows, cells.num_columns, cells.is_whole, list(cells.shape)) == (16, 16, False, [40, 50])
    assert len(cells.values) == 256
    assert lesson.backward[1].jacobian is None


def test_lessons_of_very_many_ops_stay_small() -> None:
    from torcheer.app.wire import as_json

    source = "x = T.param(60, 60)\ny = x * 1.0\n" + "y = T.tanh(y) * x\n" * 140 + "loss = y.sum()"

    lesson = lesson_of_source(source)

    assert lesson.fault is None
    assert len(as_json(lesson)) < 8_000_000


def test_numbers_that_are_none_are_texts() -> None:
    cells = cells_of(torch.tensor([math.nan, math.inf, -math.inf, 0.1, -0.0]))

    assert list(cells.values) == ["nan", "inf", "-inf", 0.1, 0.0]
    assert not math.copysign(1.0, float(cells.values[4])) < 0


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 2, 2), (0,), (2, 0), (0, 3)])
def test_cells_of_any_shape(shape: tuple[int, ...]) -> None:
    value = torch.arange(math.prod(shape), dtype=torch.float64).reshape(shape)

    cells = cells_of(value)

    assert torch.equal(tensor(cells), value)
    assert len(cells.values) == cells.num_rows * cells.num_columns


def test_every_rule_has_a_display() -> None:
    assert set(RULES) <= set(DISPLAYS)
    for rule in RULES.values():
        assert set(rule.symbols) <= set(display_of(rule.name).titles), rule.name


def test_rules_of_others_have_one_too() -> None:
    assert display_of("somebody's own").form == "general"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_formula_of_every_rule_can_be_filled_in(rule: object) -> None:
    from torcheer.autograd import Rule

    assert isinstance(rule, Rule)
    names = {letter: rf"\name{{n{letter}}}" for letter in (*rule.symbols, "c")}
    for way in rule.ways:
        text = filled(way.formula, names, r"\grad{out}")
        assert r"\bar c" not in text
        assert text.count("{") == text.count("}")
        left_over = re.sub(r"\\(name|grad|operatorname)\{[^}]*\}|\\[A-Za-z]+", "", text)
        assert not set(re.findall(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])", left_over)) & set(names), text


def test_a_sum_is_put_before_the_right_side_once() -> None:
    assert summed(r"\grad{b} = \grad{c}") == r"\grad{b} = \sum \grad{c}"
    assert summed(r"\grad{b} += a - b") == r"\grad{b} += \sum \left( a - b \right)"
    assert summed(r"\grad{b} = \sum_i x") == r"\grad{b} = \sum_i x"

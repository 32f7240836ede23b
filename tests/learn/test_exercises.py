"""Exercises: what solves them is right, and what is usually wrong is refused with a word about why."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from torcheer.learn.exercises import TASKS, Task, Typed, given, shown
from torcheer.learn.grading import judge, trials_of
from torcheer.learn.lesson_document import Verdict, digits, numbers_text

BY_ID = {task.id: task for task in TASKS}


def verdict(exercise: str, symbol: str, answer: str) -> Verdict:
    (found,) = judge(BY_ID[exercise], {symbol: answer})
    assert found.symbol == symbol
    return found


@pytest.mark.parametrize("task", TASKS, ids=BY_ID)
def test_every_solution_is_right(task: Task) -> None:
    verdicts = judge(task, {symbol: sought[0] for symbol, sought in task.holes.items()})

    assert [one.symbol for one in verdicts] == list(task.holes)
    assert all(one.is_right for one in verdicts), verdicts
    assert all(one.got == one.wanted or one.got is not None for one in verdicts)


@pytest.mark.parametrize("task", TASKS, ids=BY_ID)
def test_every_exercise_has_hints_shapes_and_a_text(task: Task) -> None:
    assert task.text
    assert len(task.shapes) >= 2
    for sought in task.holes.values():
        assert 3 <= len(sought) <= 4
    lines = given(task)
    assert all(any(line.startswith(f"{name}: ") for line in lines) for name in ("g", "c", *task.shapes[0]))


@pytest.mark.parametrize("task", TASKS, ids=BY_ID)
@pytest.mark.parametrize("answer", ["g", "c", "1.0", "0 * g", "g * 2"])
def test_answers_that_say_nothing_are_right_only_where_that_is_the_rule(task: Task, answer: str) -> None:
    is_rule = {symbol for symbol, sought in task.holes.items() if sought[0] == answer}

    right = {one.symbol for one in judge(task, dict.fromkeys(task.holes, answer)) if one.is_right}

    assert right == is_rule


def test_all_exercises_have_names_of_their_own() -> None:
    assert len(BY_ID) == len(TASKS)
    assert len({task.title for task in TASKS}) == len(TASKS)


@pytest.mark.parametrize(
    ("exercise", "symbol", "answer"),
    [
        ("product", "a", "b * g"),
        ("square", "a", "g * a + a * g"),
        ("quotient", "b", "-g * c / b"),
        ("exp", "a", "g * T.exp(a)"),
        ("relu", "a", "T.where(a > 0, g, 0.0)"),
        ("bias", "b", "T.sum(g, dim=0)"),
        ("mean", "x", "g.reshape(g.size(0), 1) / x.size(1) * T.ones(x.shape[0], x.shape[1])"),
        ("matmul", "b", "(g.T @ a).T"),
        ("softmax", "x", "g * c - c * (g * c).sum(dim=1, keepdim=True)"),
        ("embedding", "w", "T.one_hot(i, w.shape[0]).transpose(0, 1).matmul(g)"),
        ("exp", "a", "g * exp(a)"),
        ("bias", "b", "sum(g, 0)"),
        ("relu", "a", "where(a > 0, g, 0)"),
        ("softmax", "x", "softmax(x, 1) * (g - sum(g * c, 1, keepdim=True))"),
        ("matmul", "a", "matmul(g, b.T)"),
        ("quotient", "b", "−g × a / (b · b)"),  # typed or copied so
    ],
)
def test_there_are_several_ways_to_be_right(exercise: str, symbol: str, answer: str) -> None:
    assert verdict(exercise, symbol, answer).is_right


@pytest.mark.parametrize(
    ("exercise", "symbol", "answer", "says"),
    [
        ("product", "a", "b", "This is the local slope; what arrives (g) has to be multiplied"),
        ("product", "a", "g * a", "At a it gives"),
        ("product", "a", "2 * g * b", "Right up to a factor: it is 2 times"),
        ("difference", "b", "g", "Right up to the sign"),
        ("square", "a", "a * g", "Right up to a factor: it is 0.5 times"),
        ("quotient", "b", "-g * a / b", "elements are wrong)"),
        ("sigmoid", "a", "g * c", "elements are wrong)"),
        ("tanh", "a", "g * (1 - c)", "elements are wrong)"),
        ("relu", "a", "g", "elements are wrong)"),
        ("twice", "a", "g * 2 * a", "elements are wrong)"),
        ("bias", "b", "g", "It has 3×2 elements, and b has 2 elements: almost. b was used many "
                        "times"),
        ("bias", "b", "g.sum(dim=1)", "It has 3 elements, and b has 2 elements"),
        ("bias", "b", "g.sum()", "It has a single number, and b has 2 elements: too much was summed: each "
                                 "element of b"),
        ("bias", "b", "g.sum(dim=0, keepdim=True)", "leave out keepdim, or reshape"),
        ("bias", "b", "g[0] + g[1] + g[2]", "Right for the shapes above, but not for x of 4×3, b of 3: at "
                                            "b[2]"),
        ("bias", "b", "g[2] + g[1] + g[0] + 0 * x[0] @ T.zeros(2, 2)", "Right for the shapes above, but not "
                                                                      "for x of 4×3, b of 3: 3 @ 2×2"),
        ("difference", "a", "g.sum()", "each element of a has a gradient of its own"),
        ("difference", "a", "1.0", "It has a single number, and a has 3 elements: each element of a gets"),
        ("product", "a", "g * T.tensor(0.79)", "Right for the numbers above, but not for a = −1.11, "
                                               "b = 1.69: at a"),
        ("bias", "b", "g * 2", "there is a sum over the dimensions that it does not have"),
        ("mean", "x", "g.unsqueeze(1) / x.size(1)", "expand() makes copies"),
        ("mean", "x", "g.unsqueeze(1).expand(x.shape)", "Right up to a factor: it is 3 times"),
        ("mean", "x", "g.unsqueeze(1).expand(x.shape) / 3", "Right for the shapes above, but not for x "
                                                            "of 3×4"),
        ("mse", "y", "g * 2 * (y - t) / 6", "Right for the shapes above, but not for y of 4×1"),
        ("mse", "y", "g * (y - t) * 2", "Right up to a factor: it is 6 times"),
        ("matmul", "a", "b @ g.T", "and a has 2×3 elements: only turn it round, with .T"),
        ("matmul", "a", "g @ b", "2×4 @ 3×4 does not fit"),
        ("linear", "w", "x.T @ g", "only turn it round"),
        ("softmax", "x", "c * (1 - c) * g", "elements are wrong)"),
        ("softmax", "x", "c * (g - (g * c).sum())", "elements are wrong)"),
        ("cross-entropy", "x", "T.softmax(x, dim=1) - T.one_hot(t, x.size(1))", "is all of what arrives "
                                                                                "(g) in it"),
        ("cross-entropy", "x", "g * (T.softmax(x, dim=1) - T.one_hot(t, x.size(1)))", "Right up to a "
                                                                                      "factor: it is 3"),
        ("centring", "x", "g", "elements are wrong)"),
        ("scaling", "x", "r * g", "elements are wrong)"),
        ("embedding", "w", "g", "It has 3×2 elements, and w has 4×2 elements"),
        ("attention-scores", "q", "g @ k", "Right up to a factor: it is 1.414 times"),
        ("attention-scores", "k", "g @ q", "does not fit"),
        ("attention-weights", "s", "g @ v.T", "elements are wrong)"),
        ("attention", "q", "gs @ v", "It has 3×3 elements, and q has 3×2 elements"),
        ("product", "a", "g *", "not complete, or not Python"),
        ("product", "a", "g * z", "There is no z here; given are g, c, a, b."),
        ("product", "a", "gb", "There is no gb here; given are g, c, a, b. Did you mean g * b?"),
        ("product", "a", "b^2", "write b ** 2"),
        ("product", "a", "b²", "write b ** 2"),
        ("product", "a", "2a*g", "write 2 * a"),
        ("product", "a", "2 a g", "Write * between factors: 2 * a"),
        ("product", "a", "a b", "Write * between factors: a * b"),
        ("product", "a", "2(a + b)", "Write * between factors: 2 * (a + b)"),
        ("product", "a", "g(b)", "Write * between factors: g * (b)"),
        ("product", "a", "1/0", "1 / 0 divides by 0"),
        ("product", "a", "g * a", "it gives −0.1425, and 0.7505 is wanted"),
        ("product", "a", "g.__class__", "Names that begin with _"),
        ("product", "a", "T.zeros(10000, 10000)", "4,096 are allowed"),
        ("product", "a", "g / 0", "no finite number"),
        ("product", "a", "[1.0]", "not a tensor"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(exercise: str, symbol: str, answer: str, says: str) -> None:
    found = verdict(exercise, symbol, answer)

    assert not found.is_right
    assert says in found.message


def test_a_transposition_of_a_square_matrix_is_noticed() -> None:
    task = BY_ID["matmul"]
    square = replace(task, shapes=[{"a": (2, 2), "b": (2, 2)}])

    (found,) = judge(square, {"a": "b @ g.T"})

    assert "but for a transposition" in found.message


def test_numbers_are_shown_beside_what_is_wanted() -> None:
    found = verdict("relu", "a", "g")

    assert found.got is not None
    assert found.wanted is not None
    assert found.got.shape == found.wanted.shape
    assert found.got.values != found.wanted.values


@pytest.mark.parametrize("task", TASKS, ids=BY_ID)
def test_the_numbers_that_are_given_are_those_of_the_verdict(task: Task) -> None:
    lines = {line.partition(":")[0]: line for line in given(task)}
    first = trials_of(task)[0]

    assert list(lines) == list(first.variables)
    for name, value in first.variables.items():
        shown_numbers = re.split(r" = |: ", lines[name])[-1].replace("−", "-")
        numbers = [float(one) for one in re.findall(r"[-\d.e]+", shown_numbers)]
        assert numbers == pytest.approx(value.reshape(-1).tolist(), rel=1e-3)


def test_given_lines_can_be_read() -> None:
    assert given(BY_ID["bias"])[1:] == [
        "c: x + b = [−3.04, 1.13], [0.81, 1.75], [−0.23, 0.5]",
        "x: 3×2: [−1.61, 0.23], [2.24, 0.85], [1.2, −0.4]",
        "b: 2 elements: −1.43, 0.9",
    ]
    assert given(BY_ID["product"])[2] == "a: a single number: −0.15"


def test_of_many_numbers_the_first_are_shown() -> None:
    assert numbers_text([-1.0] * 20, (4, 5)) == ", ".join(["−1"] * 16 + ["…"])
    assert numbers_text([], (0,)) == ""
    assert digits(-0.0) == "0"


@pytest.mark.parametrize("task", TASKS, ids=BY_ID)
def test_hints_use_only_names_that_are_given(task: Task) -> None:
    known = {"g", "c", *task.shapes[0], *task.helpers, *"e i j k n".split()}  # and places, and counts

    for sought in task.holes.values():
        for hint in sought[1:]:
            assert set(re.findall(r"\b([b-hj-z])\b(?=[ .)\[]* *[-+*/@])", hint)) <= known, hint


def test_an_answer_may_have_another_shape_for_other_numbers() -> None:
    assert not verdict("relu", "a", "2 * g[a > 0].sum() * g * (a > 0) / g[a > 0].sum()").is_right
    assert not verdict("square", "a", "g[g > 0]").is_right


def test_an_empty_answer_gets_no_verdict() -> None:
    assert judge(BY_ID["product"], {"a": "  ", "z": "g"}) == []


def test_the_numbers_are_the_same_each_time() -> None:
    first, second = trials_of(BY_ID["matmul"]), trials_of(BY_ID["matmul"])

    for one, other in zip(first, second, strict=True):
        assert one.variables["a"].tolist() == other.variables["a"].tolist()


def test_an_exercise_is_solved_when_all_its_holes_are_filled() -> None:
    task = BY_ID["product"]
    half = shown(task, {"a": Typed(answer="g * b", is_right=True)})
    whole = shown(
        task, {"a": Typed(answer="g * b", is_right=True), "b": Typed(answer="g * a", is_right=True)}
    )

    assert not half.is_solved
    assert [hole.answer for hole in half.holes] == ["g * b", ""]
    assert whole.is_solved
    assert half.holes[0].formula == r"\grad{a}"

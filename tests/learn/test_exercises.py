"""Exercises: what solves them is right, and what is usually wrong is refused with a word about why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from torcheer.learn.document import Verdict
from torcheer.learn.exercises import Task, Typed, given, shown
from torcheer.learn.judging import judge, trials_of
from torcheer.learn.tasks import TASKS

BY_ID = {task.id: task for task in TASKS}


def verdict(exercise: str, symbol: str, answer: str) -> Verdict:
    (found,) = judge(BY_ID[exercise], {symbol: answer})
    assert found.symbol == symbol
    return found


@pytest.mark.parametrize("task", TASKS, ids=BY_ID)
def test_every_solution_is_right(task: Task) -> None:
    verdicts = judge(task, {symbol: sought.solution for symbol, sought in task.holes.items()})

    assert [one.symbol for one in verdicts] == list(task.holes)
    assert all(one.is_right for one in verdicts), verdicts
    assert all(one.got == one.wanted or one.got is not None for one in verdicts)


@pytest.mark.parametrize("task", TASKS, ids=BY_ID)
def test_every_exercise_has_hints_shapes_and_a_text(task: Task) -> None:
    assert task.text
    assert len(task.shapes) >= 2
    for sought in task.holes.values():
        assert 2 <= len(sought.hints) <= 3
    lines = given(task)
    assert all(any(line.startswith(f"{name}: ") for line in lines) for name in ("g", "c", *task.shapes[0]))


@pytest.mark.parametrize("task", TASKS, ids=BY_ID)
@pytest.mark.parametrize("answer", ["g", "c", "1.0", "0 * g", "g * 2"])
def test_answers_that_say_nothing_are_right_only_where_that_is_the_rule(task: Task, answer: str) -> None:
    is_rule = {symbol for symbol, sought in task.holes.items() if sought.solution == answer}

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
        ("bias", "b", "g", "It has the shape 3×2, and b has 2: almost. b was used many times"),
        ("bias", "b", "g.sum(dim=1)", "It has the shape 3, and b has 2"),
        ("bias", "b", "g * 2", "there is a sum over the dimensions that it does not have"),
        ("mean", "x", "g.unsqueeze(1) / x.size(1)", "expand() makes copies"),
        ("mean", "x", "g.unsqueeze(1).expand(x.shape)", "Right up to a factor: it is 3 times"),
        ("mean", "x", "g.unsqueeze(1).expand(x.shape) / 3", "Right for the shapes above, but not for x "
                                                            "of 3×4"),
        ("mse", "y", "g * 2 * (y - t) / 6", "Right for the shapes above, but not for y of 4×1"),
        ("mse", "y", "g * (y - t) * 2", "Right up to a factor: it is 6 times"),
        ("matmul", "a", "b @ g.T", "It has the shape 3×2, and a has 2×3: only turn it round, with .T"),
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
        ("embedding", "w", "g", "It has the shape 3×2, and w has 4×2"),
        ("attention-scores", "q", "g @ k", "Right up to a factor: it is 1.414 times"),
        ("attention-scores", "k", "g @ q", "does not fit"),
        ("attention-weights", "s", "g @ v.T", "elements are wrong)"),
        ("attention", "q", "gs @ v", "It has the shape 3×3, and q has 3×2"),
        ("product", "a", "g *", "not complete, or not Python"),
        ("product", "a", "g * z", "There is no z yet"),
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

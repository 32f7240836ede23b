"""The page Learn over a real socket: examples, lessons, checks, exercises, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.runs_page import page_on
from tests.app.serving import SECRET, MadeUpPass, Page, serve
from torcheer.app import lessons as learning_module
from torcheer.app.lessons import Learning
from torcheer.app.listen import listen
from torcheer.app.passes.saved import SavedPasses
from torcheer.app.server import Server, Serving
from torcheer.learn import EXAMPLES, TASKS, Example


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody's progress is touched."""
    monkeypatch.setattr(learning_module, "state_folder", lambda: tmp_path / "state")
    return tmp_path / "state"


@pytest.fixture
def page() -> Iterator[Page]:
    with serve(MadeUpPass()) as serving, Page(serving) as page:
        yield page


def test_every_server_says_that_there_are_lessons(page: Page, tmp_path: Path) -> None:
    assert page.hello["has_lessons"] is True
    with page_on(tmp_path) as runs:
        assert runs.hello["has_lessons"] is True


def test_examples_exercises_and_functions_are_listed(page: Page) -> None:
    answer = page.ask(type="lessons", id=1)

    assert answer["type"] == "lessons"
    assert [one["id"] for one in answer["examples"]] == [one.id for one in EXAMPLES]
    assert [one["id"] for one in answer["exercises"]] == [one.id for one in TASKS]
    assert not any(one["is_solved"] for one in answer["exercises"])
    assert any("softmax(x, dim)" in line for line in answer["functions"])
    assert [line.startswith("statements: ") for line in answer["functions"]].index(True) == (
        len(answer["functions"]) - 1
    )
    assert answer["exercises"][0]["given"][-1] == "b: a single number: 0.79"


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_taken_apart(page: Page, number: int) -> None:
    answer = page.ask(type="lesson", id=2, source=EXAMPLES[number].source)
    checks = page.ask(type="lesson_checks", id=3, source=EXAMPLES[number].source)

    lesson = answer["lesson"]
    assert answer["id"] == 2
    assert lesson["fault"] is None
    assert len(lesson["backward"]) > 2
    assert checks["type"] == "lesson_checks"
    assert len(checks["checks"]) == sum(node["gradient"] is not None for node in lesson["nodes"])


def test_a_fault_is_an_answer_and_no_refusal(page: Page) -> None:
    lesson = page.ask(type="lesson", id=2, source="x = T.param(2)\nimport os")["lesson"]

    assert lesson["fault"]["line"] == 2
    assert page.ask(type="lesson_checks", id=3, source="import os")["checks"] == []


@pytest.mark.parametrize(
    "question",
    [
        {"type": "lesson", "source": "x" * 8001},
        {"type": "lesson"},
        {"type": "lesson", "source": 3},
        {"type": "lesson", "source": "x", "more": 1},
        {"type": "exercise", "exercise_id": "product", "answers": {"a": "g" * 501}},
        {"type": "exercise", "exercise_id": "nobody", "answers": {}},
        {"type": "exercise", "exercise_id": "product", "answers": {"a" * 65: "g"}},
    ],
)
def test_what_cannot_be_meant_is_refused_and_the_page_goes_on(page: Page, question: dict[str, Any]) -> None:
    assert page.ask(id=9, **question)["type"] == "refusal"
    assert page.is_alive()


@pytest.mark.parametrize("source", ["", "a\0b", "(" * 7000, "-" * 8000, "T.zeros(10 ** 6, 10 ** 6)"])
def test_hostile_expressions_are_answered(page: Page, source: str) -> None:
    assert page.ask(type="lesson", id=4, source=source)["lesson"]["fault"] is not None
    assert page.is_alive()


def test_several_questions_at_once_are_all_answered(page: Page) -> None:
    for number in range(20):
        page.socket.send(json.dumps({"type": "lesson", "id": number, "source": EXAMPLES[number % 4].source}))

    assert {page.receive()["id"] for _ in range(20)} == set(range(20))


# --- exercises ---------------------------------------------------------------------------------


def test_answers_are_judged_and_remembered(own_state: Path) -> None:
    with serve(MadeUpPass()) as serving, Page(serving) as page:
        first = page.ask(type="exercise", id=1, exercise_id="product", answers={"a": "g * b", "b": "g"})
        second = page.ask(type="exercise", id=2, exercise_id="product", answers={"b": "g * a"})

    assert [(one["symbol"], one["is_right"]) for one in first["verdicts"]] == [("a", True), ("b", False)]
    assert not first["exercise"]["is_solved"]
    assert second["exercise"]["is_solved"]
    assert (own_state / "learn.json").exists()
    with serve(MadeUpPass()) as serving, Page(serving) as page:
        listed = {one["id"]: one for one in page.ask(type="lessons", id=3)["exercises"]}
        assert listed["product"]["is_solved"]
        assert [hole["answer"] for hole in listed["product"]["holes"]] == ["g * b", "g * a"]
        again = page.ask(type="progress_reset", id=4)
    assert again["type"] == "lessons"
    assert not any(one["is_solved"] for one in again["exercises"])


def test_what_is_typed_anew_and_wrong_is_no_longer_right(page: Page) -> None:
    page.ask(type="exercise", id=1, exercise_id="exp", answers={"a": "g * c"})
    answer = page.ask(type="exercise", id=2, exercise_id="exp", answers={"a": "c"})

    assert not answer["exercise"]["is_solved"]
    assert answer["exercise"]["holes"][0]["answer"] == "c"


# --- where it is otherwise ---------------------------------------------------------------------


def test_an_expression_of_ones_own_comes_first() -> None:
    own = Example(id="yours", title="Yours", about="", source="x = T.param(3)")
    listener = listen(port=0)
    server = Server(SavedPasses(()), listener, SECRET, learning=Learning(own))
    with Serving(server) as serving, Page(serving) as page:
        examples = page.ask(type="lessons", id=1)["examples"]

    assert examples[0] == {"id": "yours", "title": "Yours", "about": "", "source": "x = T.param(3)"}
    assert len(examples) == len(EXAMPLES) + 1


def test_without_torch_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_module.importlib.util, "find_spec", lambda name: None)

    with serve(MadeUpPass()) as serving, Page(serving) as page:
        assert page.hello["has_lessons"] is False
        refused = page.ask(type="lessons", id=1)
    assert refused["type"] == "refusal"
    assert "torch is not installed" in refused["message"]


def test_an_error_of_ours_is_logged_and_the_page_gets_a_sentence(
    page: Page, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(part: str) -> Any:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(learning_module, "_of", fail)

    refused = page.ask(type="lesson", id=1, source="x")

    assert refused["message"] == "this could not be answered: the server's log says why."
    assert "'LessonQuestion' could not be answered" in caplog.text

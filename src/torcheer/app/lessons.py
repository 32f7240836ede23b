"""The page Learn: its questions, answered one at a time, and a lesson as one HTML file.

torch is imported when the first question comes.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Final

from msgspec import Meta

from torcheer.app.access import state_folder
from torcheer.app.background_threads import Turns
from torcheer.app.html_page import (
    Bundle,
    frame_of,
    read_bundle,
    show_file,
    show_inline,
    write_file,
)
from torcheer.app.wire import Answer, Followed, Frame, Name, Question, Single, as_json, as_text
from torcheer.desktop import in_notebook
from torcheer.errors import InputError
from torcheer.learn import (
    EXAMPLES,
    TASKS,
    Example,
    Exercise,
    LearnCheck,
    Lesson,
    Progress,
    Typed,
    Verdict,
    shown,
)

MAX_SOURCE: Final = 8000  # signs
Source = Annotated[str, Meta(max_length=MAX_SOURCE)]
TypedText = Annotated[str, Meta(max_length=500)]


class LessonsQuestion(Question, frozen=True, tag="lessons"):
    """Which examples and exercises are there, and how far has the student come?"""


class LessonQuestion(Question, frozen=True, tag="lesson"):
    """Take this apart, please. It is read, never run as a program."""

    source: Source


class LessonChecksQuestion(Question, frozen=True, tag="lesson_checks"):
    """What do torch and differences say of its gradients?"""

    source: Source


class ExerciseQuestion(Question, frozen=True, tag="exercise"):
    """Is that right? Answers by symbol; what is right is remembered."""

    exercise_id: Name
    answers: Mapping[Name, TypedText]


class ProgressResetQuestion(Question, frozen=True, tag="progress_reset"):
    """Forget what was solved. Answered with all exercises, as after `lessons`."""


class LessonsAnswer(Answer, frozen=True, tag="lessons"):
    examples: Sequence[Example]
    exercises: Sequence[Exercise]
    functions: Sequence[str]  # what may be written in an expression, a line each


class LessonAnswer(Answer, frozen=True, tag="lesson"):
    lesson: Lesson


class LessonChecksAnswer(Answer, frozen=True, tag="lesson_checks"):
    checks: Sequence[LearnCheck]


class ExerciseAnswer(Answer, frozen=True, tag="exercise"):
    exercise: Exercise  # with what is known now
    verdicts: Sequence[Verdict]


_NO_TORCH: Final = "torch is not installed here, and expressions are computed with it: pip install torch."
_FILE: Final = "learn.json"


class Learning:
    """Examples, exercises and lessons for all pages of a server; the user's own expression comes first."""

    def __init__(self, own: Example | None = None) -> None:
        self.has_lessons = importlib.util.find_spec("torch") is not None
        self._examples: Sequence[Example] = EXAMPLES if own is None else (own, *EXAMPLES)
        self._turns = Turns()
        answers: dict[type[Question], Callable[[Any], Answer]] = {
            LessonsQuestion: self._lessons,
            LessonQuestion: lambda one: LessonAnswer(one.id, _of("lesson_of_source")(one.source)),
            LessonChecksQuestion: lambda one: LessonChecksAnswer(one.id, _of("checks_of_source")(one.source)),
            ExerciseQuestion: self._judged,
            ProgressResetQuestion: self._reset,
        }
        self.single = {kind: self._handler(answer) for kind, answer in answers.items()}
        self.followed: dict[type[Question], Followed] = {}

    def warm_up(self) -> None:
        """Read torch before anybody asks, in a thread of its own: it takes a second or more."""
        threading.Thread(target=_of, args=["lesson_of_source"], name="torcheer lessons", daemon=True).start()

    def _handler(self, answer: Callable[[Any], Answer]) -> Single:
        async def handler(question: Any) -> Frame:
            if not self.has_lessons:
                raise InputError(_NO_TORCH)
            return as_text(await self._turns.take(answer, question))

        return handler

    def _reset(self, question: ProgressResetQuestion) -> LessonsAnswer:
        self._progress.reset()
        return self._lessons(question)

    def _lessons(self, question: Question) -> LessonsAnswer:
        exercises = [self._exercise(task.id) for task in TASKS]
        functions = _of("functions_text")()
        return LessonsAnswer(
            id=question.id, examples=self._examples, exercises=exercises, functions=functions
        )

    def _judged(self, question: ExerciseQuestion) -> ExerciseAnswer:
        task = next((task for task in TASKS if task.id == question.exercise_id), None)
        if task is None:
            raise InputError("there is no such exercise: choose one from the list.")
        verdicts = _of("judge")(task, question.answers)
        typed = {
            verdict.symbol: Typed(answer=question.answers[verdict.symbol], is_right=verdict.is_right)
            for verdict in verdicts
        }
        self._progress.note_answers(task.id, typed)
        return ExerciseAnswer(id=question.id, exercise=self._exercise(task.id), verdicts=verdicts)

    def _exercise(self, exercise_id: str) -> Exercise:
        task = next(task for task in TASKS if task.id == exercise_id)
        return shown(task, self._progress.of(exercise_id))

    @cached_property
    def _progress(self) -> Progress:
        try:
            return Progress(state_folder() / _FILE)
        except RuntimeError:  # there is no home
            return Progress(None)


def _of(name: str) -> Any:
    # Asked for when needed: the app itself must not need torch, and these do.
    return getattr(importlib.import_module("torcheer.learn"), name)


_FRONT_END: Final = "learnfile"
_HEIGHT: Final = 760  # between the cells of a notebook, in pixels


def write_lesson_page(lesson: Lesson, path: str | os.PathLike[str]) -> str:
    """Write the page to a file, which is there when it is whole; returns where it is."""
    bundle = read_bundle(_FRONT_END)
    return write_file(path, lambda: _pieces(lesson, bundle), "lesson.html")


def show_lesson(lesson: Lesson, *, open_browser: bool = True) -> str | None:
    """Show it in the notebook, if this is one; else write it to a file for the user alone, and open that."""
    if in_notebook():
        page = b"".join(_pieces(lesson, read_bundle(_FRONT_END))).decode()
        show_inline(page, _HEIGHT, "An expression and its gradients")
        return None
    return show_file(lesson.title, lambda path: write_lesson_page(lesson, path), open_browser=open_browser)


def _pieces(lesson: Lesson, bundle: Bundle) -> Sequence[bytes]:
    about = "an expression and its gradients, step by step"
    before, after = frame_of(bundle, lesson.title, about, "torcheer-lesson")
    # What stands in an element of its own must not end it.
    return [before, as_json(lesson).replace(b"<", b"\\u003c"), after]

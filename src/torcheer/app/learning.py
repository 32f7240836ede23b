"""Answer what the page Learn asks: one question at a time, and torch is read when the first one comes."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, assert_never

from torcheer.app.frames import as_json
from torcheer.app.learnmessages import (
    AnyLearnAnswer,
    AnyLearnQuestion,
    ExerciseAnswer,
    ExerciseQuestion,
    LessonAnswer,
    LessonChecksAnswer,
    LessonChecksQuestion,
    LessonQuestion,
    LessonsAnswer,
    LessonsQuestion,
    ProgressResetQuestion,
)
from torcheer.app.secret import state_folder
from torcheer.app.turns import Turns
from torcheer.errors import InputError
from torcheer.learn import EXAMPLES, TASKS, Example, Exercise, Progress, Typed, shown

_NO_TORCH: Final = "torch is not installed here, and expressions are computed with it: pip install torch."
_FILE: Final = "learn.json"


class Learning:
    """Examples, exercises and lessons for all pages of a server; the user's own expression comes first."""

    def __init__(self, own: Example | None = None) -> None:
        self.has_lessons = importlib.util.find_spec("torch") is not None
        self._examples: Sequence[Example] = EXAMPLES if own is None else (own, *EXAMPLES)
        self._known: Progress | None = None
        self._turns = Turns()

    def warm_up(self) -> None:
        """Read torch before anybody asks, in a thread of its own: it takes a second or more."""
        threading.Thread(target=_of, args=["lesson_of_source"], name="torcheer lessons", daemon=True).start()

    async def answer(self, question: AnyLearnQuestion) -> str:
        if not self.has_lessons:
            raise InputError(_NO_TORCH)
        return as_json(await self._turns.take(self._answer, question)).decode()

    def _answer(self, question: AnyLearnQuestion) -> AnyLearnAnswer:
        match question:
            case LessonQuestion():
                lesson = _of("lesson_of_source")(question.source)
                return LessonAnswer(id=question.id, lesson=lesson)
            case LessonChecksQuestion():
                checks = _of("checks_of_source")(question.source)
                return LessonChecksAnswer(id=question.id, checks=checks)
            case ExerciseQuestion():
                return self._judged(question)
            case ProgressResetQuestion():
                self._progress.reset()
                return self._lessons(question.id)
            case LessonsQuestion():
                return self._lessons(question.id)
            case _:
                assert_never(question)

    def _lessons(self, number: int) -> LessonsAnswer:
        exercises = [self._exercise(task.id) for task in TASKS]
        functions = _of("functions_text")()
        return LessonsAnswer(id=number, examples=self._examples, exercises=exercises, functions=functions)

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

    @property
    def _progress(self) -> Progress:
        if self._known is None:
            self._known = Progress(_place())
        return self._known


def _place() -> Path | None:
    try:
        return state_folder() / _FILE
    except RuntimeError:  # there is no home
        return None


def _of(name: str) -> Any:
    # Asked for when it is needed: the app itself must not need torch, and these do.
    return getattr(importlib.import_module("torcheer.learn"), name)

"""What the page Learn can ask, and what the server answers; see `frames`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from msgspec import Meta

from torcheer.app.frames import Answer, Name, Question
from torcheer.learn import Example, Exercise, LearnCheck, Lesson, Verdict

MAX_SOURCE: Final = 8000  # signs
Source = Annotated[str, Meta(max_length=MAX_SOURCE)]
Typed = Annotated[str, Meta(max_length=500)]


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
    answers: Mapping[Name, Typed]


class ProgressResetQuestion(Question, frozen=True, tag="progress_reset"):
    """Forget what was solved. Answered with all exercises, as after `lessons`."""


AnyLearnQuestion = (
    LessonsQuestion | LessonQuestion | LessonChecksQuestion | ExerciseQuestion | ProgressResetQuestion
)


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


AnyLearnAnswer = LessonsAnswer | LessonAnswer | LessonChecksAnswer | ExerciseAnswer

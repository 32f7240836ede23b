"""Backpropagation to watch: an expression taken apart into steps, checked against torch, and exercises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.learn.exercises import EXAMPLES, TASKS, Progress, Typed, shown
    from torcheer.learn.functions import functions_text
    from torcheer.learn.grading import judge
    from torcheer.learn.lesson import checks_of_source, lesson_of_source
    from torcheer.learn.lesson_document import (
        MAX_SOURCE,
        Example,
        Exercise,
        Form,
        LearnCheck,
        Lesson,
        NodeKind,
        Verdict,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)

"""Backpropagation to watch: an expression taken apart into steps, checked against torch, and exercises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.learn.document import Example, Exercise, Form, LearnCheck, Lesson, NodeKind, Verdict
    from torcheer.learn.examples import EXAMPLES
    from torcheer.learn.exercises import Typed, shown
    from torcheer.learn.limits import MAX_SOURCE
    from torcheer.learn.progress import Progress
    from torcheer.learn.tasks import TASKS
else:
    __getattr__, __dir__ = lazy_imports(__name__)

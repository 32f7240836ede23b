"""One registry of what pages ask, and what answers each question: in threads, never with a traceback."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from functools import reduce
from operator import or_
from types import ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from torcheer.app import control, lessons
from torcheer.app.background_threads import Turns
from torcheer.app.cache import Cache
from torcheer.app.features import feature_messages
from torcheer.app.features.feature_answers import FeatureAnswers
from torcheer.app.features.feature_messages import FeatureSetsAnswer, FeatureSetsQuestion
from torcheer.app.lessons import Learning
from torcheer.app.netview import net_messages
from torcheer.app.passes import source as pass_messages
from torcheer.app.passes.source import (
    MAX_VALUE_BYTES,
    DocumentAnswer,
    DocumentQuestion,
    FiguresAnswer,
    FiguresQuestion,
    Hello,
    PassesAnswer,
    PassesQuestion,
    PassListing,
    PassSource,
    Shelf,
    SketchQuestion,
    TensorAnswer,
    TensorQuestion,
    sketch_of,
    window_fault,
)
from torcheer.app.runs import run_messages, table_feed
from torcheer.app.runs.run_answers import RunAnswers
from torcheer.app.runs.run_messages import RunTensorQuestion
from torcheer.app.wire import (
    NO_QUESTION,
    Answer,
    Count,
    Followed,
    Frame,
    Question,
    Refusal,
    Single,
    as_text,
    binary_frame,
    messages_in,
)
from torcheer.errors import InputError, TorcheerError
from torcheer.tensorfile import num_values

_LOG: Final = logging.getLogger("torcheer.app")
_MAX_OPEN_PASSES: Final = 16
_GONE: Final = (
    "this pass is no longer here: it was removed, or saved anew. Choose one from the list of passes."
)

# The order is that of the page's types.
_FAMILIES: Final[Sequence[ModuleType]] = (
    pass_messages,
    run_messages,
    net_messages,
    table_feed,
    control,
    lessons,
    feature_messages,
)
QUESTIONS: Final = [one for family in _FAMILIES for one in messages_in(family, Question)]
ANSWERS: Final[list[type[Struct]]] = [
    Hello,
    *messages_in(pass_messages, Answer),
    Refusal,
    *(one for family in _FAMILIES[1:] for one in messages_in(family, Answer)),
]


class Answers:
    """Answers for all pages of a server. Passes that were opened stay open, the last few of them."""

    def __init__(
        self,
        shelf: Shelf,
        runs: RunAnswers | None = None,
        controls: control.Controls | None = None,
        learning: Learning | None = None,
        features: FeatureAnswers | None = None,
    ) -> None:
        self._shelf = shelf
        self._runs = runs
        self._learning = learning or Learning()
        self._open: Cache[PassSource] = Cache(_MAX_OPEN_PASSES)
        self._shelf_turns = Turns()
        self._turns: WeakKeyDictionary[PassSource, Turns] = WeakKeyDictionary()  # of passes in use
        self._single: dict[type[Question], Single] = {
            PassesQuestion: self._passes,
            DocumentQuestion: self._of_pass(
                lambda source, one: as_text(DocumentAnswer(id=one.id, document=source.document()))
            ),
            SketchQuestion: self._of_pass(lambda source, one: as_text(sketch_of(source.document(), one.id))),
            FiguresQuestion: self._of_pass(_figures),
            TensorQuestion: self._of_pass(_tensor),
        }
        self._followed: dict[type[Question], Followed] = {FeatureSetsQuestion: _no_sets}
        for part in (runs, controls or control.Controls((), None), self._learning, features):
            if part is not None:
                self._single |= part.single
                self._followed |= part.followed

    async def hello(self) -> Hello:
        return Hello(
            has_runs=self._runs is not None,
            has_lessons=self._learning.has_lessons,
            passes=await self.listing(),
        )

    def is_followed(self, question: Question) -> bool:
        return type(question) in self._followed

    async def listing(self) -> Sequence[PassListing]:
        """The passes that are there now; none where they could not be looked for."""
        try:
            passes = await self._shelf_turns.take(self._shelf.listing)
            return passes if self._runs is None else [*passes, *await self._runs.passes()]
        except Exception:
            _LOG.exception("the passes could not be listed")
            return []

    async def answer(self, question: Question) -> Frame:
        """The answer to a question; what goes wrong becomes a refusal."""
        try:
            handler = self._single.get(type(question))
            if handler is None and type(question).__module__ == feature_messages.__name__:
                raise InputError(
                    "there are no features here: `torcheer view FOLDER` shows those that tl.extract wrote "
                    "into it."
                )
            if handler is None:
                raise InputError("this page shows passes; `torcheer view FOLDER` shows the runs of a folder.")
            return await handler(question)
        except Exception as error:
            return _refusal(question, error)

    async def follow(self, question: Question, page: object) -> AsyncGenerator[Frame, None]:
        try:
            async with aclosing(self._followed[type(question)](question, page)) as frames:
                async for frame in frames:
                    yield frame
        except Exception as error:
            yield _refusal(question, error)

    def close(self) -> None:
        if self._runs is not None:
            self._runs.close()

    async def _passes(self, question: PassesQuestion) -> Frame:
        return as_text(PassesAnswer(id=question.id, passes=await self.listing()))

    def _of_pass(self, answer: Callable[[PassSource, Any], Frame]) -> Single:
        async def handler(question: Any) -> Frame:
            source = await self._source(question.pass_id)
            return await self._turns.setdefault(source, Turns()).take(answer, source, question)

        return handler

    async def _source(self, pass_id: str) -> PassSource:
        source = self._open.get(pass_id)
        if source is None:
            source = await self._shelf_turns.take(self._shelf.source, pass_id)
            if source is None and self._runs is not None:
                source = await self._runs.pass_source(pass_id)
            if source is None:
                raise InputError(_GONE)
            source = self._open.get(pass_id) or source  # another page may have opened it meanwhile
            self._open.put(pass_id, source)
        return source


def _figures(source: PassSource, question: FiguresQuestion) -> Frame:
    figures = source.figures(question.name)
    if isinstance(figures, str):
        raise InputError(figures)
    return as_text(FiguresAnswer(id=question.id, values=figures))


def _tensor(source: PassSource, question: TensorQuestion) -> Frame:
    found = source.tensor(question.kind, question.index, question.window)
    if isinstance(found, str):
        raise InputError(found)
    view, values = found
    if len(values) > MAX_VALUE_BYTES:
        raise InputError(f"{len(values):,} bytes are too many for one answer: ask for fewer values.")
    if len(values) != num_values(view.window) * int(view.encoding[1]):
        raise ValueError(f"{len(values)} bytes came for {view.window} of {view.encoding}")
    return binary_frame(TensorAnswer(id=question.id, view=view), values)


async def _no_sets(question: FeatureSetsQuestion, page: object) -> AsyncGenerator[Frame, None]:
    yield as_text(FeatureSetsAnswer(id=question.id, sets=()))


def _refusal(question: Question, error: Exception) -> str:
    """What a page is told of what went wrong. What is no error of ours goes to the log."""
    message = str(error)
    if isinstance(error, OSError) and not isinstance(error, TorcheerError):
        message = f"this could not be read: {error}."
    elif not isinstance(error, TorcheerError):
        what = type(question).__name__
        _LOG.error("a question of the type %r could not be answered", what, exc_info=error)
        message = "this could not be answered: the server's log says why."
    return as_text(Refusal(id=question.id, message=message))


class _Numbered(Struct):
    """All that is needed to say which question is refused."""

    id: Count


_QUESTIONS: Final[msgspec.json.Decoder[Question]] = msgspec.json.Decoder(reduce(or_, QUESTIONS))
_NUMBERS: Final = msgspec.json.Decoder(_Numbered)


def read_question(text: str) -> Question | Refusal:
    try:
        question = _QUESTIONS.decode(text)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        number = NO_QUESTION
        with suppress(ValueError, RecursionError):
            number = _NUMBERS.decode(text).id
        return Refusal(id=number, message=f"this question cannot be read: {error}.")
    if isinstance(question, TensorQuestion | RunTensorQuestion) and question.window is not None:
        fault = window_fault(question.window)
        if fault:
            return Refusal(id=question.id, message=fault)
    return question

"""Answer a page's questions from a shelf: in threads, one at a time for each pass, never with a traceback."""

from __future__ import annotations

import logging
from collections import OrderedDict, defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final, assert_never

import msgspec
from msgspec import Struct

from torcheer.app.control import (
    AnyControlAnswer,
    AnyControlQuestion,
    ControlDoQuestion,
    Controls,
    FollowedControlQuestion,
)
from torcheer.app.features.answers import FeatureAnswers
from torcheer.app.features.messages import (
    AnyFeatureAnswer,
    AnyFeatureQuestion,
    FeatureSetsAnswer,
    FeatureSetsQuestion,
    FollowedFeatureQuestion,
    SingleFeatureQuestion,
)
from torcheer.app.lessons import AnyLearnAnswer, AnyLearnQuestion, Learning
from torcheer.app.net.messages import (
    AnyNetAnalysisAnswer,
    AnyNetAnalysisQuestion,
    AnyNetAnswer,
    AnyNetQuestion,
)
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
    PassQuestion,
    PassSource,
    Shelf,
    TensorAnswer,
    TensorQuestion,
    window_fault,
)
from torcheer.app.runs.answers import FollowedQuestion as FollowedRunQuestion
from torcheer.app.runs.answers import Frame, RunAnswers, RunQuestion
from torcheer.app.runs.messages import (
    AnyRunAnswer,
    AnyRunQuestion,
    AnyTableAnswer,
    AnyTableQuestion,
    RunTensorQuestion,
)
from torcheer.app.threads import Turns
from torcheer.app.wire import NO_QUESTION, Count, Refusal, as_json, binary_frame
from torcheer.errors import InputError, TorcheerError
from torcheer.tensorfile import num_values

AnyQuestion = (
    PassesQuestion
    | PassQuestion
    | AnyRunQuestion
    | AnyNetQuestion
    | AnyNetAnalysisQuestion
    | AnyTableQuestion
    | AnyControlQuestion
    | AnyLearnQuestion
    | AnyFeatureQuestion
)
AnyAnswer = (
    Hello
    | PassesAnswer
    | DocumentAnswer
    | FiguresAnswer
    | TensorAnswer
    | Refusal
    | AnyRunAnswer
    | AnyNetAnswer
    | AnyNetAnalysisAnswer
    | AnyTableAnswer
    | AnyControlAnswer
    | AnyLearnAnswer
    | AnyFeatureAnswer
)
SingleQuestion = (
    PassesQuestion | PassQuestion | RunQuestion | ControlDoQuestion | AnyLearnQuestion | SingleFeatureQuestion
)
FollowedQuestion = FollowedRunQuestion | FollowedControlQuestion | FollowedFeatureQuestion

_LOG: Final = logging.getLogger("torcheer.app")
_MAX_OPEN_PASSES: Final = 16
_SHELF: Final = ""  # no pass has this id
_GONE: Final = (
    "this pass is no longer here: it was removed, or saved anew. Choose one from the list of passes."
)
_NO_RUNS: Final = "this page shows passes; `torcheer view FOLDER` shows the runs of a folder."
_NO_FEATURES: Final = (
    "there are no features here: `torcheer view FOLDER` shows those that tl.extract wrote into it."
)


class Answers:
    """Answers for all pages of a server. Passes that were opened stay open, the last few of them."""

    def __init__(
        self,
        shelf: Shelf,
        runs: RunAnswers | None = None,
        controls: Controls | None = None,
        learning: Learning | None = None,
        features: FeatureAnswers | None = None,
    ) -> None:
        self._shelf = shelf
        self._runs = runs
        self._controls = controls or Controls((), None)
        self._learning = learning or Learning()
        self._features = features
        self._open: OrderedDict[str, PassSource] = OrderedDict()
        self._turns: defaultdict[str, Turns] = defaultdict(Turns)

    @property
    def has_runs(self) -> bool:
        return self._runs is not None

    @property
    def has_lessons(self) -> bool:
        return self._learning.has_lessons

    async def listing(self) -> Sequence[PassListing]:
        """The passes that are there now; none where they could not be looked for."""
        try:
            passes = await self._turns[_SHELF].take(self._shelf.listing)
            return passes if self._runs is None else [*passes, *await self._runs.passes()]
        except Exception:
            _LOG.exception("the passes could not be listed")
            return []

    async def answer(self, question: SingleQuestion) -> Frame:
        """The answer to a question; what goes wrong becomes a refusal."""
        try:
            if isinstance(question, PassesQuestion):
                return text_of(PassesAnswer(id=question.id, passes=await self.listing()))
            if isinstance(question, PassQuestion):
                return await self._answer_of_pass(question)
            if isinstance(question, ControlDoQuestion):
                return await self._controls.do(question)
            if isinstance(question, AnyLearnQuestion):
                return await self._learning.answer(question)
            if isinstance(question, SingleFeatureQuestion):
                if self._features is None:
                    raise InputError(_NO_FEATURES)
                return await self._features.answer(question)
            return _refusal(question, _NO_RUNS) if self._runs is None else await self._runs.answer(question)
        except Exception as error:
            return _refusal(question, _sentence(question, error))

    async def follow(self, question: FollowedQuestion, page: object) -> AsyncGenerator[Frame, None]:
        """The answers to a question that goes on, until they are no longer wanted."""
        try:
            async with aclosing(self._answers_to(question, page)) as frames:
                async for frame in frames:
                    yield frame
        except Exception as error:
            yield _refusal(question, _sentence(question, error))

    def _answers_to(self, question: FollowedQuestion, page: object) -> AsyncGenerator[Frame, None]:
        if isinstance(question, FollowedControlQuestion):
            return self._controls.follow(question)
        if isinstance(question, FollowedFeatureQuestion):
            return self._answers_of_features(question, page)
        if self._runs is None:
            raise InputError(_NO_RUNS)
        return self._runs.follow(question, page)

    async def _answers_of_features(
        self, question: FollowedFeatureQuestion, page: object
    ) -> AsyncGenerator[Frame, None]:
        if self._features is None:
            if not isinstance(question, FeatureSetsQuestion):
                raise InputError(_NO_FEATURES)
            yield text_of(FeatureSetsAnswer(id=question.id, sets=()))
            return
        async with aclosing(self._features.follow(question, page)) as frames:
            async for frame in frames:
                yield frame

    def close(self) -> None:
        if self._runs is not None:
            self._runs.close()

    async def _answer_of_pass(self, question: PassQuestion) -> Frame:
        source = await self._source(question.pass_id)
        if source is None:
            return _refusal(question, _GONE)
        return await self._turns[question.pass_id].take(_frame, source, question)

    async def _source(self, pass_id: str) -> PassSource | None:
        source = self._open.get(pass_id)
        if source is None:
            source = await self._turns[_SHELF].take(self._shelf.source, pass_id)
            if source is None and self._runs is not None:
                source = await self._runs.pass_source(pass_id)
            if source is None:
                return None
            # Another page may have opened it meanwhile.
            source = self._open.setdefault(pass_id, source)
        self._open.move_to_end(pass_id)
        if len(self._open) > _MAX_OPEN_PASSES:
            self._open.popitem(last=False)
        return source


def text_of(answer: AnyAnswer) -> str:
    """An answer for a text frame."""
    return as_json(answer).decode()


def _refusal(question: AnyQuestion, message: str) -> str:
    return text_of(Refusal(id=question.id, message=message))


def _sentence(question: AnyQuestion, error: Exception) -> str:
    """What a page is told of what went wrong. What is no error of ours goes to the log."""
    if isinstance(error, TorcheerError):
        return str(error)
    if isinstance(question, AnyControlQuestion):
        _LOG.error("a training could not be controlled", exc_info=error)
        return f"this could not be done ({type(error).__name__}): the server's log says why."
    if isinstance(question, AnyLearnQuestion):
        _LOG.error("a lesson could not be made", exc_info=error)
        return f"this could not be computed ({type(error).__name__}): the server's log says why."
    what = _subject(question)
    if isinstance(error, OSError):
        return f"the {what} could not be read: {error}."
    _LOG.error("a question of the type %r could not be answered", type(question).__name__, exc_info=error)
    return f"the {what} could not be read: the server's log says why."


def _subject(question: AnyQuestion) -> str:
    if isinstance(question, AnyFeatureQuestion):
        return "set of features"
    return "pass" if isinstance(question, PassQuestion) else "run"


def _frame(source: PassSource, question: PassQuestion) -> Frame:
    match question:
        case DocumentQuestion():
            return text_of(DocumentAnswer(id=question.id, document=source.document()))
        case FiguresQuestion():
            figures = source.figures(question.name)
            if isinstance(figures, str):
                return _refusal(question, figures)
            return text_of(FiguresAnswer(id=question.id, name=question.name, values=figures))
        case TensorQuestion():
            return _tensor(source, question)
        case _:
            assert_never(question)


def _tensor(source: PassSource, question: TensorQuestion) -> Frame:
    found = source.tensor(question.kind, question.index, question.window)
    if isinstance(found, str):
        return _refusal(question, found)
    view, values = found
    if len(values) > MAX_VALUE_BYTES:
        return _refusal(question, f"{len(values):,} bytes are too many for one answer: ask for fewer values.")
    if len(values) != num_values(view.window) * int(view.encoding[1]):
        raise ValueError(f"{len(values)} bytes came for {view.window} of {view.encoding}")
    return binary_frame(TensorAnswer(id=question.id, view=view), values)


# --- reading and writing them ----------------------------------------------------------------

_QUESTIONS: Final[msgspec.json.Decoder[AnyQuestion]] = msgspec.json.Decoder(AnyQuestion)


class _Numbered(Struct):
    """All that is needed to say which question is refused."""

    id: Count


_NUMBERS: Final = msgspec.json.Decoder(_Numbered)


def read_question(text: str) -> AnyQuestion | Refusal:
    """A question, or the refusal that answers it."""
    try:
        question = _QUESTIONS.decode(text)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        return Refusal(id=_number_of(text), message=f"this question cannot be read: {error}.")
    if isinstance(question, TensorQuestion | RunTensorQuestion) and question.window is not None:
        fault = window_fault(question.window)
        if fault:
            return Refusal(id=question.id, message=fault)
    return question


def _number_of(text: str) -> int:
    try:
        return _NUMBERS.decode(text).id
    except (ValueError, RecursionError):
        return NO_QUESTION

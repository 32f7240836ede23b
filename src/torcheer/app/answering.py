"""Answer a page's questions from a shelf: in threads, one at a time for each pass, never with a traceback."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, TypeVarTuple, assert_never

from anyio import CapacityLimiter
from anyio.from_thread import check_cancelled
from anyio.to_thread import run_sync

from torcheer.app.messages import (
    MAX_VALUE_BYTES,
    AnyAnswer,
    AnyQuestion,
    DocumentAnswer,
    DocumentQuestion,
    FiguresAnswer,
    FiguresQuestion,
    PassesAnswer,
    PassesQuestion,
    PassListing,
    Refusal,
    TensorAnswer,
    TensorQuestion,
    as_json,
    tensor_frame,
)
from torcheer.app.passes import PassSource, Shelf
from torcheer.errors import TorcheerError
from torcheer.graph.tensorview import num_values

_LOG: Final = logging.getLogger("torcheer.app")
_MAX_OPEN_PASSES: Final = 16
_SHELF: Final = ""  # no pass has this id
_GONE: Final = (
    "this pass is no longer here: it was removed, or saved anew. Choose one from the list of passes."
)
_FAULTY: Final = "the pass could not be read: the server's log says why."

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

Frame = str | bytes  # for a text frame and for a binary one
PassQuestion = DocumentQuestion | TensorQuestion | FiguresQuestion


class _Turns:
    """Lets one thread at a time do something, each after those that asked before it."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(1)
        self._lock = threading.Lock()

    async def take(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        # When a page goes, its thread is left to itself, so that nobody waits for what nobody wants. The lock
        # is for that case: such a thread may still be at work when the next one has its turn.
        return await run_sync(self._alone, work, *arguments, abandon_on_cancel=True, limiter=self._limiter)

    def _alone(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        with self._lock:
            check_cancelled()
            return work(*arguments)


class Answers:
    """Answers for all pages of a server. Passes that were opened stay open, the last few of them."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._open: OrderedDict[str, PassSource] = OrderedDict()
        self._turns: defaultdict[str, _Turns] = defaultdict(_Turns)

    async def listing(self) -> Sequence[PassListing]:
        """The passes that are there now; none where they could not be looked for."""
        try:
            return await self._turns[_SHELF].take(self._shelf.listing)
        except Exception:
            _LOG.exception("the passes could not be listed")
            return []

    async def answer(self, question: AnyQuestion) -> Frame:
        """The answer to a question; what goes wrong becomes a refusal."""
        if isinstance(question, PassesQuestion):
            return text_of(PassesAnswer(id=question.id, passes=await self.listing()))
        try:
            source = await self._source(question.pass_id)
            if source is None:
                return _refusal(question, _GONE)
            return await self._turns[question.pass_id].take(_frame, source, question)
        except TorcheerError as error:
            return _refusal(question, str(error))
        except OSError as error:
            return _refusal(question, f"the pass could not be read: {error}.")
        except Exception:
            _LOG.exception("a question about the pass %r could not be answered", question.pass_id)
            return _refusal(question, _FAULTY)

    async def _source(self, pass_id: str) -> PassSource | None:
        source = self._open.get(pass_id)
        if source is None:
            source = await self._turns[_SHELF].take(self._shelf.source, pass_id)
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
    return tensor_frame(TensorAnswer(id=question.id, view=view), values)

"""What the server has to show: passes, each from a source of its own, on a shelf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torcheer.app.messages import PassListing
from torcheer.graph import PassDocument
from torcheer.tensorfile import TensorKind, TensorView, Window


class PassSource(Protocol):
    """One pass. The methods may take their time: they are called in a thread, one at a time for each pass.

    A string instead of an answer is the reason why there is none, for the person at the page. An error of
    ours is shown too; any other goes to the log, and the page only learns that there was one.
    """

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def detail(self) -> str: ...

    def document(self) -> PassDocument: ...

    def tensor(
        self, kind: TensorKind, index: int, window: Window | None
    ) -> tuple[TensorView, bytes] | str: ...

    def figures(self, name: str) -> Sequence[float | None] | str: ...


class Shelf(Protocol):
    """Where passes are found. Both methods may take their time, too."""

    def listing(self) -> Sequence[PassListing]:
        """All that is there now."""

    def source(self, pass_id: str) -> PassSource | None:
        """The pass of that id, None where there is none."""


class SourceShelf:
    """A shelf of passes that are known from the start."""

    def __init__(self, sources: Sequence[PassSource]) -> None:
        self._sources = {source.id: source for source in sources}

    def listing(self) -> Sequence[PassListing]:
        return [
            PassListing(id=source.id, name=source.name, detail=source.detail)
            for source in self._sources.values()
        ]

    def source(self, pass_id: str) -> PassSource | None:
        return self._sources.get(pass_id)

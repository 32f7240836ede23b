"""The charts that a run asks for, with plain globs in place of its regular expressions.

A layout comes with the data, and TensorBoard defines its tags as regular expressions that match from the
beginning of a name. An expression can be made to take for ever, so none is ever compiled. One that means
a few globs is translated here; of any other its text is sent, for the page to say so.

In a glob `*` is any text, `?` any one character, and a backslash takes the next character as it is.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, product
from typing import Final

from torcheer.app.runs.messages import LayoutAnswer, LayoutQuestion, ShownLayoutChart, ShownLayoutGroup
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.wire import as_json
from torcheer.errors import InputError
from torcheer.run import LayoutChart, LayoutGroup, LayoutHead

_MAX_PATTERN: Final = 500  # characters
_MAX_GLOBS: Final = 100  # of one pattern
_MAX_ALL_GLOBS: Final = 2000  # of a layout: each is held against every name
_MAX_DEPTH: Final = 20  # of parentheses
_MAX_ANSWER_BYTES: Final = 4 << 20


def answer_layout(run: OpenRun, question: LayoutQuestion) -> str:
    with run.lock:
        entries = run.look().records("layout", question.name)
    head = entries[-1].head if entries else None  # the last one holds
    groups = shown_layout(head.groups) if isinstance(head, LayoutHead) else []
    answer = as_json(LayoutAnswer(id=question.id, groups=groups))
    if len(answer) > _MAX_ANSWER_BYTES:
        raise InputError("this layout is too large to be shown. The charts by name are there all the same.")
    return answer.decode()


def shown_layout(groups: Iterable[LayoutGroup]) -> list[ShownLayoutGroup]:
    """The groups of a layout as the page draws them."""
    translation = _Translation()
    return [
        ShownLayoutGroup(
            title=group.title, charts=[_shown_chart(chart, translation) for chart in group.charts]
        )
        for group in groups
    ]


def _shown_chart(chart: LayoutChart, translation: _Translation) -> ShownLayoutChart:
    names, globs, not_supported = list(chart.names), list[str](), list[str]()
    for pattern in chart.names if chart.form == "lines" else ():
        try:
            sequences = translation.sequences(pattern)
        except _NotSupportedError:
            not_supported.append(pattern)
            continue
        names += [_name(one) for one in sequences if _is_name(one)]
        globs += [_glob(one) for one in sequences if not _is_name(one)]
    return ShownLayoutChart(
        title=chart.title,
        form=chart.form,
        names=names if chart.form == "margin" else list(dict.fromkeys(names)),
        globs=list(dict.fromkeys(globs)),
        not_supported=list(dict.fromkeys(not_supported)),
    )


# --- regular expressions as globs ------------------------------------------------------------------------


class _Mark(Enum):
    """What may stand in a sequence besides characters."""

    ONE = "any one character"
    MANY = "any text"
    START = "the beginning of the name"
    END = "the end of the name"


_Sequence = tuple[str | _Mark, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    """Alternatives, each a row of pieces."""

    rows: Sequence[Sequence[str | _Mark | _Choice]]

    @property
    def num_sequences(self) -> int:
        return sum(
            math.prod(piece.num_sequences for piece in row if isinstance(piece, _Choice)) for row in self.rows
        )

    def sequences(self) -> Iterator[_Sequence]:
        """All of them, multiplied out."""
        for row in self.rows:
            pieces = (piece.sequences() if isinstance(piece, _Choice) else [(piece,)] for piece in row)
            for parts in product(*pieces):
                yield tuple(chain.from_iterable(parts))


class _NotSupportedError(Exception):
    """This expression means no few globs, or nothing at all."""


class _Translation:
    """Of all the expressions of a layout, which together have a limit."""

    def __init__(self) -> None:
        self._left = _MAX_ALL_GLOBS

    def sequences(self, pattern: str) -> list[_Sequence]:
        """All that an expression can match, from the beginning of a name to its end."""
        if len(pattern) > _MAX_PATTERN:
            raise _NotSupportedError
        choice = _Reader(pattern).whole()
        count = choice.num_sequences
        if count > min(_MAX_GLOBS, self._left):
            raise _NotSupportedError
        self._left -= count
        return [_bounded(one) for one in choice.sequences()]


def _bounded(sequence: _Sequence) -> _Sequence:
    """Without the marks of beginning and end: what has none at its end may go on."""
    inner = list(sequence)
    while inner and inner[0] is _Mark.START:
        inner.pop(0)
    is_ended = bool(inner) and inner[-1] is _Mark.END
    while inner and inner[-1] is _Mark.END:
        inner.pop()
    if _Mark.START in inner or _Mark.END in inner:
        raise _NotSupportedError
    return tuple(inner if is_ended else [*inner, _Mark.MANY])


def _is_name(sequence: _Sequence) -> bool:
    return not any(isinstance(one, _Mark) for one in sequence)


def _name(sequence: _Sequence) -> str:
    return "".join(one for one in sequence if isinstance(one, str))


def _glob(sequence: _Sequence) -> str:
    written: list[str] = []
    for one in sequence:
        if one is _Mark.MANY:
            if written[-1:] != ["*"]:
                written.append("*")
        elif isinstance(one, str):
            written.append(f"\\{one}" if one in "*?\\" else one)
        else:
            written.append("?")
    return "".join(written)


_MARKS: Final = {".": _Mark.ONE, "^": _Mark.START, "$": _Mark.END}
_DIGITS: Final = _Choice(rows=[[digit] for digit in string.digits])
_COUNTED: Final = re.compile(r"\{(\d+(,\d*)?|,\d*)\}")


class _Reader:
    """Reads an expression from left to right, once."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def whole(self) -> _Choice:
        found = self._choice(0)
        if self._at < len(self._pattern):
            raise _NotSupportedError  # a parenthesis that was never opened
        return found

    def _choice(self, depth: int) -> _Choice:
        """`a|b`, up to the end or to the parenthesis that closes it."""
        if depth > _MAX_DEPTH:
            raise _NotSupportedError
        rows = [self._row(depth)]
        while self._take("|"):
            rows.append(self._row(depth))
        return _Choice(rows=rows)

    def _row(self, depth: int) -> list[str | _Mark | _Choice]:
        row: list[str | _Mark | _Choice] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            row += self._repeated(self._piece(depth))
        return row

    def _piece(self, depth: int) -> str | _Mark | _Choice:
        character = self._next()
        if character == "(":
            return self._group(depth)
        if character == "[":
            return _Choice(rows=[[one] for one in dict.fromkeys(self._characters())])
        if character == "\\":
            return self._escaped()
        if character in "*+?" or (character == "{" and _COUNTED.match(self._pattern, self._at - 1)):
            raise _NotSupportedError  # there is nothing to repeat, or not in a glob
        return _MARKS.get(character, character)

    def _group(self, depth: int) -> _Choice:
        if self._take("?") and not self._take(":"):
            raise _NotSupportedError
        found = self._choice(depth + 1)
        if not self._take(")"):
            raise _NotSupportedError
        return found

    def _repeated(self, piece: str | _Mark | _Choice) -> list[str | _Mark | _Choice]:
        """With the sign for how often it may stand there. Of more than once, only any text is a glob."""
        if self._take("?"):
            found: list[str | _Mark | _Choice] = [_Choice(rows=[[piece], []])]
        elif piece is _Mark.ONE and self._take("*"):
            found = [_Mark.MANY]
        elif piece is _Mark.ONE and self._take("+"):
            found = [_Mark.ONE, _Mark.MANY]
        else:
            return [piece]
        self._take("?")  # as few as will do: the same names
        return found

    def _escaped(self) -> str | _Mark | _Choice:
        character = self._next()
        if character == "d":
            return _DIGITS
        if character == "Z":
            return _Mark.END
        if character.isalnum():
            raise _NotSupportedError
        return character

    def _characters(self) -> Iterator[str]:
        """Those of `[a-c_]`."""
        if self._take("^"):
            raise _NotSupportedError
        first = self._one_of_class()
        while True:
            if not self._take("-"):
                yield first
            elif self._take("]"):
                yield from (first, "-")
                return
            else:
                last = self._one_of_class()
                if not 0 <= ord(last) - ord(first) < _MAX_GLOBS:
                    raise _NotSupportedError
                yield from map(chr, range(ord(first), ord(last) + 1))
            if self._take("]"):
                return
            first = self._one_of_class()

    def _one_of_class(self) -> str:
        character = self._next()
        if character != "\\":
            return character
        character = self._next()
        if character.isalnum():
            raise _NotSupportedError
        return character

    def _next(self) -> str:
        if self._at == len(self._pattern):
            raise _NotSupportedError
        self._at += 1
        return self._pattern[self._at - 1]

    def _take(self, character: str) -> bool:
        is_there = self._pattern.startswith(character, self._at)
        self._at += is_there
        return is_there

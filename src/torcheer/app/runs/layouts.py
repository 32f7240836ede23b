"""The charts that a run asks for, with plain globs in place of its regular expressions.

A layout comes with the data, and TensorBoard defines its tags as regular expressions that match from the
beginning of a name. An expression can be made to take for ever, so none is ever compiled or matched. It is
parsed, and one that means a few globs is translated here; of any other its text is sent, for the page to say
so.

In a glob `*` is any text, `?` any one character, and a backslash takes the next character as it is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from enum import Enum
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_messages import LayoutAnswer, LayoutQuestion, ShownLayoutChart, ShownLayoutGroup
from torcheer.app.wire import as_json
from torcheer.errors import InputError
from torcheer.run import LayoutChart, LayoutGroup, LayoutHead

_MAX_PATTERN: Final = 500  # characters
_MAX_GLOBS: Final = 100  # of one pattern
_MAX_ALL_GLOBS: Final = 2000  # of a layout: each is held against every name
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
_PLACES: Final = {"AT_BEGINNING": _Mark.START, "AT_END": _Mark.END, "AT_END_STRING": _Mark.END}


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
        try:
            tree = _parser.parse(pattern)  # which takes no time; to match is what may take for ever
        except (re.error, RecursionError, OverflowError, Warning):
            raise _NotSupportedError from None
        if tree.state.flags & ~re.UNICODE:
            raise _NotSupportedError
        found = [_bounded(one) for one in _sequences(tree, min(_MAX_GLOBS, self._left))]
        self._left -= len(found)
        return found


def _sequences(tree: Any, most: int) -> list[_Sequence]:
    """What a row of pieces can match, multiplied out."""
    rows: list[_Sequence] = [()]
    for piece, argument in tree:
        ways = _ways(piece.name, argument, most)
        if len(rows) * len(ways) > most:
            raise _NotSupportedError
        rows = [row + way for row in rows for way in ways]
    return rows


def _ways(piece: str, argument: Any, most: int) -> list[_Sequence]:
    """What one piece of a parsed expression can match. Of what is repeated, only any text is a glob."""
    match piece, argument:
        case "LITERAL", code:
            return [(chr(code),)]
        case "ANY", _:
            return [(_Mark.ONE,)]
        case "AT", where if where.name in _PLACES:
            return [(_PLACES[where.name],)]
        case "IN", members:
            return [(one,) for one in dict.fromkeys(_characters(members, most))]
        case "BRANCH", (_, trees):
            return [one for tree in trees for one in _sequences(tree, most)]
        case "SUBPATTERN", (_, 0, 0, tree):
            return _sequences(tree, most)
        case "MAX_REPEAT" | "MIN_REPEAT", (0, 1, tree):
            return [*_sequences(tree, most), ()]
        case "MAX_REPEAT" | "MIN_REPEAT", (0 | 1 as least, _parser.MAXREPEAT, tree):
            if [inner.name for inner, _ in tree] == ["ANY"]:
                return [(*[_Mark.ONE] * least, _Mark.MANY)]
    raise _NotSupportedError


def _characters(members: Any, most: int) -> Iterator[str]:
    """Those of `[a-c_]`."""
    for member, argument in members:
        if member.name == "LITERAL":
            yield chr(argument)
        elif member.name == "RANGE" and argument[1] - argument[0] < most:
            yield from map(chr, range(argument[0], argument[1] + 1))
        elif member.name == "CATEGORY" and argument.name == "CATEGORY_DIGIT":
            yield from string.digits
        else:
            raise _NotSupportedError


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

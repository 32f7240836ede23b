"""The charts that a run asks for, with plain globs in place of its regular expressions.

A layout comes with the data, and TensorBoard defines its tags as regular expressions that match from the
beginning of a name. An expression can be made to take for ever, so none is ever compiled or matched. Those
that mean a few globs are translated here; of any other its text is sent, for the page to say so.

In a glob `*` is any text, `?` any one character, and a backslash takes the next character as it is.
"""

from __future__ import annotations

import re
import string
from collections import deque
from collections.abc import Iterable
from typing import Final

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
            rows = translation.rows(pattern)
        except (ValueError, RecursionError):
            not_supported.append(pattern)
            continue
        names += ["".join(token[-1] for token in row) for row in rows if not _WILD & set(row)]
        globs += ["".join(row) for row in rows if _WILD & set(row)]
    return ShownLayoutChart(
        title=chart.title,
        form=chart.form,
        names=names if chart.form == "margin" else list(dict.fromkeys(names)),
        globs=list(dict.fromkeys(globs)),
        not_supported=list(dict.fromkeys(not_supported)),
    )


Row = tuple[str, ...]  # a glob in tokens: `*`, `?`, or a character, with a backslash where it needs one

_WILD: Final = frozenset("*?")
# What is understood of an expression; no other quantifier than `?` and that of any text.
_TOKENS: Final = re.compile(
    r"\.[*+]\??(?![*+?{])|\?\??(?![*+?{])|\((?:\?:|\?P<\w+>)?|\[(?:\w-\w|\\[\Wd]|[\w./:,;+* ])+-?\]|\\[\W_d]"
    r"|[\^$](?!\?)|[.|)]|\{(?![\d,])|[^.^$*+?{\[\\|()]"
)


class _Translation:
    """Of all the expressions of a layout, which together have a limit."""

    def __init__(self) -> None:
        self._left = _MAX_ALL_GLOBS

    def rows(self, pattern: str) -> list[Row]:
        """All that an expression can match, from the beginning of a name to its end.

        ValueError where these are too many, or no globs.
        """
        tokens = deque(_TOKENS.findall(pattern) if len(pattern) <= _MAX_PATTERN else ())
        if "".join(tokens) != pattern:
            raise ValueError(pattern)
        most = min(_MAX_GLOBS, self._left)
        found = [_bounded(row) for row in _rows(tokens, most)]
        if tokens or len(found) > most:
            raise ValueError(pattern)
        self._left -= len(found)
        return found


def _rows(tokens: deque[str], most: int) -> list[Row]:
    """What can match up to the end of a group, multiplied out."""
    found: list[Row] = []
    rows: list[Row] = [()]
    while tokens and tokens[0] != ")":
        token = tokens.popleft()
        if token == "|":
            found, rows = found + rows, [()]
            continue
        if token[0] == "(":
            ways = _rows(tokens, most)
            if not tokens:
                raise ValueError("a group has no end")
            tokens.popleft()
        else:
            ways = _ways(token)
        if tokens and tokens[0][0] == "?":
            tokens.popleft()
            ways = [*ways, ()]
        if len(rows) * len(ways) > most:
            raise ValueError("too many globs")
        rows = [row + way for row in rows for way in ways]
    return found + rows


def _ways(token: str) -> list[Row]:
    if token[0] == ".":
        return [{".": ("?",), ".*": ("*",), ".+": ("?", "*")}[token[:2]]]
    if token in ("^", "$"):
        return [(token,)]
    if token[0] == "?":
        raise ValueError("nothing to repeat")
    characters = [token[-1]]
    if token == r"\d":
        characters = list(string.digits)
    elif token[0] == "[" and token[-1] == "]":
        characters = _members(token[1:-1])
    return [(f"\\{one}" if one in "*?\\^$" else one,) for one in characters]


def _members(inside: str) -> list[str]:
    """Those of `[a-c_]`."""
    pieces = re.findall(r"\w-\w|\\?.", inside, re.DOTALL)
    ends = ["09" if one == r"\d" else one.removeprefix("\\") for one in pieces]
    spans = [(ord(one[0]), ord(one[-1])) for one in ends]
    if any(not 0 <= last - first < _MAX_GLOBS for first, last in spans):
        raise ValueError("a span is empty, or too wide")
    return list(dict.fromkeys(chr(code) for first, last in spans for code in range(first, last + 1)))


def _bounded(row: Row) -> Row:
    """Without the marks of beginning and end: what has none at its end may go on."""
    while row[:1] == ("^",):
        row = row[1:]
    row = row[:-1] if row[-1:] == ("$",) else (*row, "*")
    if "^" in row or "$" in row:
        raise ValueError("a mark within a name")
    return tuple(one for place, one in enumerate(row) if one != "*" or row[place - 1 : place] != ("*",))

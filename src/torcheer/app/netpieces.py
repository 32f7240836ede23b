"""The values of records as pieces of JSON, each there once, as long as there is room for them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy

from torcheer.app.frames import as_json
from torcheer.app.runs.listing import countable
from torcheer.app.runs.netfinding import Found, Stretch, on_units, read_stretches
from torcheer.app.runs.netlevels import levels_of
from torcheer.run import RunReader
from torcheer.tensorfile import Array

_LEVEL_BYTES: Final = 2
_EXACT_BYTES: Final = 4  # of most numbers
_LEAST_TO_DEFLATE: Final = 256
_WORTH_IT: Final = 0.9  # deflated, it must be that much smaller
_HOPE: Final = 8  # more than so many times what there is room for is not even tried
_GONE: Final = "this record is damaged, or was thinned out this moment"

Number = int | str | None  # of a piece; or why there is none; None where there was no room


class Wanted(NamedTuple):
    """The values of a layer, or a weight as it was recorded."""

    stretch: Stretch
    found: Found | None  # None for a weight

    @property
    def key(self) -> tuple[str, Stretch]:
        return ("" if self.found is None else self.found.layer.name), self.stretch

    @property
    def num_values(self) -> int:
        return self.stretch.size if self.found is None else self.found.layer.grid.num_units


class Pieces:
    """Those of one page. Filled while choosing; `left` are the bytes for which there is still room."""

    def __init__(
        self, reader: RunReader, room: int, on_written: Callable[[int], None], *, is_exact: bool
    ) -> None:
        self.is_exact = is_exact  # values go in as they are, not as levels
        self.left = room
        self.has_refused = False  # something for which there was no room
        self.texts: list[bytes] = []
        self._reader = reader
        self._on_written = on_written
        self._known: dict[tuple[str, Stretch], int | str] = {}

    def put_all(self, wanted: Sequence[Wanted]) -> list[Number] | None:
        """Their numbers; None where there is no room for all of them: then none is put in."""
        fresh = self._fresh(wanted)
        made = self._made(fresh) if self._has_hope(fresh, self.left) else None
        if made is None or sum(len(text) + 1 for text in made if isinstance(text, bytes)) > self.left:
            self.has_refused = True
            return None
        for one, text in zip(fresh, made, strict=True):
            self._keep(one, text)
        return [self._known[one.key] for one in wanted]

    def put_some(self, wanted: Sequence[Wanted], part: int) -> list[Number]:
        """Their numbers, the small ones first; each takes at most one part in so many of what is left."""
        for one in sorted(self._fresh(wanted), key=lambda one: one.num_values):
            room = max(0, self.left) // part
            text = self._made([one])[0] if self._has_hope([one], room) else None
            if text is not None and (isinstance(text, str) or len(text) < room):
                self._keep(one, text)
            else:
                self.has_refused = True
        return [self._known.get(one.key) for one in wanted]

    def _has_hope(self, wanted: Sequence[Wanted], room: int) -> bool:
        each = _EXACT_BYTES if self.is_exact else _LEVEL_BYTES
        return sum(one.num_values for one in wanted) * each <= _HOPE * max(0, room)

    def _fresh(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        return list({one.key: one for one in wanted if one.key not in self._known}.values())

    def _made(self, wanted: Sequence[Wanted]) -> list[bytes | str]:
        """Or why there is nothing."""
        numbers = read_stretches(self._reader, [one.stretch for one in wanted])
        return [
            _GONE if its is None else _text(one, its, self.is_exact)
            for one, its in zip(wanted, numbers, strict=True)
        ]

    def _keep(self, one: Wanted, text: bytes | str) -> None:
        if isinstance(text, str):
            self._known[one.key] = text
            return
        self._known[one.key] = len(self.texts)
        self.texts.append(text)
        self.left -= len(text) + 1
        self._on_written(len(text))


def _text(one: Wanted, numbers: Array, is_exact: bool) -> bytes:
    """Nothing of it means anything to HTML: it is numbers and base64."""
    mark = one.stretch.mark
    values, is_there = (numbers, None) if one.found is None else on_units(one.found, numbers)
    head: dict[str, object] = {"step": countable(mark.step) or 0, "count": len(values)}
    if one.found is None:
        head["shape"] = list(mark.outline.shape)
    if is_exact and is_there is None:
        exact = _floats(values)
        head["encoding"], data = f"f{exact.itemsize}", exact.tobytes()
    else:
        levels = levels_of(values, is_there)
        head |= {"encoding": "u2", "low": levels.low, "high": levels.high}
        data = levels.codes.astype("<u2", copy=False).tobytes()
    if len(data) >= _LEAST_TO_DEFLATE:
        deflated = zlib.compress(data)
        if len(deflated) < _WORTH_IT * len(data):
            head["deflated"], data = True, deflated
    return b"".join((as_json(head)[:-1], b',"data":"', base64.b64encode(data), b'"}'))


def _floats(values: Array) -> Array:
    """Of four bytes, or of eight where four do not hold them."""
    with numpy.errstate(all="ignore"):
        small: Array = values.astype("<f4")
        is_same = bool(numpy.all((small == values) | (values != values)))
    return small if is_same else values.astype("<f8")

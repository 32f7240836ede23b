"""Choose what of a pass's tensors goes into a page of limited size, and write it as JSON.

Every tensor gets its figures: outputs first, then gradients, then weights. What is left is shared out so that
small tensors come whole and large ones get equally much. All of it is decided by shapes alone, so that each
tensor is read once, and none in vain.
"""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torcheer.app.html_page import (
    MAX_BYTES,
    MAX_NOTEBOOK_BYTES,
    Bundle,
    checked_bytes,
    frame_of,
    read_bundle,
    show_file,
    show_inline,
    write_file,
)
from torcheer.app.passes.source import PassSource
from torcheer.app.wire import as_json
from torcheer.desktop import in_notebook
from torcheer.errors import InputError
from torcheer.graph import OpEntry, ParamEntry, PassDocument, Progress
from torcheer.tensorfile import (
    MAX_WINDOW_VALUES,
    TensorKind,
    TensorView,
    default_window,
    grid_of,
    item_bytes_of,
)

_HEAD_BYTES = 1000  # of a tensor without its values: shape, figures, histogram
_SMALL_BYTES = 1536  # of a small window
_LARGE_BYTES = 1 << 20
_KINDS: tuple[TensorKind, ...] = ("output", "grad", "param", "param_grad")
_NAMES = {"output": "outputs", "grad": "gradients", "param": "weights", "param_grad": "gradients of weights"}
_ESCAPES = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}
_SEPARATORS = {"\u2028".encode(): b"\\u2028", "\u2029".encode(): b"\\u2029"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    kind: TensorKind
    index: int
    shape: list[int]
    dtype: str
    num_bytes: int  # as it is in memory

    @property
    def whole_bytes(self) -> int:
        """Of the largest window that is made of it."""
        grid, item_bytes = grid_of(self.shape), item_bytes_of(self.dtype)
        values = min(grid.tiles * grid.rows * grid.columns, MAX_WINDOW_VALUES)
        return min(max(values, 0) * item_bytes, _LARGE_BYTES)


def tensors_of(document: PassDocument) -> list[Wanted]:
    """All that have values, in the order in which they are wanted."""
    ops: list[tuple[int, OpEntry]] = list(enumerate(document.ops))
    params: list[tuple[int, ParamEntry]] = list(enumerate(document.params))
    chosen: dict[TensorKind, Sequence[tuple[int, OpEntry | ParamEntry]]] = {
        "output": [(i, op) for i, op in ops if op.has_value],
        "grad": [(i, op) for i, op in ops if op.has_grad],
        "param": [(i, param) for i, param in params if param.has_value],
        "param_grad": [(i, param) for i, param in params if param.has_grad],
    }
    return [
        Wanted(kind=kind, index=i, shape=entry.shape, dtype=entry.dtype, num_bytes=entry.num_bytes)
        for kind in _KINDS
        for i, entry in chosen[kind]
    ]


def share_out(wanted: Sequence[Wanted], budget: int) -> list[int]:
    """How many bytes of values each of them may have; those for which nothing is left are not in the list.

    Small ones come whole, and large ones get equally much.
    """
    wanted = wanted[: max(0, budget // (_HEAD_BYTES + 8))]
    sizes = [one.whole_bytes for one in wanted]
    # Three bytes of values take four of text.
    level = level_of(sizes, (budget - _HEAD_BYTES * len(wanted)) * 3 // 4, _LARGE_BYTES)
    return [min(size, level) for size in sizes]


def level_of(sizes: Sequence[int], budget: int, most: int) -> int:
    """The largest number, up to `most`, to which all sizes can be cut so that they fit the budget."""
    left = max(budget, 0)
    ordered = sorted(sizes)
    for i, size in enumerate(ordered):
        share = left // (len(ordered) - i)
        if min(size, most) > share:
            return share
        left -= min(size, most)
    return most


def embedded(
    source: PassSource, budget: int, max_bytes: int, on_read: Callable[[int], None] = lambda _: None
) -> list[bytes]:
    """What a page says of a pass, as the pieces of one JSON text in which nothing means anything to HTML.

    The document is always in it. `budget` is what the page's limit, `max_bytes`, leaves for the data.
    """
    document = source.document()
    head = b'{"document":' + escaped(as_json(document))
    wanted = tensors_of(document)
    # Two shares for each op, and the notes, take their part too.
    left = budget = max(0, budget - len(head) - 50 * len(document.ops) - 2000)
    given = share_out(wanted, budget)
    parts: list[bytes] = []
    reasons: list[dict[str, object]] = []
    left_out: list[Wanted] = []
    shares: dict[str, list[float | None]] = {}
    # Heads are often shorter than was planned for: there may be room for a few more.
    for one, num_bytes in zip(wanted, [*given, *[0] * (len(wanted) - len(given))], strict=True):
        found = _looked_at(source, one, num_bytes) if num_bytes or left > _HEAD_BYTES else None
        part = b""
        if found is not None and not isinstance(found, str):
            described = escaped(as_json({"kind": one.kind, "index": one.index, "view": found[0]}))
            part = b"".join((described[:-1], b',"data":"', base64.b64encode(found[1]), b'"}'))
        if isinstance(found, str):
            reasons.append({"kind": one.kind, "index": one.index, "reason": found})
        elif found is None or len(part) + 1 > left:
            left_out.append(one)
        else:
            left -= len(part) + 1
            parts.append(part)
            if one.kind == "output":
                view = found[0]
                for name, count in (("zeros", view.num_zeros), ("nonfinite", view.num_nan + view.num_inf)):
                    its = shares.setdefault(name, [None] * len(document.ops))
                    its[one.index] = count / view.num_elements if view.num_elements else None
        on_read(one.num_bytes)
    notes = _notes(wanted, left_out, max_bytes)
    tail = as_json({"figures": shares, "reasons": reasons, "notes": notes})
    return [*joined(head + b',"tensors":[', parts), b"]," + escaped(tail)[1:]]


def joined(before: bytes, parts: Sequence[bytes]) -> list[bytes]:
    """The items of a JSON list after what stands before them."""
    return [before, *(b"," + part if at else part for at, part in enumerate(parts))]


def _looked_at(source: PassSource, one: Wanted, num_bytes: int) -> tuple[TensorView, bytes] | str:
    found: tuple[TensorView, bytes] | str | None = None
    if min(one.shape, default=0) >= 0:
        window = default_window(one.shape, num_bytes, item_bytes=item_bytes_of(one.dtype))
        with contextlib.suppress(InputError):
            found = source.tensor(one.kind, one.index, window)
    if isinstance(found, str) or (found is not None and found[0].shape == one.shape):
        return found
    # Its value has another shape than its op: a postfunc made it, or its parts stand one after the other.
    found = found or source.tensor(one.kind, one.index, None)
    if isinstance(found, str):
        return found
    least = max(num_bytes, _SMALL_BYTES)
    window = default_window(found[0].shape, least, item_bytes=int(found[0].encoding[1]))
    return source.tensor(one.kind, one.index, window)


def escaped(json: bytes) -> bytes:
    """JSON without any sign that means something to HTML, or that old browsers take for the end of a line."""
    for sign, escape in (_ESCAPES | _SEPARATORS).items():
        json = json.replace(sign, escape)
    return json


def _notes(wanted: list[Wanted], left_out: list[Wanted], max_bytes: int) -> list[str]:
    if not left_out:
        return []
    if not max_bytes:
        return ["this file has the structure only: history.to_html(path) without max_bytes=0 puts values in."]
    counts = []
    for kind in _KINDS:
        num, num_all = (sum(one.kind == kind for one in some) for some in (left_out, wanted))
        if num:
            counts.append(f"{'all' if num == num_all else f'{num:,} of'} {num_all:,} {_NAMES[kind]}")
    return [
        f"not in this file, which was limited to {max_bytes:,} bytes: {', '.join(counts)}. "
        "history.to_html(path, max_bytes=…) puts more in, and torcheer view shows all that history.save kept."
    ]


def one_file_page(source: PassSource, *, max_bytes: int = MAX_BYTES, bundle: Bundle | None = None) -> str:
    """The page as text. It has at most `max_bytes`, unless front end and structure alone take more."""
    return b"".join(_pieces(source, max_bytes, bundle or read_bundle())).decode()


def write_page(source: PassSource, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Write the page to a file, which is there when it is whole; returns where it is."""
    max_bytes = checked_bytes(max_bytes)
    bundle = read_bundle()
    return write_file(path, lambda: _pieces(source, max_bytes, bundle))


def _pieces(source: PassSource, max_bytes: int, bundle: Bundle) -> Sequence[bytes]:
    max_bytes = checked_bytes(max_bytes)
    before, after = frame_of(bundle, source.name, "a pass through a model", "torcheer-data")
    wanted = tensors_of(source.document()) if max_bytes else []
    with Progress("writing the page", sum(one.num_bytes for one in wanted)) as progress:
        data = embedded(source, max_bytes - len(before) - len(after), max_bytes, progress.add)
    return [before, *data, after]


def show_page(source: PassSource, *, max_bytes: int | None = None) -> None:
    """Show the page in the notebook, if this is one; else write it to a file that only the user reads."""
    if in_notebook():
        page = one_file_page(source, max_bytes=MAX_NOTEBOOK_BYTES if max_bytes is None else max_bytes)
        show_inline(page)
        return
    most = MAX_BYTES if max_bytes is None else max_bytes
    show_file(source.name, lambda path: write_page(source, path, max_bytes=most))

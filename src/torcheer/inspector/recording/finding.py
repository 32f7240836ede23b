"""Which series of a run is meant by a name, or by a layer."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from torcheer.errors import InputError
from torcheer.inspector.recording.charts.kinds import WantedKind
from torcheer.run.reading.face import SavedRun

SeriesKind = Literal["tensor", "histogram", "image"]

_KINDS: Final[tuple[SeriesKind, ...]] = ("tensor", "histogram", "image")
_RANK: Final = re.compile(r"rank (\d+)/(.+)")
_LISTED: Final = 12


def find_series(run: SavedRun, name: str, kind: WantedKind = "auto") -> tuple[str, Sequence[Any]]:
    """The one series that is meant, and its records. InputError lists those that it could be."""
    kinds = _kinds_for(kind)
    names = {each: run.names(each) for each in _KINDS}
    everything = list(dict.fromkeys(series for each in kinds for series in names[each]))
    found = [series for series in everything if series == name] or [
        series for series in everything if _is_in_layer(series, name)
    ]
    if not found:
        kept = [each for each in _KINDS if name in names[each]]
        raise InputError(_not_there(run, name, everything) if not kept else _not_so(name, kind, kept[0]))
    if len(found) > 1:
        raise InputError(f"{name!r} could be any of {_listed(found)}: name one of them.")
    series = found[0]
    held = [_records(run, each, series) for each in kinds if series in names[each]]
    # Of the tensors and the histograms of a name, as a histogram whichever there are more of.
    return series, max(held, key=len) if kind == "histogram" else held[0]


def whole_shape_of(run: SavedRun, series: str) -> tuple[int, ...] | None:
    """The shape of a tensor that was watched, of which a run may keep but a piece."""
    rank, name = 0, series
    if (match := _RANK.fullmatch(series)) is not None:
        rank, name = int(match[1]), match[2]
    watched = run.watched
    if rank in watched.ranks:
        watched = watched.of_rank(rank)
    for row in watched.rows:
        if row.name == name and row.shape is not None:
            return tuple(row.shape)
    return None


def _kinds_for(kind: WantedKind) -> Sequence[SeriesKind]:
    if kind == "auto":
        return _KINDS
    return ("histogram", "tensor") if kind == "histogram" else ("tensor",)


def _is_in_layer(series: str, layer: str) -> bool:
    return bool(layer) and series.startswith((f"{layer}.", f"{layer}/"))


def _records(run: SavedRun, kind: SeriesKind, name: str) -> Sequence[Any]:
    methods: dict[SeriesKind, Callable[[str], Sequence[Any]]] = {
        "tensor": run.tensors,
        "histogram": run.histograms,
        "image": run.images,
    }
    return methods[kind](name)


def _not_so(name: str, kind: WantedKind, kept: SeriesKind) -> str:
    return f"{name!r} is kept as {kept}, and kind {kind!r} needs the tensor itself: leave the kind out."


def _not_there(run: SavedRun, name: str, names: Sequence[str]) -> str:
    if name in run.names("scalar"):
        return f"{name!r} is a scalar, and a video is made of tensors. `torcheer view` draws its curve."
    if not names:
        return (
            "this run has nothing that a video could be made of: run.log_tensor keeps tensors, and so does "
            "tl.watch(model, run=…, tensors='sample')."
        )
    layers = [series.rpartition(".")[0] for series in names]
    known = list(dict.fromkeys([*names, *filter(None, layers)]))
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        return f"this run has no {name!r}: did you mean {' or '.join(map(repr, near))}?"
    return f"this run has no {name!r}: it has {_listed(names)}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_LISTED]))
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown

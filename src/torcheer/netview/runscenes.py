"""The network of a run: as it was written, as a training was watched, or by names alone. No torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import msgspec

from torcheer.graph import shape_text
from torcheer.netview.grids import grid_of
from torcheer.netview.variables import in_order
from torcheer.run import (
    NETVIEW,
    Grid,
    NetLayer,
    NetScene,
    Place,
    RunReader,
    TensorHead,
    WatchedRow,
    record_id,
)

Source = Literal["netview", "watch", "names"]
Series = Mapping[tuple[str, str], str]  # names of tensors, by layer and variable

SCENE_FAULTS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_MODEL: Final = "(model)"  # what the model itself gives has no name in front of it
_USUAL_VARIABLE: Final = "Act"
_ROLES: Final = ("activation", "gradient", "tensor")
# As torch names parameters: weight, in_proj_weight, weight_ih_l0, weight_g; they are nobody's state.
_PARAMETER: Final = re.compile(r"(.*_)?(weight|bias)(_(ih|hh)_l\d+(_reverse)?|_[guv]|_orig)?")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundScene:
    """A network, and where its values are."""

    scene: NetScene
    source: Source
    series: Series  # empty where each is `layer.variable`, as it was written

    def series_of(self, layer: str, variable: str) -> str:
        return self.series.get((layer, variable), f"{layer}.{variable}")


class Extents:
    """The largest shape of each tensor: sequences are not always of one length. Only what is new is read."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}  # by part and name

    def of(self, reader: RunReader, name: str) -> Sequence[int]:
        extent: tuple[int, ...] = ()
        for part_name, part in reader.parts().items():
            known = self._known.get((part_name, name), _NOTHING)
            if known.restarts != reader.restarts(part_name):
                known = _Known(reader.restarts(part_name), 0, ())
            for entry in part.records("tensor", name, known.last):
                shape = tuple(entry.head.shape) if isinstance(entry.head, TensorHead) else ()
                known = known._replace(last=max(known.last, entry.id), extent=_larger(known.extent, shape))
            self._known[part_name, name] = known
            extent = _larger(extent, known.extent)
        return extent


class _Known(NamedTuple):
    """How far the records of a tensor were read in a part."""

    restarts: int
    last: int  # the number of the last record
    extent: tuple[int, ...]


_NOTHING: Final = _Known(-1, 0, ())


def found_scene(reader: RunReader, extents: Extents | None = None) -> FoundScene:
    """As of the last look at the run; of several ranks that were watched, the first.

    `extents`: what was read before, for those who look again and again.
    """
    extents = extents or Extents()
    stored = last_scene(reader)
    if stored is not None:
        return FoundScene(scene=stored, source="netview", series={})
    rank = next(iter(reader.watched.ranks()), 0)
    prefix = f"rank {rank}/" if rank else ""
    names = [key.name for key in reader.series() if key.kind == "tensor"]
    whole = {name.removeprefix(prefix): name for name in names}
    rows: Sequence[WatchedRow] = reader.watched.plan(rank).rows
    source: Source = "watch"
    series = watched_series(rows, whole)
    if not series:
        source, series, rows = "names", named_series(whole), ()
    scene = made_scene(series, rows, lambda name: extents.of(reader, whole[name]))
    return FoundScene(scene=scene, source=source, series={key: whole[name] for key, name in series.items()})


def last_scene(reader: RunReader) -> NetScene | None:
    """The network as it was last written; None where there is none, or none that can be read."""
    return next(written_scenes(reader), None)


def written_scenes(reader: RunReader) -> Iterator[NetScene]:
    """All that can be read, the last one first."""
    entries = sorted(reader.records("netview", NETVIEW), key=lambda entry: (entry.time, entry.id))
    for entry in reversed(entries):
        with suppress(*SCENE_FAULTS):  # the one before it is better than none
            yield msgspec.json.decode(reader.data(record_id(entry)) or b"", type=NetScene)


def is_known(scene: NetScene, before: Iterable[NetScene], *, is_growing: bool) -> bool:
    """Whether a run with these scenes is of the same network: its layers have the same names and shapes.

    Where they had several shapes already, as sequences have, these say nothing. A network that is growing may
    have some of the layers only. Where nothing was shown before, anything goes.
    """
    now = {layer.name: tuple(layer.shape) for layer in scene.layers}
    shapes: dict[str, set[tuple[int, ...]]] = {}
    has_any = False
    for one in before:
        has_any = True
        then = {layer.name: tuple(layer.shape) for layer in one.layers}
        common = now.keys() & then.keys()
        if len(common) < (min(len(now), len(then)) if is_growing else len(now.keys() | then.keys())):
            continue
        for name in common:
            shapes.setdefault(name, set()).add(then[name])
        if all(now[name] in shapes[name] or len(shapes[name]) > 1 for name in common):
            return True
    return not has_any


# --- by what is watched, or by names ---------------------------------------------------------------


def watched_series(rows: Iterable[WatchedRow], there: Collection[str]) -> dict[tuple[str, str], str]:
    """Of what is watched, that of which there are tensors. `there` are their names."""
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.role in _ROLES and row.name in there:
            found.setdefault((_layer_name(row), row.variable or _USUAL_VARIABLE), row.name)
    return found


def named_series(there: Iterable[str]) -> dict[tuple[str, str], str]:
    """Of tensors whose names are a layer and, behind the last dot, a variable."""
    found: dict[tuple[str, str], str] = {}
    for name in there:
        layer, _, variable = name.rpartition(".")
        if layer and variable and not is_parameter(variable) and not is_parameter(layer.rpartition(".")[2]):
            found[layer, variable] = name
    return found


def made_scene(
    series: Series,
    rows: Iterable[WatchedRow],
    extent_of: Callable[[str], Sequence[int]],
    lay: Callable[[Sequence[int]], Grid] = grid_of,
) -> NetScene:
    """Layers in the order in which they came. Nothing is known of what connects them.

    `extent_of` gives the largest shape that a tensor was recorded with, `lay` the grid of an item.
    """
    modules, whole = {}, {}
    for row in rows:
        if row.module:
            modules[_layer_name(row)] = row.module
        if row.shape is not None:
            whole[row.name] = row.shape
    variables: dict[str, list[str]] = {}
    for layer, variable in series:
        variables.setdefault(layer, []).append(variable)
    layers = []
    for name, its in variables.items():
        main = series[name, in_order(its)[0]]
        recorded = extent_of(main)
        has_items = len(recorded) > 1
        shape = item_shape(recorded, has_items)
        layers.append(
            NetLayer(
                name=name,
                module=modules.get(name, ""),
                shape=list(shape),
                grid=lay(shape),
                variables=its,
                place=Place(),
                has_items=has_items,
                note=_piece_note(shape, item_shape(whole.get(main, recorded), has_items)),
            )
        )
    return NetScene(layers=layers, connections=[])


def is_parameter(variable: str) -> bool:
    """weight, weight.Grad, bias…"""
    return _PARAMETER.fullmatch(variable.partition(".")[0]) is not None


def item_shape(shape: Sequence[int], has_items: bool) -> tuple[int, ...]:
    return tuple(shape[1:] if has_items else shape)


def _layer_name(row: WatchedRow) -> str:
    return row.layer or _MODEL


def _piece_note(shape: Sequence[int], whole: Sequence[int]) -> str:
    if tuple(shape) == tuple(whole):
        return ""
    return f"a piece of {shape_text(tuple(whole))}, every so many-th in each dimension"


def _larger(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Room for both; of different numbers of dimensions, the one that came last."""
    return tuple(map(max, one, other)) if len(one) == len(other) else other or one
